"""The files that are written: ENVI, cloud-optimised GeoTIFF, NetCDF and zarr."""

import io
import math
import warnings
import zlib
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import InputError, SceneError, first_line
from selfdict._validation import Array
from selfdict.files.envi import AXES, DTYPES, format_header
from selfdict.files.grid import map_fields
from selfdict.scene.blocks import in_row_chunks, row_blocks
from selfdict.scene.metadata import crs_of, declared_nodata, scaling_of, transform_of

# Rows and columns of a tile; the largest of which all bands together take at most _TILE_BYTES,
# because scenes are read as whole spectra.
_TILE_SIZES = (512, 256, 128)
_TILE_BYTES = 16 * 2**20


def write_envi(scene: xr.DataArray, path: Path, *, interleave: str = "bsq") -> None:
    """Write header and data; ``path`` names either (the data of a header ``.hdr`` are ``.img``)."""
    if interleave not in AXES:
        raise InputError(f"interleave must be 'bsq', 'bil' or 'bip', got {interleave!r}")
    header = path.with_suffix(".hdr")
    data = path
    if path.suffix.lower() == ".hdr":
        header = path
        data = path.with_suffix(".img")
    # ENVI has no booleans, int8 and float16.
    dtype = _dtype_of(scene, {"?": "u1", "b": "i2", "e": "f4"})
    codes = {np.dtype(known): code for code, known in DTYPES.items()}
    if dtype not in codes:
        raise SceneError(path, f"ENVI has no data type for {scene.dtype}")
    _write_values(scene, data, interleave, dtype.newbyteorder("little"))
    fields = _layout(scene.shape, "ENVI Standard", codes[dtype], interleave) | _band_fields(scene)
    if "good_band" in scene.coords:
        fields["bbl"] = scene["good_band"].values.astype(int).tolist()
    if "band_name" in scene.coords:
        fields["band names"] = scene["band_name"].values.tolist()
    nodata = declared_nodata(scene)
    if nodata is not None:
        fields["data ignore value"] = nodata
    fields |= _scale_fields(scene)
    fields |= map_fields(crs_of(scene), transform_of(scene))
    header.write_text(format_header(fields), encoding="utf-8")


def _dtype_of(scene: xr.DataArray, wider: dict[str, str]) -> np.dtype[Any]:
    """Return the dtype of this machine that holds the values without loss, a wider one if named."""
    return np.dtype(wider.get(scene.dtype.char, scene.dtype.newbyteorder("=")))


def _layout(shape: tuple[int, ...], kind: str, code: int, interleave: str) -> dict[str, object]:
    """Return the fields that tell how values (bands, rows, columns) are stored."""
    n_bands, n_rows, n_columns = shape
    return {
        "samples": n_columns,
        "lines": n_rows,
        "bands": n_bands,
        "header offset": 0,
        "file type": kind,
        "data type": code,
        "interleave": interleave,
        "byte order": 0,
    }


def _write_values(scene: xr.DataArray, path: Path, interleave: str, dtype: np.dtype[Any]) -> None:
    """Write the data file, some rows of the scene at a time."""
    n_bands, n_rows, n_columns = scene.shape
    with path.open("wb") as file:
        for rows in row_blocks(scene):
            block = scene.isel(y=rows).values.astype(dtype)
            if interleave == "bsq":
                # The rows of one band are together in the file, those of several bands are not.
                for band in range(n_bands):
                    file.seek((band * n_rows + rows.start) * n_columns * dtype.itemsize)
                    file.write(block[band].tobytes())
            else:
                file.write(block.transpose(AXES[interleave]).tobytes())


def _band_fields(data: xr.DataArray) -> dict[str, object]:
    """Return the fields about wavelengths."""
    fields: dict[str, object] = {}
    for key in ("wavelength", "fwhm"):
        if key in data.coords:
            fields["wavelength units"] = "Nanometers"
            fields[key] = data[key].values.tolist()
    return fields


