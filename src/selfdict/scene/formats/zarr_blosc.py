"""zarr: what is packed by Blosc is examined before it is read.

Blosc trusts the two sizes at the head of what it unpacks. One that is too large makes it read
beyond the end of the data, which ends the process, or allocate as much.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.limits import Limit, product

# Chunks are files such as 0.0.0, 0/0/0 and c/0/0/0. Other files in the folder are not read.
_CHUNK_NAME = re.compile(r"(c[./])?\d+([./]\d+)*")
# Version, flags and the size of a value; the sizes of the values, of a block, of the packed data.
_HEAD = struct.Struct("<4x3I")


def check_blosc(limit: Limit, folder: Path, metadata: dict[str, Any]) -> None:
    """Refuse an array with a chunk that makes Blosc read or allocate what is not there.

    Parameters
    ----------
    limit : Limit
        What the store may make its reader allocate.
    folder : pathlib.Path
        The folder of the array.
    metadata : dict
        Those of the array, of version 2 or 3.
    """
    codecs = _codecs(metadata)
    shards = next((codec for codec in codecs if _name(codec) == "sharding_indexed"), None)
    if shards is not None:
        codecs = shards["configuration"]["codecs"]
    # A checksum comes after the packed data and leaves them as they are.
    names = [_name(codec) for codec in codecs if _name(codec) != "crc32c"]
    if "sharding_indexed" in names:
        raise SceneError(limit.path, f"{folder.name} has shards inside shards")
    if "blosc" in names[:-1]:
        raise SceneError(limit.path, f"{folder.name} is packed by Blosc and then by {names[-1]}")
    if "blosc" not in names:
        return
    index = None
    if shards is not None:
        index = _ShardIndex.of(limit, metadata, shards["configuration"])
    for file in folder.rglob("*"):
        if file.is_file() and _CHUNK_NAME.fullmatch(file.relative_to(folder).as_posix()):
            _check_file(limit, file, index)


def _codecs(metadata: dict[str, Any]) -> list[Any]:
    """Return the codecs of an array in the order in which they pack."""
    if metadata["zarr_format"] == 3:
        return list(metadata["codecs"])
    return [*(metadata["filters"] or ()), *filter(None, [metadata["compressor"]])]


def _name(codec: Any) -> str:
    """Return the name of a codec, which is a dict; an object in version 2 of zarr 3.0."""
    if not isinstance(codec, dict):
        return str(codec.codec_id)
    return str(codec.get("name", codec.get("id"))).removeprefix("numcodecs.")


@dataclass(frozen=True)
class _ShardIndex:
    """The index of each shard, which is a file of many chunks.

    Attributes
    ----------
    n_chunks : int
        Chunks in a shard. Each has a place and a size in the index, of 8 bytes.
    n_bytes : int
        Bytes of the index, with its checksum.
    is_at_end : bool
        Whether it comes after the chunks.
    """

    n_chunks: int
    n_bytes: int
    is_at_end: bool

    @classmethod
    def of(cls, limit: Limit, metadata: dict[str, Any], settings: dict[str, Any]) -> "_ShardIndex":
        """Return what the metadata say of it."""
        codecs = [_name(codec) for codec in settings["index_codecs"]]
        if codecs not in (["bytes"], ["bytes", "crc32c"]):
            raise SceneError(limit.path, "the index of its shards is packed")
        shard_shape = metadata["chunk_grid"]["configuration"]["chunk_shape"]
        n_chunks = product(tuple(shard_shape)) // max(product(tuple(settings["chunk_shape"])), 1)
        n_bytes = 16 * n_chunks + 4 * codecs.count("crc32c")
        return cls(n_chunks, n_bytes, settings.get("index_location", "end") == "end")

    def places(self, opened: BinaryIO, n_held: int) -> Iterator[tuple[int, int]]:
        """Yield the place and the size of each chunk in a shard of ``n_held`` bytes."""
        missing = 2**64 - 1
        if self.is_at_end:
            opened.seek(n_held - self.n_bytes)
        numbers = struct.unpack(f"<{2 * self.n_chunks}Q", opened.read(16 * self.n_chunks))
        for start, size in zip(numbers[::2], numbers[1::2], strict=True):
            if start != missing:
                # zarr reads what there is of a chunk that is said to end beyond its file.
                yield min(start, n_held), min(size, max(n_held - start, 0))


def _check_file(limit: Limit, file: Path, index: _ShardIndex | None) -> None:
    """Refuse a chunk, or a chunk of a shard, whose head tells false sizes."""
    name = f"the chunk {file.relative_to(limit.path).as_posix()}"
    n_held = file.stat().st_size
    with file.open("rb") as opened:
        places: Any = [(0, n_held)]
        if index is not None:
            if n_held < index.n_bytes:
                raise SceneError(limit.path, f"{name} is too short for its index")
            places = index.places(opened, n_held)
        for start, size in places:
            opened.seek(start)
            head = opened.read(min(_HEAD.size, size))
            if len(head) < _HEAD.size:
                raise SceneError(limit.path, f"{name} is too short for data of Blosc")
            n_values, _, n_packed = _HEAD.unpack(head)
            if n_packed > size:
                raise SceneError(limit.path, f"{name} declares {n_packed} bytes but holds {size}")
            limit.check(n_values, name)
