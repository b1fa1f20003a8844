"""HDF5 datasets and attributes whose values are in the file itself, not in another one."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.limits import Limit, check_header, product

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


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
    return np.asarray(dataset[()])


def check_type(path: Path, stored: Any, what: str) -> None:
    """Refuse values that are neither numbers nor text.

    Readers have no use for lists of variable length, and the HDF5 library can crash on a damaged
    type that it takes for one.
    """
    dtype = stored.dtype
    if dtype.kind == "O" and h5py.check_string_dtype(dtype) is None:
        raise SceneError(path, f"{what} holds neither numbers nor text")


def attribute(path: Path, node: Any, name: str) -> Any:
    """Return an attribute of a dataset or group, or None if it has none of that name."""
    if name not in node.attrs:
        return None
    stored = node.attrs.get_id(name)
    check_type(path, stored, f"attribute {name}")
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


def check_heaps(path: Path) -> None:
    """Refuse damaged heaps of text, on which HDF5 would never end or allocate gigabytes.

    A heap is a row of objects, each with a number and a size. HDF5 steps from one to the next by
    their sizes, and stays where it is at a free one (number 0) of size 0. What refers to an object
    has its length, too: HDF5 allocates that before it looks at the heap.
    """
    # Heaps are written with the attributes, which come before the values as a rule.
    searched_bytes = 64 * 2**20
    # The signature and the version. HDF5 does not look at the three bytes behind, which are zero
    # in an undamaged file.
    beginning = b"GCOL\1"
    with path.open("rb") as file:
        data = file.read(searched_bytes)
    # Addresses count from here: MATLAB puts a text of its own before.
    base = max(data.find(_HDF5_SIGNATURE), 0)
    start = data.find(beginning)
    while start >= 0:
        size = int.from_bytes(data[start + 8 : start + 16], "little")
        numbers = _heap_objects(data, start, min(start + size, len(data)))
        if numbers is None or _has_long_reference(data, start - base, size, numbers):
            raise SceneError(path, "a heap of text is damaged")
        start = data.find(beginning, start + 1)


def _heap_objects(data: bytes, start: int, end: int) -> set[int] | None:
    """Return the numbers of the objects of a heap; None if HDF5 would never end."""
    numbers = set()
    position = start + 16
    while position + 16 <= end:
        number = int.from_bytes(data[position : position + 2], "little")
        object_size = int.from_bytes(data[position + 8 : position + 16], "little")
        if number == 0 and object_size == 0:
            return None
        # The size of free space includes its header, that of text does not and is rounded up.
        if number == 0:
            position += object_size
        else:
            numbers.add(number)
            position += 16 + object_size + -object_size % 8
    return numbers


def _has_long_reference(data: bytes, address: int, size: int, numbers: set[int]) -> bool:
    """Whether something refers to an object of a heap as if it were larger than the heap.

    A reference is a length of four bytes, the address of the heap and the number of the object. A
    virtual dataset refers to a heap, too, with its version and its kind instead of a length.
    """
    virtual = b"\4\3"
    written = address.to_bytes(8, "little")
    position = data.find(written, 4)
    while position >= 0:
        length = int.from_bytes(data[position - 4 : position], "little")
        number = int.from_bytes(data[position + 8 : position + 12], "little")
        is_virtual = data[position - 2 : position] == virtual
        if number in numbers and length > size and not is_virtual:
            return True
        position = data.find(written, position + 1)
    return False
