"""The columns of a problem, in memory, on a device or in blocks: all that the working set needs."""
