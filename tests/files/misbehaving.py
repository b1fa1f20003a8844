"""File formats whose readers crash, hang or swell, on opening or when they are read."""

import os
import signal

import numpy as np

from selfdict.files import StoredCube, file_format


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    while True:
        pass


def swell():
    held = []
    while True:
        held.append(np.ones(2**24))


def leave():
    os._exit(3)


def babble():
    os.write(int(os.environ.get("NOWHERE", "1")), b"libraries print to standard output")
    os.write(2, b"and to standard error")
    raise ValueError("several\nlines")


FAULTS = {fault.__name__: fault for fault in (crash, hang, swell, leave, babble)}


@file_format("misbehaving", suffixes=(".bad",))
def read(path, *, when="open"):
    """Do what the file says, or give its process number as all values."""
    word = path.read_text()
    if when == "open" and word in FAULTS:
        FAULTS[word]()

    def load(bands, rows, columns):
        if word in FAULTS:
            FAULTS[word]()
        shape = [part.stop - part.start for part in (bands, rows, columns)]
        return np.full(shape, os.getpid(), dtype="int64")

    return StoredCube(load, (2, 3, 4), np.dtype("int64"), notes=["a note"])
