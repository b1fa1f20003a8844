"""Scenes written as GeoTIFF, NetCDF or zarr."""

import ctypes
import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.files.errors import SceneError
from selfdict.scene.blocks import in_row_chunks, row_blocks
from selfdict.scene.metadata import crs_of, scaling_of, transform_of
from selfdict.scene.patient_file import PatientFile


def silence_libtiff() -> None:
    """Keep libtiff from printing errors, such as a full disk, which GDAL reports anyway."""
    import rasterio

    # Through a module of rasterio, since the library itself may have any name and place.
    library = ctypes.CDLL(rasterio._base.__file__)
    if hasattr(library, "TIFFSetErrorHandler"):
        library.TIFFSetErrorHandler(None)


def write_geotiff(scene: xr.DataArray, path: Path) -> None:
    """Write a GeoTIFF, bands one after the other, with lossless compression."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning, RasterioIOError
    from rasterio.windows import Window

    silence_libtiff()
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
    with PatientFile(path) as file:
        # Stops at the next block, instead of after the last.
        dataset[name] = dataset[name].copy(data=_unless_failed(dataset[name].data, file))
        try:
            dataset.to_netcdf(file, engine="h5netcdf", encoding=encoding)
        except Exception as error:
            # HDF5 may stumble over what could not be written, with an error of its own.
            raise (file.error or error) from None
        if file.error is not None:
            raise file.error


def _unless_failed(values: Any, file: PatientFile) -> Any:
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
