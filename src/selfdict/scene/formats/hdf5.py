"""HDF5 without its doors: a dataset whose values lie in this file, not in another one it points to."""

from typing import Any

import h5py


def plain_dataset(file: Any, name: str) -> Any:
    """Return the dataset of that name, or None if it is none or takes its values from another file.

    External links, external storage and virtual datasets would let a file read whatever its author
    names.
    """
    node = file
    for part in name.strip("/").split("/"):
        if not isinstance(node, h5py.Group) or not isinstance(
            node.get(part, getlink=True), h5py.HardLink
        ):
            return None
        node = node[part]
    if not isinstance(node, h5py.Dataset) or node.external or node.is_virtual:
        return None
    return node
