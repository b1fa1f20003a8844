"""GeoTIFF through rasterio, read lazily block by block."""

import ctypes
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import xarray as xr
from rasterio.enums import Interleaving
from rasterio.errors import NotGeoreferencedWarning, RasterioIOError
from rasterio.windows import Window

from selfdict._validation import Array
from selfdict.scene.blocks import row_blocks
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import fill_masked, lazy_cube, uniform
from selfdict.scene.formats.limits import Limit, product
from selfdict.scene.georef import crs_of, transform_of
from selfdict.scene.mapped import stored_values
from selfdict.scene.model import build_scene, to_nanometres, unit_of

NAME = "GeoTIFF"


def _silence_libtiff() -> None:
    """Keep libtiff from printing errors of reading and writing, which GDAL reports anyway."""
    # Through a module of rasterio, since the library itself may have any name and place.
    library = ctypes.CDLL(rasterio._base.__file__)
    if hasattr(library, "TIFFSetErrorHandler"):
        library.TIFFSetErrorHandler(None)


_silence_libtiff()


def read(path: Path, *, max_bytes: int | None = None) -> xr.DataArray:
    """Read a GeoTIFF; wavelengths come from the tags of its bands, as GDAL writes them."""
    with _open(path) as file:
        if len(set(file.dtypes)) > 1 or np.dtype(file.dtypes[0]).kind not in "iuf":
            raise SceneError(
                path, f"holds {', '.join(sorted(set(file.dtypes)))}; a scene has one real data type"
            )
        shape = (file.count, file.height, file.width)
        dtype = np.dtype(file.dtypes[0])
        # GDAL returns the identity for a file that has no transform.
        transform = file.transform
        if transform.is_identity:
            transform = None
        scene = build_scene(
            _lazy_values(file, Limit(path, path.stat().st_size, max_bytes), shape, dtype),
            **_band_data(file),
            crs=file.crs,
            transform=transform,
            nodata=_nodata(file.nodatavals[0], dtype),
        )
        scale = uniform(path, file.scales, "scale")
        offset = uniform(path, file.offsets, "offset")
    if scale != 1:
        scene.attrs["scale_factor"] = scale
    if offset != 0:
        scene.attrs["add_offset"] = offset
    return scene


def _lazy_values(file: Any, limit: Limit, shape: tuple[int, int, int], dtype: Any) -> Any:
    """Return the values as (band, y, x), read on use."""
    block_rows, block_columns = file.block_shapes[0]
    block_bytes = product((block_rows, block_columns, dtype.itemsize))
    # A tile or strip then holds all bands, and GDAL unpacks the whole of it.
    if file.interleaving == Interleaving.pixel:
        block_bytes *= file.count
    chunk = (block_rows, block_columns)
    return lazy_cube(limit, shape, dtype, _Reader(limit.path), chunk, block_bytes)


def write(scene: xr.DataArray, path: Path) -> None:
    """Write a GeoTIFF, bands one after the other, with lossless compression."""
    scene = fill_masked(scene, path)
    n_bands, n_rows, n_columns = scene.shape
    # TIFF has no booleans and no float16: the next type that holds them without loss.
    wider = {"?": "u1", "e": "f4"}
    dtype: np.dtype[Any] = np.dtype(wider.get(scene.dtype.char, scene.dtype.newbyteorder("=")))
    if not rasterio.dtypes.check_dtype(dtype):
        raise SceneError(path, f"GeoTIFF has no data type for {scene.dtype}")
    nodata = scene.attrs.get("_FillValue")
    if nodata is not None and not rasterio.dtypes.in_dtype_range(nodata, dtype):
        raise SceneError(path, f"the no-data value {nodata} does not fit {dtype}")
    profile = {
        "driver": "GTiff",
        "count": n_bands,
        "height": n_rows,
        "width": n_columns,
        "dtype": dtype,
        "crs": crs_of(scene),
        "transform": transform_of(scene),
        "nodata": nodata,
        "interleave": "band",
        "compress": "deflate",
        "bigtiff": "if_safer",  # the size after compression is not known in advance
    }
    # Within an Env, GDAL does not print its errors.
    with warnings.catch_warnings(), rasterio.Env():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(path, "w", **profile) as file:
            for rows in row_blocks(scene):
                block = stored_values(scene.isel(y=rows).data).astype(dtype)
                file.write(block, window=Window(0, rows.start, n_columns, rows.stop - rows.start))
            _write_metadata(scene, file)
    # GDAL writes the directory of the file last, on closing, and does not report a failure.
    try:
        _open(path).close()
    except RasterioIOError as error:
        raise OSError("not all of it could be written; the disk may be full") from error


