"""HDF5 datasets whose values are in the file itself, not in another one that it refers to."""

from typing import Any

import h5py

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
