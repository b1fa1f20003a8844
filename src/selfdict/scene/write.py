"""Writing scenes, and maps on their grids, as GeoTIFF, NetCDF, zarr or ENVI."""

import io
from collections.abc import Hashable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._display import plain
from selfdict._errors import SceneError
from selfdict._validation import Array
from selfdict.files.cube import DIMS
from selfdict.files.formats import format_by_suffix, format_named
from selfdict.scene.blocks import in_row_chunks
from selfdict.scene.metadata import nodata_of, transform_of, with_nodata, without_notes
from selfdict.scene.model import as_scene
from selfdict.scene.staging import staged
from selfdict.scene.write_rasters import write_envi, write_geotiff


def write_scene(
    scene: xr.DataArray,
    path: str | PathLike[str],
    format: str | None = None,
    *,
    overwrite: bool = False,
    **options: Any,
) -> Path:
    """Write a scene, or maps on its grid (any leading dim, or none); return the path written.

    The file is written to a temporary folder next to its destination and then renamed, so that it
    is complete or absent.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x), or maps (…, y, x)
        Pixels that its ``valid`` coordinate leaves out are written as no-data if the format has no
        masks.
    path : str or path-like
        The file; for ENVI the header or the data file (``.img`` next to a ``.hdr``).
    format : {"envi", "geotiff", "netcdf", "zarr"}, optional
        Default: by the name of the file.
    overwrite : bool
        Replace an existing file or zarr store.
    **options
        Of the format: ``interleave`` ("bsq", "bil", "bip") for ENVI.
    """
    target = Path(path)
    name = format or _written_format(target)
    title = format_named(name).title
    if name not in _WRITERS:
        raise SceneError(
            target, f"scenes are not written as {title}; use ENVI, GeoTIFF, NetCDF or zarr"
        )
    with staged(*files_of(target, format), overwrite=overwrite) as temporary:
        # Notes speak about the file that was read, not about the one that is written.
        bands = without_notes(as_bands(scene))
        if name in ("envi", "geotiff"):
            bands = _fill_masked(bands, target)
        _WRITERS[name](bands, temporary, **options)
    return target


def files_of(path: Path, format: str | None = None) -> list[Path]:
    """Return the files that :func:`write_scene` writes, the one that is asked for first."""
    if (format or _written_format(path)) != "envi":
        return [path]
    if path.suffix.lower() == ".hdr":
        return [path, path.with_suffix(".img")]
    return [path, path.with_suffix(".hdr")]


def _written_format(path: Path) -> str:
    """Return the format of a file by its name."""
    # A header that is read may be that of a GeoTIFF beside it; one that is written is not.
    if path.suffix.lower() == ".hdr":
        return "envi"
    return format_by_suffix(path)


def as_bands(data: xr.DataArray) -> xr.DataArray:
    """Return maps (y, x) or (endmember, y, x) as bands named by the labels of the leading dim."""
    bands = data
    if bands.ndim == 2:
        bands = bands.expand_dims("band")
    if "band" not in bands.dims and bands.ndim == 3 and set(DIMS[1:]) < set(bands.dims):
        (leading,) = set(bands.dims) - set(DIMS)
        names = [f"{leading} {label}" for label in labels_of(bands, leading)]
        if "name" in bands.coords:
            names = bands["name"].values.tolist()
        bands = bands.drop_vars([leading, "name"], errors="ignore").rename({leading: "band"})
        bands = bands.assign_coords(band_name=("band", names))
    if "band_name" in bands.coords:
        names = [plain(name) for name in bands["band_name"].values]
        bands = bands.assign_coords(band_name=("band", names))
    # Of the array given: rioxarray may keep the value for that object only.
    return as_scene(with_nodata(bands, nodata_of(data)))


def labels_of(data: xr.DataArray, dim: Hashable) -> Array:
    """Return the labels along a dim, by default counted from 1."""
    if dim in data.coords:
        return data[dim].values
    return np.arange(1, data.sizes[dim] + 1)


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


def _fill_masked(scene: xr.DataArray, path: Path) -> xr.DataArray:
    """Return the scene without its ``valid`` coordinate, the excluded pixels set to no-data."""
    if "valid" not in scene.coords:
        return scene
    valid = scene["valid"].values.astype(bool)
    scene = scene.drop_vars("valid")
    if valid.all():
        return scene
    fill = scene.attrs.get("_FillValue")
    if fill is None:
        if scene.dtype.kind != "f":
            raise SceneError(
                path,
                f"masked pixels of {scene.dtype} need a no-data value: set scene.attrs"
                "['_FillValue'], or write NetCDF or zarr, which keep the mask itself",
            )
        fill = np.nan
    # In the dtype of the scene: ``where`` would otherwise promote its values.
    try:
        fill = scene.dtype.type(fill)
    except OverflowError:
        raise SceneError(path, f"the no-data value {fill} does not fit {scene.dtype}") from None
    return in_row_chunks(scene).where(xr.DataArray(valid, dims=("y", "x")), fill)


# By the names of formats. The layouts of .mat and .npy keep no wavelengths, CRS or no-data value.
_WRITERS = {
    "envi": write_envi,
    "geotiff": write_geotiff,
    "netcdf": write_netcdf,
    "zarr": write_zarr,
}
