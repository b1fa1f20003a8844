"""HDF5 datasets whose values are in the file itself, not in another one that it refers to."""

from pathlib import Path
from typing import Any

import h5py

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.limits import Limit, product


def plain_dataset(file: Any, name: str) -> Any:
    """Return the dataset of that name, or None if it is none or takes its values from another file.

    External links, external storage and virtual datasets would let a file read whatever its author
    names.
    """
    node = file
    # Any group on the way may be a link: each is examined before it is followed.
    for part in name.strip("/").split("/"):
        if not isinstance(node, h5py.Group):
            return None
        if not isinstance(node.get(part, getlink=True), h5py.HardLink):
            return None
        node = node[part]
    if not isinstance(node, h5py.Dataset) or node.external or node.is_virtual:
        return None
    return node


def check_blocks(dataset: Any, limit: Limit) -> None:
    """Refuse a dataset with large chunks: HDF5 allocates a whole one to read any part of it."""
    if dataset.chunks is not None:
        limit.check(product(dataset.chunks) * dataset.dtype.itemsize, "a chunk")


def check_heaps(path: Path) -> None:
    """Refuse a damaged heap of text on which HDF5 would never end.

    A heap is a row of objects, each with a number and a size. HDF5 steps from one to the next by
    their sizes, and stays where it is at a free one (number 0) of size 0.
    """
    # Heaps are written with the attributes, which come before the values as a rule. The search is
    # for signature, version and three zeros.
    searched_bytes = 64 * 2**20
    with path.open("rb") as file:
        data = file.read(searched_bytes)
    start = data.find(b"GCOL\1\0\0\0")
    while start >= 0:
        size = int.from_bytes(data[start + 8 : start + 16], "little")
        end = min(start + size, len(data))
        position = start + 16
        while position + 16 <= end:
            number = int.from_bytes(data[position : position + 2], "little")
            object_size = int.from_bytes(data[position + 8 : position + 16], "little")
            if number == 0 and object_size == 0:
                raise SceneError(path, "a heap of text is damaged")
            # The size of free space includes its header, that of text does not and is rounded up.
            if number == 0:
                position += object_size
            else:
                position += 16 + object_size + -object_size % 8
        start = data.find(b"GCOL\1\0\0\0", start + 1)
