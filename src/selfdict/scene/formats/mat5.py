"""MATLAB's version 5 files: the numeric arrays at their top level.

The reader of scipy trusts the types and sizes that a file declares, so that a damaged one can end
the process. Here each is checked before it is used, and nothing but numbers is read.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.limits import Limit, product

# Types of elements.
_MATRIX = 14
_COMPRESSED = 15
_DTYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
# Classes of arrays that hold numbers; the others are cells, structs, objects, text and so on.
_NUMERIC_CLASSES = range(6, 16)


@dataclass(frozen=True)
class Variable:
    """A numeric array: where its element is, and what the element declares."""

    position: int
    n_bytes: int
    is_compressed: bool
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_complex: bool


def list_variables(path: Path, limit: Limit) -> dict[str, Variable]:
    """Return the numeric arrays of a file by name."""
    variables = {}
    with path.open("rb") as file:
        order = _byte_order(path, file.read(128))
        position = 128
        while position < limit.held:
            file.seek(position)
            with _damage_reported(path):
                kind, n_bytes = _Stream(file, 8, order).tag()
                # Each element must lie within the file.
                if position + 8 + n_bytes > limit.held:
                    raise _DamageError("an element is cut short")
                if kind not in (_MATRIX, _COMPRESSED):
                    raise _DamageError(f"an element has the type {kind}")
                element = _Element(position + 8, n_bytes, kind == _COMPRESSED)
                named = _read_declaration(file, element, order, limit)
            if named is not None:
                name, variable, _ = named
                variables[name] = variable
            position += 8 + n_bytes
    return variables


def load_variable(path: Path, variable: Variable, limit: Limit) -> Array:
    """Return the values of an array, its axes in MATLAB's order."""
    with path.open("rb") as file:
        order = _byte_order(path, file.read(128))
        element = _Element(variable.position, variable.n_bytes, variable.is_compressed)
        with _damage_reported(path):
            named = _read_declaration(file, element, order, limit)
            if named is None or named[1] != variable:
                raise _DamageError("has changed while it was read")
            stream = named[2]
            data = stream.take(product(variable.shape) * variable.dtype.itemsize)
            stream.check_sum()
    values = np.frombuffer(data, variable.dtype).reshape(variable.shape, order="F")
    # In the byte order of this machine, which everything after this expects.
    return values.astype(variable.dtype.newbyteorder("="), copy=False)


class _DamageError(Exception):
    """What is wrong with a file."""


@contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    try:
        yield
    except (_DamageError, zlib.error) as error:
        raise SceneError(path, f"cannot be read as a MATLAB file: {error}") from error


def _byte_order(path: Path, header: bytes) -> str:
    marks = {b"IM": "<", b"MI": ">"}
    if header[126:128] not in marks:
        raise SceneError(path, "cannot be read as a MATLAB file: it has no header of version 5")
    return marks[header[126:128]]


@dataclass(frozen=True)
class _Element:
    position: int
    n_bytes: int
    is_compressed: bool


