"""The parent of the reader process: starts it, asks it, and says in one sentence how it failed.

Files are parsed by libraries in C, which a damaged file may crash, hang or make swell. They do so
in a process of their own, with limits on its memory and on its time for each request.
"""

import contextlib
import importlib.util
import math
import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._errors import InputError, SceneError
from selfdict._imports import optional
from selfdict.files.child import Session, SharedMemory, allowed_bytes, create_memory, pack, unpack
from selfdict.files.cube import Array
from selfdict.files.formats import (
    REGISTERING_MODULES,
    FileFormat,
    check_plain,
    format_by_suffix,
    format_named,
    size_of,
)

# Of a machine under load, to start Python and NumPy.
_START_SECONDS = 120
# Time on the clock, for each second of processor time: disks and networks may be slow.
_WAITING_RATIO = 60
# Processes at a time. A file whose process was ended gets another one when it is read again.
_MOST_PROCESSES = 8


@dataclass(eq=False)
class Reader:
    """Reads one file in a process of its own, which is started on first use.

    ``options`` are keyword arguments of the function that reads the format. ``max_bytes``: see
    :func:`selfdict.files.child.allowed_bytes`. ``seconds`` of processor time are allowed for one
    request; default: by the size of the file.

    It may be pickled: every process that reads starts its own. It may be used by several threads,
    one of which reads at a time.
    """

    path: Path
    format: FileFormat
    options: dict[str, Any]
    max_bytes: int | None = None
    seconds: int | None = None
    folder: str = field(default_factory=os.getcwd)

    def __post_init__(self) -> None:
        self._full_path = Path(os.path.normpath(Path(self.folder, self.path)))
        self._start()

    def _start(self) -> None:
        """Begin without a child."""
        self._process = os.getpid()
        self.held = 0
        self._lock = threading.RLock()
        self._child: _Child | Session | None = None
        self._end_child: weakref.finalize[..., Reader] | None = None

    def __reduce__(self) -> tuple[type["Reader"], tuple[Any, ...]]:
        return Reader, tuple(getattr(self, each.name) for each in fields(self))

    @property
    def is_in_process(self) -> bool:
        """Whether the file is read in this process, since no other could be started."""
        return isinstance(self._child, Session)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one thread read; what fails names the file as the user did, and ends the child."""
        # A forked process leaves the child to the one it was forked from, and its lock as well.
        if self._process != os.getpid():
            if self._end_child is not None:
                self._end_child()
            self._start()
        with self._lock:
            try:
                yield
            except SceneError as error:
                self.close()
                raise SceneError(self._shown(error.path), error.reason) from error
            except BaseException:
                # Interrupted: an answer may still come, and would be taken for the next one.
                self.close()
                raise

    def open(self) -> dict[str, Any]:
        """Return the attributes of the :class:`StoredCube` without its values, or of a library."""
        with self._alone():
            return self._open()

    def _open(self) -> dict[str, Any]:
        self.close()
        if "address" not in self.options:
            check_plain(self._full_path)
            self.held = size_of(self._full_path)
        child = self._new_child()
        self._child = child
        self._end_child = weakref.finalize(self, child.close)
        format = self.format
        known: dict[str, Any] = self._ask(
            {
                "path": str(self._full_path),
                "format": [format.title, format.module, format.function],
                "modules": sorted(REGISTERING_MODULES),
                "options": self.options,
                "held": self.held,
                "max_bytes": self.max_bytes,
            }
        )
        self.held = known["held"] or self.held
        _LIVE.append(weakref.ref(self))
        _end_others(self)
        return known

    def read(self, ranges: list[list[int]], dtype: np.dtype[Any]) -> Array:
        """Return the values (band, y, x) of three ranges, each the first place and the end."""
        shape = tuple(last - first for first, last in ranges)
        with self._alone():
            if self._child is None:
                self._open()
            values: Array = self._ask({"ranges": ranges}, math.prod(shape) * dtype.itemsize)
            # In this process they may be in another byte order.
            values = values.astype(values.dtype.newbyteorder("="), copy=False)
            if values.shape != shape or values.dtype != dtype:
                raise SceneError(self._full_path, "has changed since it was opened")
        return values

    def close(self) -> None:
        """End the process; the next request starts another one."""
        with self._lock:
            if self._end_child is not None:
                self._end_child()
            self._child = None
            self._end_child = None

    def _new_child(self) -> "_Child | Session":
        # The process cannot import what a script or a notebook defines.
        if not _can_start() or "__main__" in REGISTERING_MODULES:
            return Session()
        try:
            if not _STARTED:
                start_early()
            child = _STARTED.pop()
            child.wait_until_ready()
        except (OSError, _DeadError):
            return Session()
        return child

    def _ask(self, request: dict[str, Any], n_bytes: int = 0) -> Any:
        """Return the answer to a request; a child that fails is one sentence."""
        assert self._child is not None
        # Python and its libraries themselves, and three copies of a block, which is unpacked,
        # converted and rearranged.
        memory = 768 * 2**20 + 3 * (allowed_bytes(self.held, self.max_bytes) + n_bytes)
        seconds = self.seconds or 10 + int((self.held + n_bytes) / 5e6)
        try:
            return self._child.ask(request | {"memory": memory, "seconds": seconds})
        except _DeadError as error:
            what = str(error) or f"takes more than {seconds} seconds"
            raise SceneError(self._full_path, f"the file is damaged: its reader {what}") from None

    def _shown(self, path: str) -> str:
        """Return the path of a file as the user would write it."""
        if "address" in self.options:
            return str(self.options["address"])
        if self.path.is_absolute():
            return path
        return os.path.relpath(path, self.folder)


_LIVE: list["weakref.ref[Reader]"] = []
# Processes that were started for the next file to read.
_STARTED: list["_Child"] = []


def start_early(path: Path | None = None) -> None:
    """Start the process for the next file, which loads while this one imports its modules."""
    if not _can_start() or _STARTED:
        return
    modules = []
    if path is not None:
        # It also loads what reads this file. A wrong name is reported when the file is read.
        with contextlib.suppress(InputError, OSError):
            modules.append(format_named(format_by_suffix(path)).module)
    _STARTED.append(_Child(modules))


def _end_others(current: Reader) -> None:
    """End the oldest processes, if there are many, unless they are reading."""
    _LIVE[:] = [entry for entry in _LIVE if (reader := entry()) is not None and reader._child]
    for entry in _LIVE[:-_MOST_PROCESSES]:
        reader = entry()
        if reader is not None and reader is not current and reader._lock.acquire(blocking=False):
            try:
                reader.close()
            finally:
                reader._lock.release()


class _DeadError(Exception):
    """How a child ended; no message if it did not end in time."""


class _Child:
    """A running process and its pipes."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.owner = os.getpid()
        self.memory = SharedMemory(create_memory())
        environment = dict(os.environ)
        # The same modules as here, wherever they were found, and no threads, which reserve memory.
        environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(place) for place in sys.path)
        # Warnings of libraries are for nobody, and must not become errors.
        environment["PYTHONWARNINGS"] = "ignore"
        environment.pop("PYTHONINSPECT", None)
        for name in ("OPENBLAS", "OMP", "MKL", "BLOSC"):
            environment[f"{name}_NUM_THREADS"] = "1"
        descriptor = self.memory.descriptor
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "selfdict.files.child", str(descriptor), *modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[descriptor],
                env=environment,
                # Ctrl-C is for the parent, which then ends its child.
                start_new_session=True,
            )
        except BaseException:
            self.memory.close()
            raise

    def wait_until_ready(self) -> None:
        """Wait until the process has loaded what it needs."""
        try:
            self._next_line(_START_SECONDS)
        except BaseException:
            self.close()
            raise

    def ask(self, request: dict[str, Any]) -> Any:
        """Send a request; return the result, or raise what was raised in the process."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(pack(request, self.memory).encode("ascii") + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise _DeadError(self._end()) from None
        reply = self._next_line(_WAITING_RATIO * request["seconds"])
        failure = reply.get("error")
        if failure is None:
            return reply["result"]
        if failure["kind"] == "module":
            optional(failure["reason"])  # raises an error that names the extra to install
            raise ModuleNotFoundError(failure["reason"])
        if failure["kind"] == "memory":
            raise _DeadError(
                f"needs more than {request['memory'] >> 20} MiB of memory (max_bytes=…)"
            )
        raise SceneError(failure["path"], failure["reason"])

    def _next_line(self, seconds: float) -> Any:
        assert self.process.stdout is not None
        waiting = select.poll()
        waiting.register(self.process.stdout, select.POLLIN)
        if not waiting.poll(1000 * seconds):
            raise _DeadError
        line = self.process.stdout.readline()
        if not line:
            raise _DeadError(self._end())
        try:
            return unpack(line, self.memory)
        except ValueError:
            raise _DeadError("returns an answer that cannot be used") from None

    def _end(self) -> str:
        """Return how the process ended."""
        try:
            code = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return "gives no answer"
        if code == -signal.SIGXCPU:
            return ""
        if code < 0:
            return f"crashes ({signal.Signals(-code).name})"
        return f"ends with code {code}"

    def close(self) -> None:
        """End the process, whatever it does; in a process that was forked, let it be."""
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            # A request that was not sent is still in the pipe.
            with contextlib.suppress(OSError):
                pipe.close()
        self.memory.close()


def _can_start() -> bool:
    """Whether there is a Python that can be started, and limits for it."""
    # An application may embed Python, and be what sys.executable names.
    is_python = "python" in os.path.basename(sys.executable or "").lower()
    return is_python and importlib.util.find_spec("resource") is not None
