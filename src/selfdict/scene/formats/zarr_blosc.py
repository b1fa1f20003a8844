"""zarr: what is packed by Blosc is examined before it is read.

Blosc trusts the two sizes at the head of what it unpacks. One that is too large makes it read
beyond the end of the data, which ends the process, or allocate as much.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.limits import Limit, product

# Chunks are files such as 0.0.0, 0/0/0 and c/0/0/0. Other files in the folder are not read.
_CHUNK_NAME = re.compile(r"(c[./])?\d+([./]\d+)*")
# Version, flags and the size of a value; the sizes of the values, of a block, of the packed data.
_HEAD = struct.Struct("<4x3I")
_NO_CHUNK = 2**64 - 1


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
    for file in folder.rglob("*"):
        if file.is_file() and _CHUNK_NAME.fullmatch(file.relative_to(folder).as_posix()):
            with file.open("rb") as opened:
                for start, size in _places(limit, opened, file, metadata, shards):
                    _check_head(limit, opened, file, start, size)


def _codecs(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the codecs of an array in the order in which they pack."""
    if metadata["zarr_format"] == 3:
        return list(metadata["codecs"])
    return [*(metadata["filters"] or ()), *filter(None, [metadata["compressor"]])]


def _name(codec: dict[str, Any]) -> str:
    return str(codec.get("name", codec.get("id"))).removeprefix("numcodecs.")


def _places(
    limit: Limit,
    opened: BinaryIO,
    file: Path,
    metadata: dict[str, Any],
    shards: dict[str, Any] | None,
) -> Iterator[tuple[int, int]]:
    """Yield where in a file packed chunks are, and how long they are."""
    held = file.stat().st_size
    if shards is None:
        yield 0, held
        return
    settings = shards["configuration"]
    index_codecs = [_name(codec) for codec in settings["index_codecs"]]
    if index_codecs not in (["bytes"], ["bytes", "crc32c"]):
        raise SceneError(limit.path, f"{file.name}: the index of a shard is packed")
    shard_shape = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    n_chunks = product(tuple(shard_shape)) // max(product(tuple(settings["chunk_shape"])), 1)
    n_bytes = 16 * n_chunks + 4 * (len(index_codecs) - 1)
    if n_bytes > held:
        raise SceneError(limit.path, f"{_place(limit, file)} is too short for its index")
    if settings.get("index_location", "end") == "end":
        opened.seek(held - n_bytes)
    index = struct.unpack(f"<{2 * n_chunks}Q", opened.read(16 * n_chunks))
    for start, size in zip(index[::2], index[1::2], strict=True):
        if start != _NO_CHUNK:
            # zarr reads what there is of a chunk that is said to end beyond its file.
            yield start, min(size, max(held - start, 0))


def _check_head(limit: Limit, opened: BinaryIO, file: Path, start: int, size: int) -> None:
    opened.seek(min(start, limit.held))
    head = opened.read(min(_HEAD.size, size))
    if len(head) < _HEAD.size:
        raise SceneError(limit.path, f"{_place(limit, file)} is too short for data of Blosc")
    n_values, _, n_packed = _HEAD.unpack(head)
    if n_packed > size:
        raise SceneError(
            limit.path, f"{_place(limit, file)} declares {n_packed} bytes but holds {size}"
        )
    limit.check(n_values, _place(limit, file))


def _place(limit: Limit, file: Path) -> str:
    return f"the chunk {file.relative_to(limit.path).as_posix()}"
