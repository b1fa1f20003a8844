"""Datasets that follow the CF conventions, as NetCDF and zarr hold them."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import in_row_chunks
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import LAZY, check_declared_size, lazy_cube
from selfdict.scene.georef import crs_of, transform_of
from selfdict.scene.model import DIMS, as_scene, build_scene, to_nanometres, unit_of

OPEN: dict[str, Any] = {
    "mask_and_scale": False,
    "decode_times": False,
    "decode_coords": "all",
    "cache": False,
}
_COLUMNS = {
    "wavelength": ("wavelength", "wavelengths", "wl", "center_wavelength", "central_wavelength"),
    "fwhm": ("fwhm", "bandwidth"),
    "good_band": ("good_band", "good_bands", "good_wavelengths", "bbl"),
    "band_name": ("band_name", "band_names"),
}


def scene_from_dataset(
    path: Path,
    dataset: xr.Dataset,
    reopen: Callable[[], xr.Dataset],
    held: int,
    variable: str | None,
) -> xr.DataArray:
    """Return the variable with three dims as a scene that reads its rows when asked.

    Parameters
    ----------
    path : Path
        For messages.
    dataset : xarray.Dataset
        Opened with the options ``OPEN``.
    reopen : callable
        Opens the dataset again, to read rows.
    held : int
        Bytes on disk.
    variable : str, optional
        Which variable is the cube; needed if several have three dims.
    """
    name = _choose(path, dataset, variable)
    data = dataset[name]
    if data.dtype.kind not in "biuf":
        raise SceneError(path, f"{name} holds {data.dtype}, not real numbers")
    check_declared_size(path, data.size * data.dtype.itemsize, held, LAZY)
    named = as_scene(data)  # dims by their usual names; nothing is read
    original = _original_dims(data)

    def load(bands: slice, rows: slice, columns: slice) -> Array:
        with reopen() as again:
            wanted = {original["band"]: bands, original["y"]: rows, original["x"]: columns}
            return again[name].isel(wanted).transpose(*wanted).values

    chunks = data.encoding.get("preferred_chunks", {})
    packed = (chunks.get(original["y"], 1), chunks.get(original["x"], 1))
    values = lazy_cube(path, named.shape, data.dtype, load, packed)  # type: ignore[arg-type]  # 3 sizes
    columns = _columns(dataset, original["band"])
    if "wavelength" not in columns and "wavelength" in named.coords:
        columns["wavelength"] = named["wavelength"].values
    scene = build_scene(
        values, **columns, crs=_crs(data, original), transform=transform_of(named), name=name
    )
    for key in ("_FillValue", "scale_factor", "add_offset"):
        if key in data.attrs:
            scene.attrs[key] = np.asarray(data.attrs[key]).item()
    if "_FillValue" not in scene.attrs and "missing_value" in data.attrs:
        scene.attrs["_FillValue"] = np.asarray(data.attrs["missing_value"]).item()
    for key in ("valid", "lat", "lon"):
        if key in named.coords and set(named[key].dims) == {"y", "x"}:
            scene = scene.assign_coords({key: (("y", "x"), named[key].transpose("y", "x").values)})
    return scene


def dataset_from_scene(scene: xr.DataArray) -> tuple[xr.Dataset, dict[Hashable, dict[str, Any]]]:
    """Return the scene as a dataset to be written by groups of rows, and the encoding that adds nothing to it."""
    name = scene.name or "reflectance"
    data = in_row_chunks(scene).rename(name).drop_encoding()
    transform = transform_of(scene)
    if transform is not None:  # the one stored may be that of a larger scene
        data = data.rio.write_transform(transform)
    if "spatial_ref" in data.coords:
        data.encoding.clear()
        data.attrs["grid_mapping"] = "spatial_ref"
    dataset = data.to_dataset()
    dataset.attrs["Conventions"] = "CF-1.11"
    # Floats get a _FillValue of NaN unless told otherwise.
    encoding = {
        key: {"_FillValue": None}
        for key, var in dataset.variables.items()
        if "_FillValue" not in var.attrs
    }
    return dataset, {
        key: value for key, value in encoding.items() if dataset[key].dtype.kind == "f"
    }


def _choose(path: Path, dataset: xr.Dataset, variable: str | None) -> str:
    cubes = [str(name) for name, data in dataset.data_vars.items() if data.ndim == 3]
    if variable is not None:
        if variable not in dataset.data_vars:
            raise SceneError(
                path,
                f"has no variable {variable!r}; with three dims there are: {', '.join(cubes) or 'none'}",
            )
        return variable
    if len(cubes) != 1:
        raise SceneError(
            path,
            "expected one variable with three dims, name one by variable=… (--variable); "
            f"there are: {', '.join(cubes) or 'none'}",
        )
    return cubes[0]


def _original_dims(data: xr.DataArray) -> dict[str, Hashable]:
    """Return which of the dims of ``data`` is band, y and x, told apart by their sizes in a small array."""
    sizes = as_scene(xr.DataArray(np.empty((1, 2, 3)), dims=data.dims)).shape
    return {dim: data.dims[size - 1] for dim, size in zip(DIMS, sizes)}


def _columns(dataset: xr.Dataset, band: Hashable) -> dict[str, Any]:
    """Return what the dataset says about its bands, by the names a scene uses."""
    found = {}
    for key, names in _COLUMNS.items():
        for name in names:
            if key not in found and name in dataset.variables and dataset[name].dims == (band,):
                found[key] = dataset[name]
    columns: dict[str, Any] = {key: data.values for key, data in found.items()}
    if "wavelength" in found:
        unit = unit_of(columns["wavelength"], found["wavelength"].attrs.get("units"))
        for key in ("wavelength", "fwhm"):
            if key in found:
                columns[key] = to_nanometres(columns[key], found[key].attrs.get("units", unit))
    if "good_band" in found:
        columns["good_band"] = columns["good_band"] != 0
    return columns


def _crs(data: xr.DataArray, original: dict[str, Hashable]) -> Any:
    crs = crs_of(data)
    if crs is None and str(original["y"]).lower().startswith("lat"):
        return "EPSG:4326"
    return crs
