"""Datasets that follow the CF conventions, as NetCDF and zarr hold them."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import in_row_chunks
from selfdict.scene.dims import DIMS
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import lazy_cube
from selfdict.scene.formats.hdf5_values import ignored_notes, missing_notes
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.packed import unpacked
from selfdict.scene.georef import crs_of, spacing_notes, transform_of
from selfdict.scene.model import as_scene, build_scene
from selfdict.scene.notes import add_notes, notes_of
from selfdict.scene.units import to_nanometres, unit_note, unit_of

# How datasets are opened. Stored values stay as they are, so that a round trip changes no bit.
OPEN: dict[str, Any] = {
    "mask_and_scale": False,
    "decode_times": False,
    "decode_coords": "all",  # the grid mapping as a coordinate, as rioxarray looks for it
    "cache": False,
}
# What a scene knows about its bands, and the names of the variables that may hold it.
_BAND_VARIABLES = {
    "wavelength": ("wavelength", "wavelengths", "wl", "center_wavelength", "central_wavelength"),
    "fwhm": ("fwhm", "bandwidth"),
    "good_band": ("good_band", "good_bands", "good_wavelengths", "bbl"),
    "band_name": ("band_name", "band_names"),
    # No convention has a scale per band: these are the names that this package writes.
    "scale_factor": ("band_gain",),
    "add_offset": ("band_offset",),
}


def scene_from_dataset(
    limit: Limit,
    dataset: xr.Dataset,
    reopen: Callable[[], xr.Dataset],
    variable: str | None,
) -> xr.DataArray:
    """Return the variable with three dims as a scene whose values are read on use.

    Parameters
    ----------
    limit : Limit
        Of the file. The blocks of its arrays, and those that are no cubes, have been checked.
    dataset : xarray.Dataset
        Opened with the options ``OPEN``.
    reopen : callable
        Opens the dataset again, to read rows.
    variable : str, optional
        Which variable is the cube; needed if several have three dims.
    """
    path = limit.path
    name = _find_cube(path, dataset, variable)
    dataset = unpacked(path, dataset, name)
    data = dataset[name]
    if data.dtype.kind not in "biuf":
        raise SceneError(path, f"{name} holds {data.dtype}, not real numbers")
    # Dims and attributes by the names of a scene; nothing is read.
    named = as_scene(data)
    dims = _file_dims(data)
    band_data, notes = _band_data(dataset, dims["band"])
    if "wavelength" not in band_data and "wavelength" in named.coords:
        band_data["wavelength"] = named["wavelength"].values
        notes += _unit_notes(data[dims["band"]])
    for key in ("scale_factor", "add_offset"):
        if key in named.attrs:
            if key in band_data:
                raise SceneError(path, f"has a {key} for all bands and another for each of them")
            band_data[key] = np.asarray(named.attrs[key]).item()
    scene = build_scene(
        _lazy_values(limit, data, reopen, dims),
        **band_data,
        crs=_crs(data, dims),
        transform=transform_of(named),
        name=name,
    )
    if "_FillValue" in named.attrs:
        scene.attrs["_FillValue"] = np.asarray(named.attrs["_FillValue"]).item()
    # as_scene ignores one that the dtype cannot hold. No pixel equals it, but the file declares it.
    if "_FillValue" not in scene.attrs and "missing_value" in data.attrs:
        scene.attrs["_FillValue"] = np.asarray(data.attrs["missing_value"]).item()
    for key in ("valid", "lat", "lon"):
        if key in named.coords and set(named[key].dims) == {"y", "x"}:
            scene = scene.assign_coords({key: (("y", "x"), named[key].transpose("y", "x").values)})
    missing = missing_notes(scene.attrs.get("_FillValue"), data.attrs.get("missing_value"))
    notes = [*ignored_notes(data.attrs), *missing, *spacing_notes(named), *notes_of(named), *notes]
    return add_notes(scene, *notes)


def _lazy_values(
    limit: Limit, data: xr.DataArray, reopen: Callable[[], xr.Dataset], dims: dict[str, Hashable]
) -> Any:
    """Return the values of a variable as (band, y, x), read on use."""
    name = data.name

    # It is pickled for the workers of a cluster: it must not refer to data, which is an open file.
    def load(bands: slice, rows: slice, columns: slice) -> Array:
        with reopen() as dataset:
            wanted = {dims["band"]: bands, dims["y"]: rows, dims["x"]: columns}
            return dataset[name].isel(wanted).transpose(*wanted).values

    shape = (data.sizes[dims["band"]], data.sizes[dims["y"]], data.sizes[dims["x"]])
    chunks = data.encoding.get("preferred_chunks", {})
    chunk_shape = (chunks.get(dims["y"], 1), chunks.get(dims["x"], 1))
    return lazy_cube(limit, shape, data.dtype, load, chunk_shape)


def dataset_from_scene(scene: xr.DataArray) -> tuple[xr.Dataset, dict[Hashable, dict[str, Any]]]:
    """Return the scene as a dataset in chunks of rows, and the encoding to write it with.

    The encoding keeps xarray from adding attributes that the scene has not.
    """
    name = scene.name or "reflectance"
    data = in_row_chunks(scene).rename(name).drop_encoding()
    transform = transform_of(scene)
    if transform is not None:
        # The stored one may be that of a larger scene, from which this was selected.
        data = data.rio.write_transform(transform)
    if "spatial_ref" in data.coords:
        # rioxarray puts the name into the encoding, and xarray refuses to write it from both.
        data.encoding.clear()
        data.attrs["grid_mapping"] = "spatial_ref"
    dataset = data.to_dataset()
    dataset.attrs["Conventions"] = "CF-1.11"
    # By default xarray gives floating variables a _FillValue of NaN.
    encoding: dict[Hashable, dict[str, Any]] = {}
    for key, stored in dataset.variables.items():
        if stored.dtype.kind == "f" and "_FillValue" not in stored.attrs:
            encoding[key] = {"_FillValue": None}
    return dataset, encoding


def _find_cube(path: Path, dataset: xr.Dataset, variable: str | None) -> str:
    """Return the name of the variable that is the cube."""
    cubes = [str(name) for name, data in dataset.data_vars.items() if data.ndim == 3]
    listed = ", ".join(cubes) or "none"
    if variable is not None:
        if variable not in dataset.data_vars:
            raise SceneError(
                path, f"has no variable {variable!r}; with three dims there are: {listed}"
            )
        return variable
    if len(cubes) != 1:
        raise SceneError(
            path,
            "expected one variable with three dims, name one by variable=… (--variable); "
            f"there are: {listed}",
        )
    return cubes[0]


def _file_dims(data: xr.DataArray) -> dict[str, Hashable]:
    """Return the names that band, y and x have in ``data``."""
    # as_scene knows the names but does not tell them: the sizes of a small array do.
    sizes = as_scene(xr.DataArray(np.empty((1, 2, 3)), dims=data.dims)).shape
    return {dim: data.dims[size - 1] for dim, size in zip(DIMS, sizes)}


def _unit_notes(wavelength: xr.DataArray) -> list[str]:
    """Return a note if the unit of wavelengths is guessed, or is none of length."""
    return unit_note(wavelength.values, wavelength.attrs.get("units"))


def _band_data(dataset: xr.Dataset, band: Hashable) -> tuple[dict[str, Any], list[str]]:
    """Return what the dataset says about its bands, by the names of a scene, and notes."""
    found = {}
    for key, names in _BAND_VARIABLES.items():
        for name in names:
            if key not in found and name in dataset.variables and dataset[name].dims == (band,):
                found[key] = dataset[name]
    band_data: dict[str, Any] = {key: data.values for key, data in found.items()}
    notes: list[str] = []
    if "wavelength" in found:
        # Widths without a unit have that of the wavelengths; by their size it cannot be guessed.
        notes += _unit_notes(found["wavelength"])
        unit = unit_of(band_data["wavelength"], found["wavelength"].attrs.get("units"))
        for key in ("wavelength", "fwhm"):
            if key in found:
                band_data[key] = to_nanometres(band_data[key], found[key].attrs.get("units", unit))
    if "good_band" in found:
        band_data["good_band"] = band_data["good_band"] != 0
    return band_data, notes


def _crs(data: xr.DataArray, dims: dict[str, Hashable]) -> Any:
    crs = crs_of(data)
    # Files with the dims lat and lon often declare no CRS.
    if crs is None and str(dims["y"]).lower().startswith("lat"):
        return "EPSG:4326"
    return crs
