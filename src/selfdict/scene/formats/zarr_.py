"""zarr: a folder of chunks, through xarray; versions 2 and 3 are read, version 2 is written."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr
import zarr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.cf import OPEN, dataset_from_scene, scene_from_dataset
from selfdict.scene.formats.limits import Limit, check_header, product
from selfdict.scene.formats.zarr_blosc import check_blosc

NAME = "zarr"
# Reading a pickle runs whatever its author wrote. The other two unpack a kilobyte to gigabytes,
# and tell only afterwards.
_REFUSED_CODECS = re.compile(r'"(numcodecs\.)?(pickle|bz2|lzma)"')

# zarr takes 0.3 milliseconds for each chunk, also for one without a file, which holds fill values.
_MANY_CHUNKS = 10_000
_MAX_CHUNKS_PER_FILE = 100


def read(path: Path, *, variable: str | None = None, max_bytes: int | None = None) -> xr.DataArray:
    """Read a variable with three dims."""
    if not path.is_dir():
        raise SceneError(path, "a zarr store is a folder, this is a file")
    limit = Limit(path, _check_files(path), max_bytes)
    # Told explicitly: xarray warns if it has to try and finds none.
    consolidated = (path / ".zmetadata").is_file()
    _check_arrays(limit, consolidated)
    reopen = partial(xr.open_dataset, path, engine="zarr", consolidated=consolidated, **OPEN)
    with reopen() as dataset:
        return scene_from_dataset(limit, dataset, reopen, variable)


def write(scene: xr.DataArray, path: Path) -> None:
    """Write version 2: version 3 has no final specification for text (the names of bands)."""
    dataset, encoding = dataset_from_scene(scene)
    dataset.to_zarr(path, mode="w-", zarr_format=2, consolidated=True, encoding=encoding)


def create(scene: xr.DataArray, path: Path) -> None:
    """Write a scene in dask chunks without its values, which :func:`write_block` writes."""
    dataset, encoding = dataset_from_scene(scene)
    dataset.to_zarr(
        path, mode="w-", zarr_format=2, consolidated=True, encoding=encoding, compute=False
    )


def write_block(path: Path, name: str, rows: slice, columns: slice, values: Array) -> None:
    """Write values (bands, rows, columns) into a store.

    Two calls at a time must not write to the same chunk.
    """
    zarr.open_array(path, path=name, mode="r+")[:, rows, columns] = values


def _check_files(path: Path) -> int:
    """Return the number of bytes in the store; refuse links and pickles."""
    held = 0
    for file in path.rglob("*"):
        # A link may lead out of the store, to any file that its author names.
        if file.is_symlink():
            raise SceneError(path, f"{file.relative_to(path)} is a link to another place")
        held += file.stat().st_size
        if file.name in (".zmetadata", ".zarray", "zarr.json"):
            check_header(path, file.stat().st_size, f"the metadata {file.name}")
            metadata = json.dumps(json.loads(file.read_text(encoding="utf-8")))
            refused = _REFUSED_CODECS.search(metadata)
            if refused:
                raise SceneError(
                    path,
                    f"{file.relative_to(path)} asks for the codec {refused[2]}, which is not read",
                )
    return held


def _check_arrays(limit: Limit, consolidated: bool) -> None:
    """Refuse arrays that make zarr allocate, or Blosc read, more than the store can hold."""
    # From the same metadata that xarray uses: those beside an array may say something else.
    group = zarr.open_group(limit.path, mode="r", use_consolidated=consolidated)
    for name, array in group.arrays():
        # A whole chunk is unpacked to read any part of it. A shard is a file of many chunks.
        for chunk_shape in (array.chunks, array.shards):
            if chunk_shape is not None:
                limit.check(product(chunk_shape) * array.dtype.itemsize, f"a chunk of {name}")
        if limit.max_bytes is None:
            _check_chunk_count(limit, array)
        # Cubes are read block by block, everything else is loaded.
        if array.ndim < 3:
            limit.check(product(array.shape) * array.dtype.itemsize, name)
        check_blosc(limit, limit.path / array.path, array.metadata.to_dict())


def _check_chunk_count(limit: Limit, array: Any) -> None:
    """Refuse an array of which almost all chunks are missing: each would be looked for."""
    chunk_shape = array.shards or array.chunks
    counts = [-(-size // max(chunk, 1)) for size, chunk in zip(array.shape, chunk_shape)]
    declared = product(tuple(counts))
    if declared <= _MANY_CHUNKS:
        return
    held = sum(file.is_file() for file in (limit.path / array.path).rglob("*"))
    if declared > _MAX_CHUNKS_PER_FILE * held:
        raise SceneError(
            limit.path,
            f"{array.path} declares {declared} chunks but holds {held} files (max_bytes)",
        )
