"""Scenes and spectra written as GeoTIFF, NetCDF, zarr or ENVI."""

import io
import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np
import xarray as xr

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.files.envi import AXES, DTYPES, format_header
from selfdict.files.envi_map import map_fields
from selfdict.files.errors import SceneError
from selfdict.scene.blocks import in_row_chunks, row_blocks
from selfdict.scene.metadata import crs_of, scaling_of, transform_of

Order = Literal["little", "big"]


def write_geotiff(scene: xr.DataArray, path: Path) -> None:
    """Write a GeoTIFF, bands one after the other, with lossless compression."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning, RasterioIOError
    from rasterio.windows import Window

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
                block = scene.isel(y=rows).values.astype(dtype)
                file.write(block, window=Window(0, rows.start, n_columns, rows.stop - rows.start))
            _write_metadata(scene, file)
        # GDAL writes the directory of the file last, on closing, and does not report a failure.
        try:
            rasterio.open(path, driver="GTiff").close()
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


def _tags(scene: xr.DataArray, band: int) -> dict[str, str]:
    tags: dict[str, str] = {}
    for key in ("wavelength", "fwhm"):
        if key in scene.coords:
            tags |= {key: repr(float(scene[key].values[band])), "wavelength_units": "Nanometers"}
    if "good_band" in scene.coords:
        tags["good_band"] = str(int(scene["good_band"].values[band]))
    return tags


class _PatientFile(io.FileIO):
    """A file that never fails while HDF5 writes to it; ``error`` is the first failure, or None.

    HDF5 cannot close a file that it cannot write: it tries again when the process ends, and ends it
    by a segmentation fault. Here everything after a failure is dropped.
    """

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
        # Stops at the next block, instead of after the last.
        dataset[name] = dataset[name].copy(data=_unless_failed(dataset[name].data, file))
        try:
            dataset.to_netcdf(file, engine="h5netcdf", encoding=encoding)
        except Exception as error:
            # HDF5 may stumble over what could not be written, with an error of its own.
            raise (file.error or error) from None
        if file.error is not None:
            raise file.error


def _unless_failed(values: Any, file: _PatientFile) -> Any:
    """Return a dask array that cannot be computed once the file has failed."""

    def check(block: Array) -> Array:
        if file.error is not None:
            raise file.error
        return block

    # A random name: dask would otherwise pickle the file to make one.
    return values.map_blocks(check, meta=values._meta, token=uuid4().hex)


def write_zarr(scene: xr.DataArray, path: Path) -> None:
    """Write version 2: version 3 has no final specification for text (the names of bands)."""
    dataset, encoding = dataset_from_scene(scene)
    dataset.to_zarr(path, mode="w-", zarr_format=2, consolidated=True, encoding=encoding)


def create_zarr(scene: xr.DataArray, path: Path) -> None:
    """Write a scene in dask chunks without its values, which :func:`write_zarr_block` writes."""
    dataset, encoding = dataset_from_scene(scene)
    dataset.to_zarr(
        path, mode="w-", zarr_format=2, consolidated=True, encoding=encoding, compute=False
    )


def write_zarr_block(path: Path, name: str, rows: slice, columns: slice, values: Array) -> None:
    """Write values (bands, rows, columns) into a store.

    Two calls at a time must not write to the same chunk.
    """
    import zarr

    zarr.open_array(path, path=name, mode="r+")[:, rows, columns] = values


def dataset_from_scene(scene: xr.DataArray) -> tuple[xr.Dataset, dict[Hashable, dict[str, Any]]]:
    """Return the scene as a dataset in chunks of rows, and the encoding to write it with.

    The encoding keeps xarray from adding attributes that the scene has not.
    """
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


def fill_masked(scene: xr.DataArray, path: Path) -> xr.DataArray:
    """Return the scene without its ``valid`` coordinate, the excluded pixels set to no-data.

    The no-data value of floats is NaN, if none is declared.
    """
    if "valid" not in scene.coords:
        return scene
    valid = scene["valid"].astype(bool)
    scene = scene.drop_vars("valid")
    if bool(valid.all()):
        return scene
    fill = scene.attrs.get("_FillValue")
    if fill is None:
        if scene.dtype.kind != "f":
            raise SceneError(
                path,
                f"masked pixels of {scene.dtype} need a no-data value: "
                "set scene.attrs['_FillValue'], "
                "or write NetCDF or zarr, which keep the mask itself",
            )
        fill = np.nan
    # In the dtype of the scene: ``where`` would otherwise promote its values.
    try:
        fill = scene.dtype.type(fill)
    except OverflowError:
        raise SceneError(path, f"the no-data value {fill} does not fit {scene.dtype}") from None
    return in_row_chunks(scene).where(xr.DataArray(valid.values, dims=("y", "x")), fill)


def write_envi(
    scene: xr.DataArray, path: Path, *, interleave: str = "bsq", byte_order: Order = "little"
) -> None:
    """Write header and data; ``path`` names either (the data of a header ``.hdr`` are ``.img``)."""
    if interleave not in AXES:
        raise InputError(f"interleave must be 'bsq', 'bil' or 'bip', got {interleave!r}")
    if byte_order not in ("little", "big"):
        raise InputError(f"byte_order must be 'little' or 'big', got {byte_order!r}")
    header = path.with_suffix(".hdr")
    data = path
    if path.suffix.lower() == ".hdr":
        header = path
        data = path.with_suffix(".img")
    scene = fill_masked(scene, path)
    n_bands, n_rows, n_columns = scene.shape
    code, dtype = _stored_type(scene, path, byte_order)
    _write_values(scene, data, interleave, dtype)
    fields: dict[str, object] = {
        "samples": n_columns,
        "lines": n_rows,
        "bands": n_bands,
        "header offset": 0,
        "file type": "ENVI Standard",
        "data type": code,
        "interleave": interleave,
        "byte order": int(byte_order == "big"),
    }
    header.write_text(format_header(fields | _description(scene)), encoding="utf-8")


def _stored_type(scene: xr.DataArray, path: Path, byte_order: Order) -> tuple[int, np.dtype[Any]]:
    """Return the number of the data type, and the dtype, that the values are written in."""
    # ENVI has no booleans, int8 and float16: the next type that holds them without loss.
    wider = {"?": "u1", "b": "i2", "e": "f4"}
    native = np.dtype(wider.get(scene.dtype.char, scene.dtype.newbyteorder("=")))
    codes = {np.dtype(dtype): code for code, dtype in DTYPES.items()}
    if native not in codes:
        raise SceneError(path, f"ENVI has no data type for {scene.dtype}")
    return codes[native], native.newbyteorder(byte_order)


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


def _description(scene: xr.DataArray) -> dict[str, object]:
    """Return the fields about bands, no-data, scale and georeference."""
    fields: dict[str, object] = {}
    if "wavelength" in scene.coords or "fwhm" in scene.coords:
        fields["wavelength units"] = "Nanometers"
    for key in ("wavelength", "fwhm"):
        if key in scene.coords:
            fields[key] = scene[key].values.tolist()
    if "good_band" in scene.coords:
        fields["bbl"] = scene["good_band"].values.astype(int).tolist()
    if "band_name" in scene.coords:
        fields["band names"] = scene["band_name"].values.tolist()
    nodata = scene.attrs.get("_FillValue")
    if nodata is not None:
        fields["data ignore value"] = np.asarray(nodata).item()
    fields |= scale_fields(scene)
    return fields | map_fields(crs_of(scene), transform_of(scene))


def scale_fields(scene: xr.DataArray) -> dict[str, object]:
    """Return the fields from which the reader gets the scale of this scene."""
    gain, offset = scaling_of(scene)
    if (gain == 1).all() and (offset == 0).all():
        return {}
    is_one_factor = (gain == gain[0]).all() and (offset == 0).all() and gain[0] > 0
    if is_one_factor:
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
    fields: dict[str, object] = {
        "samples": values.shape[1],
        "lines": values.shape[0],
        "bands": 1,
        "header offset": 0,
        "file type": "ENVI Spectral Library",
        "data type": code,
        "interleave": "bsq",
        "byte order": 0,
    }
    if "wavelength" in spectra.coords:
        fields["wavelength units"] = "Nanometers"
        fields["wavelength"] = spectra["wavelength"].values.tolist()
        if "fwhm" in spectra.coords:
            fields["fwhm"] = spectra["fwhm"].values.tolist()
    fields["spectra names"] = names
    path.with_suffix(".sli").write_bytes(values.astype(dtype).tobytes())
    path.with_suffix(".hdr").write_text(format_header(fields), encoding="utf-8")
