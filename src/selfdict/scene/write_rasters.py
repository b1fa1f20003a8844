"""Writing cloud-optimised GeoTIFFs: tiles and overviews, and all directories before the data."""

import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import SceneError, first_line
from selfdict._validation import Array
from selfdict.scene.blocks import row_blocks
from selfdict.scene.metadata import crs_of, scaling_of, transform_of

# Rows and columns of a tile; the largest of which all bands together take at most _TILE_BYTES,
# because scenes are read as whole spectra.
_TILE_SIZES = (512, 256, 128)
_TILE_BYTES = 16 * 2**20
# Up to this number, as in maps, bands are mostly wanted together; of more, some are wanted.
_MOST_BANDS_TOGETHER = 16


def write_geotiff(scene: xr.DataArray, path: Path) -> None:
    """Write a scene as a cloud-optimised GeoTIFF with lossless compression."""
    import rasterio

    # TIFF has no booleans and no float16: the next type that holds them without loss.
    wider = {"?": "u1", "e": "f4"}
    dtype: np.dtype[Any] = np.dtype(wider.get(scene.dtype.char, scene.dtype.newbyteorder("=")))
    if not rasterio.dtypes.check_dtype(dtype):
        raise SceneError(path, f"GeoTIFF has no data type for {scene.dtype}")
    nodata = scene.attrs.get("_FillValue")
    if nodata is not None and not rasterio.dtypes.in_dtype_range(nodata, dtype):
        raise SceneError(path, f"the no-data value {nodata} does not fit {dtype}")
    profile = {"count": scene.sizes["band"], "dtype": dtype, "nodata": nodata}

    def values_of(rows: slice) -> Array:
        return np.asarray(scene.isel(y=rows).values.astype(dtype))

    write_raster(path, scene, profile, values_of, partial(_write_metadata, scene))


def write_raster(
    path: Path,
    grid: xr.DataArray,
    profile: dict[str, Any],
    values_of: Callable[[slice], Array],
    describe: Callable[[Any], None],
) -> None:
    """Write a cloud-optimised GeoTIFF on the grid of an array, and check what was written.

    ``values_of(rows)`` returns values (n_bands, n_rows, n_columns), and ``describe(file)`` adds
    what belongs to the bands. Directories can only be put before data whose sizes are known, so
    that a plain file is written first, and copied. Needs disk space for both.
    """
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    n_rows, n_columns = grid.shape[-2:]
    profile = profile | {
        "driver": "GTiff",
        "height": n_rows,
        "width": n_columns,
        "crs": crs_of(grid),
        "transform": transform_of(grid),
        "interleave": "band",
        "bigtiff": "if_safer",
    }
    # Within an Env, GDAL does not print its errors.
    with warnings.catch_warnings(), rasterio.Env():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with TemporaryDirectory(dir=path.parent) as folder:
            plain = Path(folder, "plain.tif")
            with rasterio.open(plain, "w", **profile) as file:
                describe(file)
                checksums = _write_rows(file, row_blocks(grid), values_of)
            _copy_optimised(plain, path)
        # GDAL writes most of the file on closing, and does not report a failure.
        with rasterio.open(path, driver="GTiff") as file:
            found = [_checksum(file, band) for band in file.indexes]
    if found != checksums:
        raise OSError("not all of it could be written; the disk may be full")


def _write_rows(file: Any, parts: list[slice], values_of: Callable[[slice], Array]) -> list[int]:
    """Write some rows at a time, and return the checksum of each band."""
    from rasterio.errors import RasterioIOError
    from rasterio.windows import Window

    checksums = [0] * file.count
    for rows in parts:
        values = values_of(rows)
        window = Window(0, rows.start, file.width, rows.stop - rows.start)
        try:
            file.write(values, window=window)
        except RasterioIOError as error:
            raise OSError(f"{first_line(error)}; the disk may be full") from error
        for band, image in enumerate(values):
            checksums[band] = zlib.crc32(image.tobytes(), checksums[band])
    return checksums


def _checksum(file: Any, band: int) -> int:
    """Return the checksum of a band in a file, read by rows of tiles."""
    from rasterio.windows import Window

    checksum = 0
    tile_rows = file.block_shapes[0][0]
    for top in range(0, file.height, tile_rows):
        window = Window(0, top, file.width, min(tile_rows, file.height - top))
        checksum = zlib.crc32(file.read(band, window=window).tobytes(), checksum)
    return checksum


def _copy_optimised(source: Path, target: Path) -> None:
    """Copy a GeoTIFF into tiles, with overviews if it is larger than one tile."""
    import rasterio
    import rasterio.shutil
    from rasterio._err import CPLE_BaseError
    from rasterio.enums import Resampling

    interleave = "pixel"
    with rasterio.open(source, "r+", driver="GTiff") as file:
        tile = _tile_size(file.count * np.dtype(file.dtypes[0]).itemsize)
        if file.count > _MOST_BANDS_TOGETHER:
            interleave = "band"
        factors = list(_overviews(max(file.shape), tile))
        if factors:
            # Nearest neighbours: there is nothing between two classes, or beside no-data.
            file.build_overviews(factors, Resampling.nearest)
    try:
        # As the driver COG, which does not keep bands apart before GDAL 3.11.
        rasterio.shutil.copy(
            source,
            target,
            driver="GTiff",
            copy_src_overviews=True,
            tiled=True,
            blockxsize=tile,
            blockysize=tile,
            interleave=interleave,
            compress="deflate",
            bigtiff="if_safer",  # the size after compression is not known in advance
        )
    except CPLE_BaseError as error:
        raise OSError(f"{error}; the disk may be full") from error


def _tile_size(bytes_per_pixel: int) -> int:
    """Return the number of rows and columns of a tile."""
    for size in _TILE_SIZES:
        if size**2 * bytes_per_pixel <= _TILE_BYTES:
            return size
    return _TILE_SIZES[-1]


def _overviews(size: int, tile: int) -> Iterator[int]:
    """Return the factors of the overviews, down to one that is a single tile."""
    factor = 1
    while size > tile * factor:
        factor *= 2
        yield factor


def _write_metadata(scene: xr.DataArray, file: Any) -> None:
    gain, offset = scaling_of(scene)
    file.scales = tuple(gain.tolist())
    file.offsets = tuple(offset.tolist())
    for band in range(scene.sizes["band"]):
        file.update_tags(band + 1, **_tags(scene, band))
        if "band_name" in scene.coords:
            file.set_band_description(band + 1, str(scene["band_name"].values[band]))


def _tags(scene: xr.DataArray, band: int) -> dict[str, str]:
    tags: dict[str, str] = {}
    for key in ("wavelength", "fwhm"):
        if key in scene.coords:
            tags |= {key: repr(float(scene[key].values[band])), "wavelength_units": "Nanometers"}
    if "good_band" in scene.coords:
        tags["good_band"] = str(int(scene["good_band"].values[band]))
    return tags
