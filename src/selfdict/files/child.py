"""The reader process: opens one file and reads blocks of it, as its parent asks.

``python -m selfdict.files.child DESCRIPTOR [MODULES]`` imports the modules, which it is likely to
need, then reads requests from its standard input, one JSON object a line, and ends with it. Arrays
go to the shared memory of that descriptor: a file without a name, which the child inherits. Named
shared memory would not do: Python's resource tracker unlinks it when a process that merely attached
to it ends.
"""

import contextlib
import json
import math
import mmap
import os
import sys
import tempfile
from dataclasses import fields
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import Array, StoredCube
from selfdict.files.errors import SceneError, first_line
from selfdict.files.formats import FileFormat
from selfdict.files.limits import check_declared

_ALIGNMENT = 64  # of arrays in the shared memory


def create_memory() -> int:
    """Return a descriptor of an anonymous file, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("selfdict-reader")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class SharedMemory:
    """A view of the shared memory, enlarged on use."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int = 0) -> Array:
        """Return an array in the memory, which the next request overwrites."""
        n_bytes = offset + math.prod(shape) * dtype.itemsize
        if self._map is None or len(self._map) < n_bytes:
            # An old map stays as long as arrays refer to it.
            self._map = None
            # A map must not be empty.
            n_mapped = max(n_bytes, os.fstat(self.descriptor).st_size, 1)
            os.ftruncate(self.descriptor, n_mapped)
            self._map = mmap.mmap(self.descriptor, n_mapped)
        return np.ndarray(shape, dtype, self._map, offset)

    def close(self) -> None:
        """Close the descriptor; arrays stay valid."""
        os.close(self.descriptor)


def pack(value: Any, memory: SharedMemory) -> Any:
    """Return a value as JSON takes it, its arrays moved to the shared memory."""
    return _packed(value, memory, [0])


def _packed(value: Any, memory: SharedMemory, end: list[int]) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        stored = np.ascontiguousarray(value, value.dtype.newbyteorder("="))
        offset = end[0]
        memory.array(stored.shape, stored.dtype, offset)[...] = stored
        end[0] = -(-(offset + stored.nbytes) // _ALIGNMENT) * _ALIGNMENT
        return {"array": [stored.dtype.str, list(value.shape), offset]}
    if isinstance(value, np.ndarray):
        return [str(entry) for entry in value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): _packed(entry, memory, end) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(entry, memory, end) for entry in value]
    return value


def unpack(value: Any, memory: SharedMemory) -> Any:
    """Return what :func:`pack` packed; arrays are copies."""
    if isinstance(value, dict):
        if value.keys() == {"array"}:
            code, shape, offset = value["array"]
            return memory.array(tuple(shape), np.dtype(code), offset).copy()
        return {key: unpack(entry, memory) for key, entry in value.items()}
    if isinstance(value, list):
        return [unpack(entry, memory) for entry in value]
    return value


class Session:
    """One open file. Where no process can be started, the parent has a session itself."""

    def __init__(self) -> None:
        self.cube: StoredCube | None = None
        self.path = Path()

    def open(
        self,
        path: Path,
        format: FileFormat,
        options: dict[str, Any],
        held: int,
        max_bytes: int | None,
    ) -> dict[str, Any]:
        """Open a file; return what is known about its cube, without the values, or its spectra."""
        self.path = path
        with _failures_reported(path, f"cannot be read as {format.title}"):
            read = format.reader()
            parameters = signature(read).parameters
            unknown = options.keys() - parameters.keys()
            takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
            if unknown and not takes_any:
                raise SceneError(
                    path, f"{format.title} is read without the option {', '.join(sorted(unknown))}"
                )
            stored = read(path, **options)
        known = {field.name: getattr(stored, field.name) for field in fields(stored)}
        # Spectral libraries are small, and returned as a whole.
        if not isinstance(stored, StoredCube):
            return known
        _check_shapes(path, stored)
        check_declared(path, stored.shape, stored.dtype.itemsize, stored.held or held, max_bytes)
        self.cube = stored
        del known["load"]
        known["dtype"] = stored.dtype.newbyteorder("=").str
        return known

    def read(self, ranges: list[list[int]]) -> Array:
        """Return the values of three ranges of bands, rows and columns."""
        assert self.cube is not None
        slices = [slice(first, last) for first, last in ranges]
        with _failures_reported(self.path, "the data cannot be read"):
            return np.asarray(self.cube.load(*slices))


