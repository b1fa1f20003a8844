"""zarr: a folder of chunks, through xarray; versions 2 and 3 are read, version 2 is written."""

import json
from functools import partial
from pathlib import Path

import xarray as xr

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.cf import OPEN, dataset_from_scene, scene_from_dataset

NAME = "zarr"


def read(path: Path, *, variable: str | None = None) -> xr.DataArray:
    """Read a variable with three dims."""
    if not path.is_dir():
        raise SceneError(path, "a zarr store is a folder, this is a file")
    held = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    _refuse_pickles(path)
    consolidated = (path / ".zmetadata").is_file()
    reopen = partial(xr.open_dataset, path, engine="zarr", consolidated=consolidated, **OPEN)
    with reopen() as dataset:
        return scene_from_dataset(path, dataset, reopen, held, variable)


def write(scene: xr.DataArray, path: Path) -> None:
    """Write version 2, in which text (the names of bands) has a settled form."""
    dataset, encoding = dataset_from_scene(scene)
    dataset.to_zarr(path, mode="w-", zarr_format=2, consolidated=True, encoding=encoding)


def _refuse_pickles(path: Path) -> None:
    """Refuse a store with pickled values: to read them would run whatever its author wrote."""
    for name in (".zmetadata", ".zarray", "zarr.json"):
        for file in path.rglob(name):
            codecs = json.dumps(json.loads(file.read_text(encoding="utf-8")))
            if '"pickle"' in codecs:
                raise SceneError(path, f"{file.relative_to(path)} asks for pickled values, which are not read")
