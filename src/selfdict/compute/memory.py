"""How much memory this machine has."""

import os

import numpy as np


def physical_memory() -> float:
    """Return the memory of this machine in bytes; infinity where it is not known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return np.inf
