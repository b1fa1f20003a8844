"""GeoTIFF through rasterio, read lazily block by block."""

import ctypes
import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import xarray as xr
from rasterio.enums import Interleaving, MaskFlags
from rasterio.errors import NotGeoreferencedWarning, RasterioIOError
from rasterio.windows import Window

from selfdict._validation import Array
from selfdict.scene.blocks import row_blocks
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import fill_masked, lazy_cube, whole_nodata
from selfdict.scene.formats.geotiff_bands import read_bands
from selfdict.scene.formats.limits import Limit, check_header, product
from selfdict.scene.georef import crs_of, transform_of
from selfdict.scene.mapped import stored_values
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes
from selfdict.scene.scaling import scaling_of

NAME = "GeoTIFF"


def _silence_libraries() -> None:
    """Keep libtiff and PROJ from printing errors, which GDAL reports anyway."""
    # Through a module of rasterio, since the libraries themselves may have any name and place.
    library = ctypes.CDLL(rasterio._base.__file__)
    if hasattr(library, "TIFFSetErrorHandler"):
        library.TIFFSetErrorHandler(None)
    # libgeotiff has contexts of PROJ of its own, made from the default one (NULL); in the wheels of
    # rasterio the names of PROJ begin with internal_.
    for name in ("proj_log_level", "internal_proj_log_level"):
        if hasattr(library, name):
            no_messages = 0
            getattr(library, name)(None, no_messages)


_silence_libraries()


def read(path: Path, *, max_bytes: int | None = None) -> xr.DataArray:
    """Read a GeoTIFF; wavelengths come from the tags of its bands or from their names."""
    # GDAL loads this file of statistics and tags, if there is one, whatever its size.
    statistics = path.with_name(path.name + ".aux.xml")
    if statistics.is_file():
        check_header(statistics, statistics.stat().st_size)
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
        band_data, notes = read_bands(file)
        scene = build_scene(
            _lazy_values(file, Limit(path, path.stat().st_size, max_bytes), shape, dtype),
            **band_data,
            crs=file.crs,
            transform=transform,
            nodata=whole_nodata(file.nodatavals[0], dtype),
            scale_factor=file.scales,
            add_offset=file.offsets,
        )
        notes += _mask_notes(file) + _page_notes(file) + _place_notes(file)
    return add_notes(scene, *notes)


def _mask_notes(file: Any) -> list[str]:
    """Return a note if the file marks pixels in a way that is not read."""
    flags = set(itertools.chain.from_iterable(file.mask_flag_enums))
    if MaskFlags.alpha in flags:
        return ["the file has an alpha band, which is read as a band like the others"]
    if MaskFlags.per_dataset in flags:
        return ["the file has a mask of its own, which is not read (mask)"]
    return []


def _page_notes(file: Any) -> list[str]:
    """Return a note if the file holds several images, of which GDAL reads the first."""
    n_images = len(file.subdatasets)
    if n_images < 2:
        return []
    return [f"the file holds {n_images} images (pages), of which only the first is read"]


def _place_notes(file: Any) -> list[str]:
    """Return a note if the file says where its pixels lie in a way that is not used."""
    points, _ = file.gcps
    if not points or not file.transform.is_identity:
        return []
    return [
        f"the file has {len(points)} ground control points, which are not used: there are no map "
        "coordinates"
    ]


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
    gain, offset = scaling_of(scene)
    file.scales = tuple(gain.tolist())
    file.offsets = tuple(offset.tolist())
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


def _tags(scene: xr.DataArray, band: int) -> dict[str, str]:
    tags: dict[str, str] = {}
    for key in ("wavelength", "fwhm"):
        if key in scene.coords:
            tags |= {key: repr(float(scene[key].values[band])), "wavelength_units": "Nanometers"}
    if "good_band" in scene.coords:
        tags["good_band"] = str(int(scene["good_band"].values[band]))
    return tags
