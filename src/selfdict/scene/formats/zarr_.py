"""zarr: a folder of chunks, through xarray; versions 2 and 3 are read, version 2 is written."""

import json
from functools import partial
from pathlib import Path

import xarray as xr
import zarr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.cf import OPEN, dataset_from_scene, scene_from_dataset

NAME = "zarr"


def read(path: Path, *, variable: str | None = None) -> xr.DataArray:
    """Read a variable with three dims."""
    if not path.is_dir():
        raise SceneError(path, "a zarr store is a folder, this is a file")
    held = _check_files(path)
    # Told explicitly: xarray warns if it has to try and finds none.
    consolidated = (path / ".zmetadata").is_file()
    reopen = partial(xr.open_dataset, path, engine="zarr", consolidated=consolidated, **OPEN)
    with reopen() as dataset:
        return scene_from_dataset(path, dataset, reopen, held, variable)


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
        # Reading a pickle runs whatever its author wrote.
        if file.name in (".zmetadata", ".zarray", "zarr.json"):
            metadata = json.dumps(json.loads(file.read_text(encoding="utf-8")))
            if '"pickle"' in metadata:
                raise SceneError(
                    path, f"{file.relative_to(path)} asks for pickled values, which are not read"
                )
    return held
