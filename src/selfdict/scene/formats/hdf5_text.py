"""HDF5: text, names and lists of any length are examined before HDF5 reads them.

Such values lie in heaps. An attribute or a dataset holds a reference of 16 bytes for each: a length
(4 bytes), the address of a heap (8) and the number of an object in it (4). HDF5 allocates what the
length says before it looks at the heap, and may never leave a damaged heap.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.limits import Limit, product

# Heaps and attributes come before the values as a rule: what is behind is not searched.
_SEARCHED_BYTES = 64 * 2**20
# The signature and the version of a heap. HDF5 does not look at the three bytes behind, which are
# zero in an undamaged file.
_HEAP = b"GCOL\1"
# The same of a heap of names, which an older kind of group has. Its free blocks form a list that
# ends with a block at 1.
_NAMES = b"HEAP\0"
_END_OF_LIST = 1
_MAX_FREE_BLOCKS = 100_000  # more than there ever are
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Within types of any length: references of 16 bytes, to characters or to addresses of objects. The
# size of a single character or address follows.
_TYPES = (b"\x10\0\0\0\x10\0\0\0", b"\x10\0\0\0\x17\0\0\0")
# More than any file has: the search for the head of one takes 0.2 milliseconds at most.
_MAX_ATTRIBUTES = 20_000
_MAX_NAME_BYTES = 256
_REFERENCE = np.dtype([("length", "<u4"), ("address", "<u8"), ("number", "<u4")])


def check_heaps(path: Path) -> None:
    """Refuse a file whose heaps HDF5 would never leave, or whose attributes claim too much."""
    n_bytes = path.stat().st_size
    with path.open("rb") as file:
        data = file.read(_SEARCHED_BYTES)
    for start in _places(data, _HEAP):
        size = int.from_bytes(data[start + 8 : start + 16], "little")
        if _may_be_endless(data, start + 16, start + size):
            raise SceneError(path, "a heap of text is damaged")
    # Addresses count from here: MATLAB puts a text of its own before.
    base = max(0, data.find(_HDF5_SIGNATURE))
    for start in _places(data, _NAMES):
        if _has_endless_list(data, start, base):
            raise SceneError(path, "a heap of names is damaged")
    for known_type in _TYPES:
        _check_attributes(path, data, known_type, n_bytes)


def check_references(limit: Limit, dataset: Any) -> None:
    """Refuse a dataset of text which claims more bytes than the file has.

    References that are compressed, or that are in the header of the dataset, are not examined.
    """
    if dataset.dtype.kind != "O" or dataset.shape is None:
        return
    pieces = []
    if dataset.chunks is None:
        start = dataset.id.get_offset()
        if start is not None:
            pieces.append((start, dataset.id.get_storage_size()))
    elif dataset.id.get_create_plist().get_nfilters() == 0:
        dataset.id.chunk_iter(lambda chunk: pieces.append((chunk.byte_offset, chunk.size)))
    with limit.path.open("rb") as file:
        for start, size in pieces:
            limit.check(size, dataset.name)
            file.seek(min(start, limit.held))
            if _longest(file.read(size)) > limit.held:
                raise SceneError(limit.path, f"{dataset.name} claims more text than the file holds")


def is_stored_whole(attribute: Any) -> bool:
    """Whether an attribute (an ``h5py.h5a.AttrID``) of text or lists has all of its references.

    HDF5 takes what is stored to be as long as the size in the type says, which may be damaged, and
    then reads references beyond its end.
    """
    stored_type = attribute.get_type()
    is_text = isinstance(stored_type, h5py.h5t.TypeStringID) and stored_type.is_variable_str()
    is_list = isinstance(stored_type, h5py.h5t.TypeVlenID)
    if attribute.shape is None or not (is_text or is_list):
        return True
    # Nearly all files have addresses of 8 bytes, in a reference of 16.
    address_bytes = h5py.h5i.get_file_id(attribute).get_create_plist().get_sizes()[0]
    n_expected = product(attribute.shape) * (8 + address_bytes)
    return bool(attribute.get_storage_size() == n_expected)


def _places(data: bytes, wanted: bytes) -> Iterator[int]:
    """Yield where some bytes begin."""
    position = data.find(wanted)
    while position >= 0:
        yield position
        position = data.find(wanted, position + 1)


def _may_be_endless(data: bytes, position: int, end: int) -> bool:
    """Whether HDF5 might never come to the end of a heap.

    A heap is a row of objects, each with a number and a size. HDF5 steps from one to the next by
    their sizes, and stays where it is at a free one (number 0) of size 0. A size that leads beyond
    the end of the heap is damaged, and the sum may wrap around.
    """
    while position + 16 <= min(end, len(data)):
        number = int.from_bytes(data[position : position + 2], "little")
        object_size = int.from_bytes(data[position + 8 : position + 16], "little")
        # The size of free space includes its header, that of text does not and is rounded up.
        step = 16 + _padded(object_size)
        if number == 0:
            step = object_size
        if step == 0 or position + step > end:
            return True
        position += step
    return False


def _has_endless_list(data: bytes, start: int, base: int) -> bool:
    """Whether the list of free blocks of a heap of names leads back to one of them.

    The heap has its size, the first free block in it and its address, 8 bytes each. A free block
    begins with the place of the next one.
    """
    if start + 32 > len(data):
        return False
    size, block, address = (int(value) for value in np.frombuffer(data, "<u8", 3, start + 8))
    for _ in range(_MAX_FREE_BLOCKS):
        place = base + address + block
        # HDF5 notices a block outside of the heap.
        if block == _END_OF_LIST or block >= size or place + 8 > len(data):
            return False
        block = int.from_bytes(data[place : place + 8], "little")
    return True


def _check_attributes(path: Path, data: bytes, known_type: bytes, n_bytes: int) -> None:
    """Refuse an attribute of a type that claims more than all bytes of the file."""
    count = 0
    for place in _places(data, known_type):
        # The size in the type comes after its class and its flags.
        type_start = place - 4
        if not _follows_name(data, type_start):
            continue
        if count == _MAX_ATTRIBUTES:
            raise SceneError(path, f"has more than {_MAX_ATTRIBUTES} attributes of text")
        count += 1
        references = _attribute_references(data, type_start)
        if not references:
            continue
        # Lists are of kind 0 and text is of kind 1: HDF5 crashes on any other.
        if data[type_start + 1] & 0x0F > 1:
            raise SceneError(path, "the type of an attribute is damaged")
        size_start = place + len(known_type)
        value_bytes = int.from_bytes(data[size_start : size_start + 4], "little")
        if _longest(references) * value_bytes > n_bytes:
            raise SceneError(path, "an attribute claims more text than the file holds")


def _follows_name(data: bytes, type_start: int) -> bool:
    """Whether the bytes before a place can be a name, which ends in 1 to 8 zeros.

    Integers, among which there may be many that look like a type, mostly cannot.
    """
    before = data[max(0, type_start - 9) : type_start]
    name = before.rstrip(b"\0")
    is_terminated = len(name) < len(before)
    return is_terminated and len(name) > 0 and name[-1] >= ord(" ")


def _attribute_references(data: bytes, type_start: int) -> bytes:
    """Return the values of the attribute whose type begins at a place; none if it is no attribute.

    An attribute is a head (version, flags, the sizes of what follows), its name, its type, its
    shape, its values. In version 1 each part is padded to a multiple of 8 bytes, in version 3 the
    head has a byte more.
    """
    for name_size in range(2, _MAX_NAME_BYTES):
        padded_head = type_start - _padded(name_size) - 8
        for version, start in (
            (1, padded_head),
            (2, type_start - name_size - 8),
            (3, type_start - name_size - 9),
        ):
            if start < 0 or data[start] != version:
                continue
            sizes = np.frombuffer(data, "<u2", 3, start + 2)
            if sizes[0] != name_size:
                continue
            type_size, shape_size = int(sizes[1]), int(sizes[2])
            if version == 1:
                type_size, shape_size = _padded(type_size), _padded(shape_size)
            shape_start = type_start + type_size
            n_values = _count(data[shape_start : shape_start + shape_size])
            values_start = shape_start + shape_size
            return data[values_start : values_start + _REFERENCE.itemsize * n_values]
    return b""


def _count(shape: bytes) -> int:
    """Return the number of values of an attribute, from the bytes that describe its shape."""
    if len(shape) < 4:
        return 0
    version, rank = shape[0], shape[1]
    sizes_start = 8 if version == 1 else 4
    count = 1
    for axis in range(rank):
        start = sizes_start + 8 * axis
        count *= int.from_bytes(shape[start : start + 8], "little")
    return count


def _longest(references: bytes) -> int:
    """Return the largest length among references."""
    n_whole = len(references) // _REFERENCE.itemsize
    lengths = np.frombuffer(references, _REFERENCE, n_whole)["length"]
    return int(lengths.max(initial=0))


def _padded(size: int) -> int:
    """Return the next multiple of 8."""
    return size + -size % 8
