"""HDF5 datasets and attributes whose values are in the file itself, not in another one."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.hdf5_text import check_references, is_stored_whole
from selfdict.scene.formats.limits import Limit, check_header, product


def plain_dataset(file: Any, name: str) -> Any:
    """Return the dataset of that name, or None if it is none or takes its values from another file.

    External links, external storage and virtual datasets would let a file read whatever its author
    names.
    """
    node = _own_node(file, name)
    if not isinstance(node, h5py.Dataset) or node.external or node.is_virtual:
        return None
    return node


def own_group(file: Any, name: str) -> Any:
    """Return the group of that name, or None if it is none or lies in another file."""
    node = _own_node(file, name)
    if not isinstance(node, h5py.Group):
        return None
    return node


def _own_node(file: Any, name: str) -> Any:
    """Return the dataset or group of that name, or None if it is reached by links only."""
    node = file
    # Any group on the way may be a link: each is examined before it is followed.
    for part in name.strip("/").split("/"):
        if not isinstance(node, h5py.Group):
            return None
        if not isinstance(node.get(part, getlink=True), h5py.HardLink):
            return None
        node = node[part]
    return node


def required_dataset(path: Path, file: Any, name: str) -> Any:
    """Return the dataset of that name; it is an error if there is none."""
    dataset = plain_dataset(file, name)
    if dataset is None:
        raise SceneError(path, f"has no dataset {name} of its own")
    return dataset


def load_values(limit: Limit, dataset: Any) -> Array:
    """Return all values of a dataset, if they may be allocated."""
    check_type(limit.path, dataset, dataset.name)
    check_blocks(dataset, limit)
    limit.check(product(dataset.shape) * dataset.dtype.itemsize, dataset.name)
    check_references(limit, dataset)
    return np.asarray(dataset[()])


def check_type(path: Path, stored: Any, what: str) -> None:
    """Refuse values that are neither numbers nor text.

    Readers have no use for lists of variable length, and the HDF5 library can crash on a damaged
    type that it takes for one.
    """
    dtype = stored.dtype
    if dtype.kind == "O" and h5py.check_string_dtype(dtype) is None:
        raise SceneError(path, f"{what} holds neither numbers nor text")


def check_dimensions(path: Path, dataset: Any) -> None:
    """Refuse a dataset whose list of dimension scales is damaged: HDF5 would read beyond its end.

    The list has a list of references for each axis.
    """
    name = "DIMENSION_LIST"
    if name not in dataset.attrs:
        return
    stored = dataset.attrs.get_id(name)
    listed = h5py.check_vlen_dtype(stored.dtype)
    holds_references = listed is not None and h5py.check_ref_dtype(listed) is h5py.Reference
    if stored.shape != (dataset.ndim,) or not holds_references or not is_stored_whole(stored):
        raise SceneError(path, f"the dimensions of {dataset.name} are damaged")


def check_attribute(path: Path, node: Any, name: str) -> None:
    """Refuse an attribute of text or lists which HDF5 would read beyond its end."""
    if not is_stored_whole(node.attrs.get_id(name)):
        raise SceneError(path, f"attribute {name} is damaged")


def attribute(path: Path, node: Any, name: str) -> Any:
    """Return an attribute of a dataset or group, or None if it has none of that name."""
    if name not in node.attrs:
        return None
    stored = node.attrs.get_id(name)
    check_type(path, stored, f"attribute {name}")
    check_attribute(path, node, name)
    # h5py allocates what the attribute declares.
    check_header(path, product(stored.shape or ()) * stored.dtype.itemsize, f"attribute {name}")
    value = node.attrs[name]
    if isinstance(value, h5py.Empty):
        return None
    return value


def number_list(path: Path, node: Any, name: str) -> Array | None:
    """Return the numbers of an attribute as float64 (n,), or None if there is no such attribute.

    They may be numbers, or a text of numbers separated by spaces or commas.
    """
    value = attribute(path, node, name)
    if value is None:
        return None
    return parse_numbers(path, value, f"the attribute {name}")


def parse_numbers(path: Path, value: Any, what: str) -> Array:
    """Return numbers, or a text of numbers separated by spaces or commas, as float64 (n,)."""
    values = np.asarray(value).ravel()
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    text = text_of(value)
    try:
        return np.array([float(entry) for entry in text.replace(",", " ").split()])
    except ValueError:
        raise SceneError(path, f"{what} must hold numbers, the file says {text[:80]!r}") from None


def one_number(path: Path, node: Any, name: str) -> float | None:
    """Return the number of an attribute, or None if there is no such attribute."""
    values = number_list(path, node, name)
    if values is None:
        return None
    if values.size != 1:
        raise SceneError(path, f"the attribute {name} must be one number, it has {values.size}")
    return float(values[0])


def nodata_attribute(path: Path, cube: Any, name: str) -> float | None:
    """Return the no-data value that an attribute of a cube declares, or None."""
    nodata = one_number(path, cube, name)
    # An integer, so that a comparison does not turn the values into floats.
    if nodata is not None and cube.dtype.kind in "iu" and nodata.is_integer():
        return int(nodata)
    return nodata


def text_attribute(path: Path, node: Any, name: str) -> str | None:
    """Return the text of an attribute, or None if there is no such attribute."""
    value = attribute(path, node, name)
    if value is None:
        return None
    return text_of(value)


def text_of(value: Any) -> str:
    """Return text that a file holds, as bytes, as str or as an array of one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene.formats.hdf5 import text_of
    >>> text_of(np.array([b"UTM"]))
    'UTM'
    """
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.ravel()[0]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # h5py keeps bytes that are no UTF-8 as characters that cannot be printed.
    return str(value).encode("utf-8", "replace").decode("utf-8")


def is_bare_dimension(path: Path, dataset: Any) -> bool:
    """Whether a dataset only stands for a dimension of NetCDF, and holds no values of its own."""
    name = text_attribute(path, dataset, "NAME") or ""
    # The words of the NetCDF library, followed by the size of the dimension.
    return name.startswith("This is a netCDF dimension but not a netCDF variable")


def check_blocks(dataset: Any, limit: Limit) -> None:
    """Refuse a dataset with large chunks: HDF5 allocates a whole one to read any part of it."""
    if dataset.chunks is not None:
        limit.check(product(dataset.chunks) * dataset.dtype.itemsize, "a chunk")