class _Stream:
    """The bytes of an element, unpacked as far as they are asked for.

    Parameters
    ----------
    file : file
        At the first byte of the element.
    n_bytes : int
        Bytes of the element in the file.
    order : {"<", ">"}
        The byte order of the file.
    is_compressed : bool
        Whether they are packed by zlib.
    """

    def __init__(
        self, file: IO[bytes], n_bytes: int, order: str, is_compressed: bool = False
    ) -> None:
        self.order = order
        self._file = file
        self._left_in_file = n_bytes
        self._unpacker: Any = None
        if is_compressed:
            self._unpacker = zlib.decompressobj()

    def take(self, n_bytes: int) -> bytearray:
        """Return the next bytes; the caller has checked that they may be allocated."""
        taken = bytearray(n_bytes)
        filled = 0
        while filled < n_bytes:
            part = self._next_part(n_bytes - filled)
            if not part:
                raise _DamageError("an array is cut short")
            taken[filled : filled + len(part)] = part
            filled += len(part)
        return taken

    def check_sum(self) -> None:
        """Refuse packed bytes that do not have the checksum at their end."""
        if self._unpacker is None:
            return
        # At most the padding is left. zlib compares the checksum once it is at the end.
        self._next_part(8)
        self._next_part(1)
        if not self._unpacker.eof:
            raise _DamageError("the end of an array is damaged")

    def _next_part(self, most: int) -> bytes:
        """Return at most ``most`` bytes, none at the end of the element."""
        if self._unpacker is None:
            return self._read(most)
        part = b""
        while not part and not self._unpacker.eof:
            packed = self._unpacker.unconsumed_tail or self._read(2**16)
            # Without this limit a few packed bytes could become a thousand times as many.
            part = self._unpacker.decompress(packed, min(most, 2**24))
            if not packed and not part:
                break
        return part

    def _read(self, most: int) -> bytes:
        data = self._file.read(min(most, self._left_in_file, 2**24))
        self._left_in_file -= len(data)
        return data

    def tag(self) -> tuple[int, int]:
        """Return type and size of an element at the top level."""
        kind, n_bytes = np.frombuffer(self.take(8), f"{self.order}u4").tolist()
        return kind, n_bytes

    def small_element(self, most: int) -> tuple[int, bytearray]:
        """Return type and bytes of an element inside a matrix, of at most ``most`` bytes."""
        kind, n_bytes, is_packed = self.inner_tag()
        if n_bytes > most:
            raise _DamageError(f"a description of an array takes {n_bytes} bytes")
        data = self.take(n_bytes)
        self.skip_padding(n_bytes, is_packed)
        return kind, data

    def inner_tag(self) -> tuple[int, int, bool]:
        """Return type and size of an element inside a matrix, and whether it is a packed one.

        Packed elements have their size in the upper half of the type, and up to 4 bytes of data.
        """
        first = int(np.frombuffer(self.take(4), f"{self.order}u4")[0])
        packed_bytes = first >> 16
        if packed_bytes > 4:
            raise _DamageError(f"a packed element takes {packed_bytes} bytes")
        if packed_bytes:
            return first & 0xFFFF, packed_bytes, True
        return first, int(np.frombuffer(self.take(4), f"{self.order}u4")[0]), False

    def skip_padding(self, n_bytes: int, is_packed: bool) -> None:
        """Skip the bytes that fill up an element to 8 bytes, or a packed one to 4."""
        unit = 8
        if is_packed:
            unit = 4
        self.take(-n_bytes % unit)


def _read_declaration(
    file: IO[bytes], element: _Element, order: str, limit: Limit
) -> tuple[str, Variable, _Stream] | None:
    """Return name and declaration of the array in an element, and the stream at its values.

    None if it holds no numbers, or has no name as MATLAB's own workspace of objects.
    """
    file.seek(element.position)
    stream = _Stream(file, element.n_bytes, order, element.is_compressed)
    if element.is_compressed:
        kind, _ = stream.tag()
        if kind != _MATRIX:
            raise _DamageError(f"a compressed element has the type {kind}")
    flags_kind, flags = stream.small_element(8)
    if flags_kind != 6 or len(flags) != 8:
        raise _DamageError("the flags of an array are damaged")
    flag_bits = int(np.frombuffer(flags, f"{order}u4")[0])
    if flag_bits & 0xFF not in _NUMERIC_CLASSES:
        return None
    # NumPy has at most 64 axes, and older versions 32.
    sizes_kind, sizes = stream.small_element(4 * 32)
    if sizes_kind != 5 or len(sizes) % 4 or len(sizes) < 8:
        raise _DamageError("the sizes of an array are damaged")
    shape = tuple(np.frombuffer(sizes, f"{order}i4").tolist())
    if min(shape) < 0:
        raise _DamageError(f"an array has the sizes {shape}")
    # MATLAB's own names have at most 63 characters.
    _, name = stream.small_element(4096)
    dtype = _read_stored_type(stream, shape, limit)
    is_complex = bool(flag_bits & 0x800)
    variable = Variable(
        element.position, element.n_bytes, element.is_compressed, shape, dtype, is_complex
    )
    if not name:
        return None
    return name.decode("latin-1"), variable, stream


def _read_stored_type(stream: _Stream, shape: tuple[int, ...], limit: Limit) -> np.dtype[Any]:
    """Return the dtype of the values that follow in the stream."""
    kind, n_bytes, _ = stream.inner_tag()
    if kind not in _DTYPES:
        raise _DamageError(f"the values of an array have the type {kind}")
    dtype: np.dtype[Any] = np.dtype(f"{stream.order}{_DTYPES[kind]}")
    declared = product(shape) * dtype.itemsize
    limit.check(declared, "an array")
    if declared != n_bytes:
        raise _DamageError(f"{n_bytes} bytes are stored for an array of {declared}")
    return dtype