def _scale_fields(scene: xr.DataArray) -> dict[str, object]:
    """Return the fields from which the reader gets the scale of this scene."""
    gain, offset = scaling_of(scene)
    if (gain == 1).all() and (offset == 0).all():
        return {}
    if (gain == gain[0]).all() and (offset == 0).all() and gain[0] > 0:
        # Rounded to 15 digits, so that a factor of 0.0001 is written as 10000.
        divisor = float(f"{1 / gain[0]:.15g}")
        # Not every factor is the reciprocal of a number.
        if 1 / divisor == gain[0]:
            return {"reflectance scale factor": divisor}
    return {"data gain values": gain.tolist(), "data offset values": offset.tolist()}


def write_envi_library(spectra: xr.DataArray, names: list[str], path: Path) -> None:
    """Write spectra (spectrum, band) as ``path`` with the suffixes ``.sli`` and ``.hdr``."""
    values: Array = spectra.values
    code = 4
    dtype = "<f4"
    if values.dtype.itemsize > 4:
        code = 5
        dtype = "<f8"
    path.with_suffix(".sli").write_bytes(values.astype(dtype).tobytes())
    fields = _layout((1, *values.shape), "ENVI Spectral Library", code, "bsq")
    fields |= _band_fields(spectra) | {"spectra names": names}
    path.with_suffix(".hdr").write_text(format_header(fields), encoding="utf-8")


def write_geotiff(scene: xr.DataArray, path: Path) -> None:
    """Write a scene as a cloud-optimised GeoTIFF with lossless compression."""
    import rasterio

    # TIFF has no booleans and no float16.
    dtype = _dtype_of(scene, {"?": "u1", "e": "f4"})
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
    values_of: Callable[[slice], Array],  # the values (n_bands, n_rows, n_columns) of some rows
    describe: Callable[[Any], None],  # adds what belongs to the bands
) -> None:
    """Write a cloud-optimised GeoTIFF on the grid of an array, and check what was written."""
    import rasterio

    n_rows, n_columns = grid.shape[-2:]
    profile = profile | {
        "height": n_rows,
        "width": n_columns,
        "crs": crs_of(grid),
        "transform": transform_of(grid),
        "interleave": "band",
        "bigtiff": "if_safer",
    }
    # Directories can only be put before data whose sizes are known: a plain file is written first,
    # and copied. Needs disk space for both. Within an Env, GDAL does not print its errors.
    with rasterio.Env(), TemporaryDirectory(dir=path.parent) as folder:
        plain = Path(folder, "plain.tif")
        with _opened(plain, "w", **profile) as file:
            describe(file)
            checksums = _write_rows(file, row_blocks(grid), values_of)
        _copy_optimised(plain, path)
        # GDAL writes most of the file on closing, and does not report a failure.
        with _opened(path, "r") as file:
            found = [_checksum(file, band) for band in file.indexes]
    if found != checksums:
        raise OSError("not all of it could be written; the disk may be full")


