"""Reads mutated files until the time is over, in a process of its own.

``python -m fuzz.worker READER SECONDS SEED FOLDER``. Prints counts as JSON. A file that a reader
does not answer with a scene or with an error of its own stays in the folder as ``case``.

With several readers, ``a,b``, each runs in a fork of this process, which has imported everything. A
list is printed for each: the reader, its exit code, its standard output, its standard error.
"""

import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from selfdict._errors import InputError
from selfdict.scene import build_library, identify, read_library, read_scene, valid_mask

from .mutations import mutated
from .samples import samples

# A spectrum to look up in each library that is read, and so to resample the library to.
ENDMEMBER = build_library(
    np.sin(np.arange(12.0))[None], ["sine"], np.linspace(420, 590, 12), fwhm=np.full(12, 9.0)
)
# Of processor time for one file; the process is then killed. All times are processor time, so that
# other work on the machine does not count.
MAX_SECONDS = 20
MAX_GROWTH = 400  # MiB over all files; a single allocation may take 64 MiB


def main(reader, seconds, seed, folder):
    valid = samples(reader)
    for name, files in valid:
        _write(folder, files)
        assert _read(reader, folder / "case" / name), f"{name} is not read"
    others = [data for _, files in valid for data in files.values()]
    rng = random.Random(seed)
    counts = {"files": 0, "read": 0, "refused": 0, "slowest_s": 0.0, "growth_mib": 0}
    used = _memory()
    stderr = _redirect_stderr(folder / "stderr")
    deadline = time.process_time() + seconds
    while time.process_time() < deadline:
        name, files = rng.choice(valid)
        changed = rng.choice(sorted(files))
        _write(folder, files | {changed: mutated(files[changed], others, rng)})
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        is_read = _read(reader, folder / "case" / name)
        signal.setitimer(signal.ITIMER_PROF, 0)
        counts["slowest_s"] = max(counts["slowest_s"], round(time.process_time() - began, 2))
        counts["files"] += 1
        counts["read" if is_read else "refused"] += 1
        counts["growth_mib"] = _memory() - used
        if counts["growth_mib"] > MAX_GROWTH:
            os.dup2(stderr, 2)
            raise SystemExit(f"memory grew by {counts['growth_mib']} MiB: {folder}/case")
        printed = (folder / "stderr").read_text(errors="replace")
        if printed:
            os.dup2(stderr, 2)
            raise SystemExit(f"printed to stderr: {folder}/case\n{printed}")
    os.dup2(stderr, 2)
    print(json.dumps(counts))


def run_forks(readers, seconds, seed, folder):
    """Run the readers one after the other, and print how each of them ended."""
    for reader in readers:
        own = folder / reader
        own.mkdir()
        child = os.fork()
        if child == 0:
            _run_and_exit(reader, seconds, seed, own)
        _, status = os.waitpid(child, 0)
        output = (own / "output").read_text(errors="replace")
        errors = (own / "errors").read_text(errors="replace")
        # Flushed: what is left in the buffer would be printed by the next fork as well.
        print(json.dumps([reader, os.waitstatus_to_exitcode(status), output, errors]), flush=True)


def _run_and_exit(reader, seconds, seed, folder):
    """Run a reader as if it were a process that was started for it."""
    for descriptor, name in ((1, "output"), (2, "errors")):
        with (folder / name).open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    code = 1
    try:
        main(reader, seconds, seed, folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _redirect_stderr(path):
    """Let standard error go to a file, also from C; return a copy of the descriptor."""
    copy = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    return copy


def _write(folder, files):
    shutil.rmtree(folder / "case", ignore_errors=True)
    for name, data in files.items():
        path = folder / "case" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _read(reader, path):
    """Return whether a file is read; an error about input is an answer, too."""
    try:
        if reader == "library":
            identify(ENDMEMBER, read_library(path))
        else:
            valid_mask(read_scene(path))
    except InputError as error:
        if len(str(error).splitlines()) != 1:
            raise SystemExit(f"several lines: {path.parent}\n{error}") from error
        return False
    except BaseException:
        # To standard output: what is on standard error is a fault by itself.
        print(traceback.format_exc())
        raise SystemExit(f"a traceback: {path.parent}") from None
    return True


def _memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    names = sys.argv[1].split(",")
    arguments = (float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    if len(names) == 1:
        main(names[0], *arguments)
    else:
        run_forks(names, *arguments)
