"""EMIT L2A reflectance: a NetCDF with groups, in sensor geometry, with a look-up table (GLT) to the map."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from affine import Affine

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import LAZY, check_declared_size, lazy_cube
from selfdict.scene.formats.hdf5 import plain_dataset
from selfdict.scene.model import build_scene, to_nanometres

_CUBE = "reflectance"
_BANDS = "sensor_band_parameters"
_TILE = (
    128,
    128,
)  # pixels of the map gathered at a time: square, since the sensor's lines run aslant
_CACHE = 256 * 2**20  # bytes of unpacked chunks kept: neighbouring tiles of the map share them


def is_emit(path: Path) -> bool:
    """Whether this HDF5 file has the groups of an EMIT product."""
    with h5py.File(path, "r") as file:
        return _CUBE in file and _BANDS in file and "location" in file


def read(path: Path, *, ortho: bool = True) -> xr.DataArray:
    """Read the reflectance on the map grid (``ortho``), or as the sensor saw it, with ``lat`` and ``lon``.

    On the map each pixel is the sensor's nearest one; pixels the sensor did not see are no-data.
    """
    with h5py.File(path, "r") as file:
        cube = _dataset(path, file, _CUBE)
        if cube.ndim != 3 or cube.dtype.kind not in "iuf":
            raise SceneError(
                path, f"reflectance must have 3 dims of real numbers, got {cube.dtype} {cube.shape}"
            )
        check_declared_size(path, cube.size * cube.dtype.itemsize, cube.id.get_storage_size(), LAZY)
        wavelengths = _dataset(path, file, f"{_BANDS}/wavelengths")
        units = _text(wavelengths.attrs.get("units", "nm"))
        about: dict[str, Any] = {"wavelength": to_nanometres(wavelengths[()], units)}
        if f"{_BANDS}/fwhm" in file:
            about["fwhm"] = to_nanometres(_dataset(path, file, f"{_BANDS}/fwhm")[()], units)
        if f"{_BANDS}/good_wavelengths" in file:
            about["good_band"] = _dataset(path, file, f"{_BANDS}/good_wavelengths")[()] != 0
        fill = np.asarray(cube.attrs.get("_FillValue", cube.fillvalue)).ravel()[0].item()
        if ortho:
            return _on_map(path, file, cube, fill, about)
        n_rows, n_columns, n_bands = cube.shape
        packed = cube.chunks[:2] if cube.chunks else (1, 1)
        values = lazy_cube(path, (n_bands, n_rows, n_columns), cube.dtype, _Swath(path), packed)
        scene = build_scene(values, nodata=fill, **about)
        for key in ("lat", "lon"):
            if f"location/{key}" in file:
                scene = scene.assign_coords(
                    {key: (("y", "x"), _dataset(path, file, f"location/{key}")[()])}
                )
        return scene


def _on_map(path: Path, file: Any, cube: Any, fill: float, about: dict[str, Any]) -> xr.DataArray:
    glt = np.stack([_dataset(path, file, f"location/glt_{axis}")[()] for axis in "yx"]).astype(
        np.int64
    )
    glt = (
        np.abs(glt) - 1
    )  # counted from 1, negative where a gap was filled from a neighbour, 0: not seen
    if glt.ndim != 3 or (glt >= np.reshape(cube.shape[:2], (2, 1, 1))).any():
        raise SceneError(
            path,
            f"the GLT points outside the {cube.shape[0]} × {cube.shape[1]} pixels of the sensor",
        )
    transform = file.attrs.get("geotransform")
    if transform is None or np.size(transform) != 6:
        raise SceneError(path, "has a GLT but no geotransform of 6 numbers")
    shape = (cube.shape[2], *glt.shape[1:])
    return build_scene(
        lazy_cube(path, shape, cube.dtype, _Gather(path, glt, fill, cube.dtype), _TILE),
        crs=_text(file.attrs.get("spatial_ref", "EPSG:4326")),
        transform=Affine.from_gdal(*(float(value) for value in transform)),
        nodata=fill,
        **about,
    )


class _Swath:
    """Reads a window in sensor geometry; the file stays open, for its cache, but does not travel to others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cube: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "cube": None}

    def __call__(self, bands: slice, rows: slice, columns: slice) -> Array:
        if self.cube is None:
            self.cube = h5py.File(self.path, "r", rdcc_nbytes=_CACHE, rdcc_nslots=10_007)[_CUBE]
        return np.asarray(self.cube[rows, columns, bands]).transpose(2, 0, 1)


class _Gather:
    """Reads a window of the map: the part of the swath that its look-up table points to, then the pixels."""

    def __init__(self, path: Path, glt: Array, fill: float, dtype: Any) -> None:
        self.read, self.glt, self.fill, self.dtype = _Swath(path), glt, fill, dtype

    def __call__(self, bands: slice, rows: slice, columns: slice) -> Array:
        row, column = self.glt[:, rows, columns]
        seen = (row >= 0) & (column >= 0)
        values = np.full((bands.stop - bands.start, *seen.shape), self.fill, self.dtype)
        if seen.any():
            row, column = row[seen], column[seen]
            top, left = row.min(), column.min()
            part = self.read(bands, slice(top, row.max() + 1), slice(left, column.max() + 1))
            values[:, seen] = part[:, row - top, column - left]
        return values


def _dataset(path: Path, file: Any, name: str) -> Any:
    dataset = plain_dataset(file, name)
    if dataset is None:
        raise SceneError(path, f"has no dataset {name} of its own")
    return dataset


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