def _opened(path: Path, mode: str, **profile: Any) -> Any:
    """Open a GeoTIFF, without a warning if it has no place on Earth."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        return rasterio.open(path, mode, driver="GTiff", **profile)


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
    with _opened(source, "r+") as file:
        bytes_per_pixel = file.count * np.dtype(file.dtypes[0]).itemsize
        sizes = [size for size in _TILE_SIZES if size**2 * bytes_per_pixel <= _TILE_BYTES]
        tile = max(sizes, default=min(_TILE_SIZES))
        # Few bands, as in maps, are mostly wanted together; of many, some are wanted.
        if file.count > 16:
            interleave = "band"
        # Down to an overview that is a single tile.
        n_overviews = math.ceil(math.log2(max(file.shape) / tile))
        if n_overviews > 0:
            # Nearest neighbours: there is nothing between two classes, or beside no-data.
            file.build_overviews([2**k for k in range(1, n_overviews + 1)], Resampling.nearest)
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


def _write_metadata(scene: xr.DataArray, file: Any) -> None:
    """Write scales, names and tags of the bands into an open GeoTIFF."""
    gain, offset = scaling_of(scene)
    file.scales = tuple(gain.tolist())
    file.offsets = tuple(offset.tolist())
    for band in range(scene.sizes["band"]):
        tags: dict[str, str] = {}
        for key in ("wavelength", "fwhm"):
            if key in scene.coords:
                value = float(scene[key].values[band])
                tags |= {key: repr(value), "wavelength_units": "Nanometers"}
        if "good_band" in scene.coords:
            tags["good_band"] = str(int(scene["good_band"].values[band]))
        file.update_tags(band + 1, **tags)
        if "band_name" in scene.coords:
            file.set_band_description(band + 1, str(scene["band_name"].values[band]))


class _PatientFile(io.FileIO):
    """A file that never fails while HDF5 writes to it; ``error`` is the first failure, or None."""

    # HDF5 cannot close a file that it cannot write: it tries again when the process ends, and ends
    # it by a segmentation fault. Here everything after a failure is dropped.
    error: OSError | None = None

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, with zeros where nothing has been written."""
        start = self.tell()
        n_read = super().readinto(buffer) or 0
        buffer[n_read:] = bytes(len(buffer) - n_read)
        self.seek(start + len(buffer))
        return len(buffer)

    def write(self, data: Any) -> int:
        """Write all bytes, or remember why not."""
        view = memoryview(data).cast("B")
        end = self.tell() + len(view)
        rest = view
        while self.error is None and rest:
            try:
                rest = rest[super().write(rest) :]
            except OSError as error:
                self.error = error
        self.seek(end)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Cut or extend the file, or remember why not."""
        if size is None:
            size = self.tell()
        try:
            super().truncate(size)
        except OSError as error:
            self.error = self.error or error
        return size


def write_netcdf(scene: xr.DataArray, path: Path) -> None:
    """Write NetCDF 4; a mask stays what it is, the coordinate ``valid``."""
    dataset, encoding = dataset_from_scene(scene)
    (name,) = dataset.data_vars
    encoding.setdefault(name, {})
    n_bands, n_rows, n_columns = dataset[name].shape
    # Whole spectra, since pixels are read with all their bands, and about 1 MB of them.
    chunks = (n_bands, min(16, n_rows), min(64, n_columns))
    # Higher levels take much more time, and make noisy measurements hardly smaller.
    encoding[name] |= {"zlib": True, "complevel": 1, "chunksizes": chunks}
    with _PatientFile(path, "w+") as file:
        try:
            dataset.to_netcdf(file, engine="h5netcdf", encoding=encoding)
        except Exception as error:
            # HDF5 may stumble over what could not be written, with an error of its own.
            raise (file.error or error) from None
        if file.error is not None:
            raise file.error


def write_zarr(scene: xr.DataArray, path: Path, *, compute: bool = True) -> None:
    """Write a store; without ``compute`` no values, which :func:`write_zarr_block` then writes."""
    dataset, encoding = dataset_from_scene(scene)
    # Version 3 has no final specification for text (the names of bands).
    options: dict[str, Any] = {"zarr_format": 2, "consolidated": True, "compute": compute}
    dataset.to_zarr(path, mode="w-", encoding=encoding, **options)


def write_zarr_block(path: Path, name: str, rows: slice, columns: slice, values: Array) -> None:
    """Write values (bands, rows, columns) into a store; no other call may write to their chunk."""
    import zarr

    zarr.open_array(path, path=name, mode="r+")[:, rows, columns] = values


def dataset_from_scene(scene: xr.DataArray) -> tuple[xr.Dataset, dict[Hashable, dict[str, Any]]]:
    """Return the scene as a dataset in chunks of rows, and the encoding to write it with."""
    name = scene.name or "reflectance"
    data = in_row_chunks(scene).rename(name).drop_encoding()
    transform = transform_of(scene)
    if transform is not None:
        import rioxarray  # noqa: F401  (registers DataArray.rio)

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
