"""Reads mutated files: each gives a scene or an error of one line."""

import random
import shutil
import time

import numpy as np

from selfdict._errors import InputError
from selfdict.scene import build_library, identify, read_library, read_scene, valid_mask

from .mutations import mutated
from .samples import samples

# A spectrum to look up in each library that is read, and so to resample the library to.
ENDMEMBER = build_library(
    np.sin(np.arange(12.0))[None], ["sine"], np.linspace(420, 590, 12), fwhm=np.full(12, 9.0)
)


def run(reader, n_files, seed, folder):
    """Read a number of mutated files; return how many were read and refused, and the slowest.

    A file that fails in another way stays in the folder as ``case``, and its exception is raised.
    """
    valid = samples(reader)
    others = [data for _, files in valid for data in files.values()]
    rng = random.Random(seed)
    counts = {"read": 0, "refused": 0, "slowest_s": 0.0}
    for _ in range(n_files):
        name, files = rng.choice(valid)
        changed = rng.choice(sorted(files))
        _write(folder / "case", files | {changed: mutated(files[changed], others, rng)})
        began = time.monotonic()
        counts["read" if _read(reader, folder / "case" / name) else "refused"] += 1
        counts["slowest_s"] = max(counts["slowest_s"], round(time.monotonic() - began, 2))
    return counts


def _write(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
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
            raise AssertionError("an error of several lines") from error
        return False
    return True
