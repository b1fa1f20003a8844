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
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._errors import InputError, SceneError, first_line
from selfdict.files.cube import Array, StoredCube
from selfdict.files.formats import FileFormat, options_of

_ALIGNMENT = 64  # of arrays in the shared memory
# A block may always take this much: a file of fill values may hold almost nothing.
_ALWAYS_ALLOWED = 64 * 2**20


def create_memory() -> int:
    """Return a descriptor of an anonymous file, in memory where the system can do that."""
    import fcntl  # where processes are started it is there

    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("selfdict-reader")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    # If a standard stream is closed its number is free, but the child has a pipe there.
    above = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return above


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


def pack(value: Any, memory: SharedMemory) -> str:
    """Return a value as JSON, its arrays moved to the shared memory."""
    end = 0

    def replace(entry: Any) -> Any:
        nonlocal end
        if isinstance(entry, np.generic):
            return entry.item()
        dtype = entry.dtype.newbyteorder("=")
        offset = end
        memory.array(entry.shape, dtype, offset)[...] = entry
        end = -(-(offset + entry.nbytes) // _ALIGNMENT) * _ALIGNMENT
        return {"array": [dtype.str, entry.shape, offset]}

    return json.dumps(value, default=replace)


def unpack(text: bytes, memory: SharedMemory) -> Any:
    """Return what :func:`pack` packed; arrays are copies."""

    def restore(entry: dict[str, Any]) -> Any:
        if entry.keys() != {"array"}:
            return entry
        code, shape, offset = entry["array"]
        return memory.array(tuple(shape), np.dtype(code), offset).copy()

    return json.loads(text, object_hook=restore)


class Session:
    """One open file. Where no process can be started, the parent has a session itself."""

    def __init__(self) -> None:
        self.cube: StoredCube | None = None
        self.path = Path()

    def ask(self, request: dict[str, Any]) -> Any:
        """Return what is known about the file that is to be opened, or the values of ranges."""
        if "ranges" in request:
            assert self.cube is not None
            slices = [slice(first, last) for first, last in request["ranges"]]
            with _failures_reported(self.path, "the data cannot be read"):
                return np.asarray(self.cube.load(*slices))
        self.path = Path(request["path"])
        format = FileFormat(*request["format"])
        with _failures_reported(self.path, f"cannot be read as {format.title}"):
            return self._open(format, request)

    def _open(self, format: FileFormat, request: dict[str, Any]) -> dict[str, Any]:
        """Open a file; return what is known about its cube, without the values, or its spectra."""
        # Its libraries are imported now.
        read = getattr(import_module(format.module), format.function)
        stored = read(self.path, **options_of(format.title, read, request["options"]))
        known = {field.name: getattr(stored, field.name) for field in fields(stored)}
        # Spectral libraries are small, and returned as a whole.
        if isinstance(stored, StoredCube):
            _check_shapes(stored)
            _check_size(stored, request["held"], request["max_bytes"])
            self.cube = stored
            del known["load"]
            known["dtype"] = stored.dtype.newbyteorder("=").str
        return known

    def close(self) -> None:
        """There is no process to be ended."""


def _check_shapes(cube: StoredCube) -> None:
    """Refuse an empty cube, and what is not of the shape of its bands or pixels."""
    if 0 in cube.shape:
        raise InputError(f"a scene must not be empty, got shape {cube.shape}")
    n_bands, n_rows, n_columns = cube.shape
    lists = ("wavelength", "fwhm", "good_band", "scale_factor", "add_offset")
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(lists, (n_bands,))
    shapes |= {"y": (n_rows,), "x": (n_columns,)}
    for name, values in (vars(cube) | cube.coords).items():
        shape = shapes.get(name, (n_rows, n_columns))
        is_array = isinstance(values, np.ndarray)
        if is_array and (values.shape != shape or values.dtype.kind not in "biuf"):
            raise InputError(
                f"{name} must be numbers of shape {shape}, got {values.dtype} {values.shape}"
            )


def allowed_bytes(held: int, max_bytes: int | None = None) -> int:
    """Return the most bytes that one block or array of a file of ``held`` bytes may take."""
    if max_bytes is not None:
        return max_bytes
    # zlib packs 1032 bytes of equal values into one. Measurements take a tenth as a rule: above
    # 1 GiB a block must be plausible for the size of the file.
    return max(_ALWAYS_ALLOWED, min(1100 * held, max(2**30, 32 * held)))


def _check_size(cube: StoredCube, held: int, max_bytes: int | None) -> None:
    """Refuse a cube that declares far more than its file of ``held`` bytes can hold."""
    held = cube.held or held
    n_bands, n_rows, n_columns = cube.shape
    total = n_bands * n_rows * n_columns * cube.dtype.itemsize
    # It need not fit in memory, and sparse files and codecs for constant values pack it well.
    if max_bytes is None and total > max(_ALWAYS_ALLOWED, 100_000 * held):
        raise InputError(f"declares {total} bytes of data but holds {held} (max_bytes=…)")
    # Reading block by block still takes a mask of all pixels, and coordinates.
    needed = n_rows * n_columns + 8 * (n_bands + n_rows + n_columns)
    allowed = allowed_bytes(held, max_bytes)
    if needed > allowed:
        raise InputError(
            f"needs {needed} bytes for a mask and coordinates; at most {allowed} may be allocated "
            f"at once for a file of {held} bytes (max_bytes=…)"
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
            request = unpack(line, memory)
            _set_limits(request["memory"], request["seconds"])
            for module in request.get("modules", ()):
                import_module(module)
            reply = pack({"result": session.ask(request)}, memory)
        except Exception as error:
            reply = json.dumps({"error": _failure(error, session.path)})
        print(reply, file=replies, flush=True)


if __name__ == "__main__":
    main()
