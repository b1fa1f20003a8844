"""The reader process: opens one file and reads blocks of it, as its parent asks.

``python -m selfdict.files.child DESCRIPTOR`` reads requests from its standard input, one JSON
object a line, and ends with it. Arrays go to the shared memory of that descriptor.
"""

import contextlib
import json
import os
import sys
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
from selfdict.files.shared_memory import SharedMemory, pack


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
            unknown = options.keys() - signature(read).parameters.keys()
            if unknown:
                raise SceneError(
                    path, f"{format.title} is read without the option {', '.join(sorted(unknown))}"
                )
            stored = read(path, **options)
        known = {field.name: getattr(stored, field.name) for field in fields(stored)}
        # Spectral libraries are small, and returned as a whole.
        if not isinstance(stored, StoredCube):
            return known
        if 0 in stored.shape:
            raise SceneError(path, f"a scene must not be empty, got shape {stored.shape}")
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
    print(json.dumps("ready"), file=replies, flush=True)
    for line in sys.stdin.buffer:
        try:
            reply = {"result": _answer(json.loads(line), session, memory)}
        except Exception as error:
            reply = {"error": _failure(error, session.path)}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