def _check_shapes(path: Path, cube: StoredCube) -> None:
    """Refuse an empty cube, and what is not of the shape of its bands or pixels."""
    if 0 in cube.shape:
        raise SceneError(path, f"a scene must not be empty, got shape {cube.shape}")
    n_bands, n_rows, n_columns = cube.shape
    shapes: dict[str, tuple[int, ...]] = {"y": (n_rows,), "x": (n_columns,)}
    arrays = dict(cube.coords)
    for name in ("wavelength", "fwhm", "good_band", "scale_factor", "add_offset"):
        shapes[name] = (n_bands,)
        values = getattr(cube, name)
        if isinstance(values, np.ndarray):
            arrays[name] = values
    for name, values in arrays.items():
        shape = shapes.get(name, cube.shape[1:])
        if values.shape != shape or values.dtype.kind not in "biuf":
            raise SceneError(
                path, f"{name} must be numbers of shape {shape}, got {values.dtype} {values.shape}"
            )


@contextlib.contextmanager
def _failures_reported(path: Path, what: str) -> Any:
    """Turn what libraries raise for damaged files into one sentence."""
    try:
        # Damaged values may overflow or be NaN, which is no error: such pixels hold no data.
        with np.errstate(all="ignore"):
            yield
    except (SceneError, ModuleNotFoundError, MemoryError):
        raise
    except InputError as error:
        # Such as an option that the reader does not take.
        raise SceneError(path, str(error)) from error
    except Exception as error:
        raise SceneError(path, f"{what}: {first_line(error)}") from error


def _answer(request: dict[str, Any], session: Session, memory: SharedMemory) -> Any:
    _set_limits(request["memory"], request["seconds"])
    if "path" in request:
        for module in request["modules"]:
            import_module(module)
        format = FileFormat(*request["format"])
        known = session.open(
            Path(request["path"]), format, request["options"], request["held"], request["max_bytes"]
        )
        return pack(known, memory)
    values = session.read(request["ranges"])
    shared = memory.array(values.shape, values.dtype.newbyteorder("="))
    shared[...] = values
    return {"shape": values.shape, "dtype": shared.dtype.str}


def _failure(error: Exception, path: Path) -> dict[str, Any]:
    """Return an exception as its parent raises it again."""
    if isinstance(error, SceneError):
        return {"kind": "scene", "path": error.path, "reason": error.reason}
    if isinstance(error, ModuleNotFoundError):
        return {"kind": "module", "reason": error.name or str(error)}
    if isinstance(error, MemoryError):
        return {"kind": "memory", "reason": ""}
    return {"kind": "scene", "path": str(path), "reason": first_line(error)}


def _set_limits(n_bytes: int, seconds: int) -> None:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, until),
        (resource.RLIMIT_DATA, n_bytes),
    ):
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        # A system may not have a limit, or not let it be changed.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, hard))


def main() -> None:
    """Answer requests until standard input ends."""
    # What libraries print is not for the parent.
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    memory = SharedMemory(int(sys.argv[1]))
    session = Session()
    for module in sys.argv[2:]:
        # One that lacks a package is reported when it is needed.
        with contextlib.suppress(ImportError):
            import_module(module)
    print(json.dumps("ready"), file=replies, flush=True)
    for line in sys.stdin.buffer:
        try:
            reply = {"result": _answer(json.loads(line), session, memory)}
        except Exception as error:
            reply = {"error": _failure(error, session.path)}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
