"""Reads mutated files: each gives a scene or an error of one line."""

import random
import re
import shutil
import time

import numpy as np

from selfdict._errors import InputError
from selfdict.scene import build_library, identify, read_library, read_scene, valid_mask

from .samples import samples

# A spectrum to look up in each library that is read, and so to resample the library to.
ENDMEMBER = build_library(
    np.sin(np.arange(12.0))[None], ["sine"], np.linspace(420, 590, 12), fwhm=np.full(12, 9.0)
)
# Numbers at the edges of types, and some that are just large.
EDGES = [0, 1, 2, 4, 127, 128, 255, 32767, 65535, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]
DIGITS = [b"0", b"-1", b"1", b"7", b"65535", b"4294967295", b"99999999999999999999", b"1e400"]


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


def mutated(data, others, rng):
    """Return the bytes with one to eight mutations; ``others`` are bytes to take parts from."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        _mutate(data, others, rng)
    return bytes(data)


def _mutate(data, others, rng):
    if not data:
        data += rng.randbytes(rng.randrange(1, 20))
        return
    position = rng.randrange(len(data))
    kind = rng.randrange(10)
    if kind <= 2:
        data[position] = rng.choice([0, 1, 5, 127, 128, 255, rng.randrange(256)])
    elif kind == 3:
        data[position] ^= 1 << rng.randrange(8)
    elif kind in (4, 5):
        size = rng.choice([2, 4, 8])
        number = rng.choice(EDGES) % 256**size
        data[position : position + size] = number.to_bytes(size, rng.choice(["little", "big"]))
    elif kind == 6:
        _change_digits(data, rng)
    elif kind == 7:
        del data[position : position + rng.choice([1, 8, len(data)])]
    elif kind == 8:
        data[position:position] = rng.randbytes(rng.choice([1, 8, 64]))
    else:
        other = rng.choice(others)
        start = rng.randrange(max(1, len(other)))
        length = rng.choice([4, 32, 256])
        data[position : position + length] = other[start : start + length]


def _change_digits(data, rng):
    numbers = list(re.finditer(rb"\d+", bytes(data[:100_000])))
    if numbers:
        number = rng.choice(numbers)
        data[number.start() : number.end()] = rng.choice(DIGITS)