def _write_metadata(scene: xr.DataArray, file: Any) -> None:
    n_bands = scene.sizes["band"]
    file.scales = (float(scene.attrs.get("scale_factor", 1)),) * n_bands
    file.offsets = (float(scene.attrs.get("add_offset", 0)),) * n_bands
    for band in range(n_bands):
        file.update_tags(band + 1, **_tags(scene, band))
        if "band_name" in scene.coords:
            file.set_band_description(band + 1, str(scene["band_name"].values[band]))


class _Reader:
    """Reads a window.

    It opens the file each time, since an open one cannot be used by other threads or processes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, bands: slice, rows: slice, columns: slice) -> Array:
        window = Window(
            columns.start, rows.start, columns.stop - columns.start, rows.stop - rows.start
        )
        numbers = list(range(bands.start + 1, bands.stop + 1))  # rasterio counts bands from 1
        with _open(self.path) as file:
            values: Array = file.read(numbers, window=window)
            return values


def _open(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        # Only this driver: a file of another kind under this name could point to files elsewhere.
        return rasterio.open(path, driver="GTiff")


def _nodata(value: float | None, dtype: np.dtype[Any]) -> float | None:
    # An integer, so that a comparison does not turn the values into floats.
    if value is not None and dtype.kind in "iu" and float(value).is_integer():
        return int(value)
    return value


def _band_data(file: Any) -> dict[str, Any]:
    """Return what the file says about its bands, by the names of a scene."""
    tags = [file.tags(band) for band in file.indexes]
    imagery = [file.tags(band, ns="IMAGERY") for band in file.indexes]
    band_data: dict[str, Any] = {
        "wavelength": _numbers(tags, "wavelength", imagery, "CENTRAL_WAVELENGTH_UM"),
        "fwhm": _numbers(tags, "fwhm", imagery, "FWHM_UM"),
    }
    if all("good_band" in tag for tag in tags):
        band_data["good_band"] = [tag["good_band"] != "0" for tag in tags]
    names = [name or "" for name in file.descriptions]
    if any(names):
        band_data["band_name"] = names
    return band_data


def _numbers(
    tags: list[dict[str, str]], name: str, imagery: list[dict[str, str]], imagery_name: str
) -> Array | None:
    """Return one number per band in nm, from its own tags or from GDAL's imagery tags, or None."""
    if all(name in tag for tag in tags):
        values = [float(tag[name]) for tag in tags]
        # Widths have the unit of the wavelengths; by their size it cannot be guessed.
        wavelength = [float(tag.get("wavelength", "nan")) for tag in tags]
        return to_nanometres(values, unit_of(wavelength, tags[0].get("wavelength_units")))
    if all(imagery_name in tag for tag in imagery):
        return to_nanometres([float(tag[imagery_name]) for tag in imagery], "um")
    return None


def _tags(scene: xr.DataArray, band: int) -> dict[str, str]:
    tags: dict[str, str] = {}
    for key in ("wavelength", "fwhm"):
        if key in scene.coords:
            tags |= {key: repr(float(scene[key].values[band])), "wavelength_units": "Nanometers"}
    if "good_band" in scene.coords:
        tags["good_band"] = str(int(scene["good_band"].values[band]))
    return tags
