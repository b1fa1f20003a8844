"""Scenes read from files, by a process of their own: see :mod:`selfdict.files.reader`."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from affine import Affine
from numpy.typing import ArrayLike

from selfdict._errors import SceneError
from selfdict._validation import Array
from selfdict.files.cube import DIMS
from selfdict.files.formats import FileFormat, check_plain, format_named, format_of
from selfdict.files.grid import GRID_TOLERANCE, to_map
from selfdict.files.lazy import read_values
from selfdict.files.reader import Reader
from selfdict.files.remote import FORMAT as REMOTE
from selfdict.files.remote import address_of
from selfdict.files.wavelengths import parse_wavelengths
from selfdict.scene.blocks import with_mask
from selfdict.scene.metadata import add_notes, band_numbers, crs_of, projected, transform_of
from selfdict.scene.model import build_scene


def read_scene(
    path: str | PathLike[str],
    *,
    bands: slice | Iterable[int] | None = None,
    drop_bad_bands: bool = False,
    mask: ArrayLike | str | PathLike[str] | None = None,
    roi: tuple[slice, slice] | None = None,
    nodata: float | None = None,
    wavelengths: ArrayLike | str | PathLike[str] | None = None,
    quality: bool = False,
    format: str | None = None,
    max_bytes: int | None = None,
    at_once: bool = False,
    **options: Any,
) -> xr.DataArray:
    """Read a hyperspectral cube.

    The values are read on use, block by block through dask, by a process of its own: a damaged
    file cannot crash this one or exhaust its memory.

    Parameters
    ----------
    path : str or path-like
        An ENVI header or data file, ``.tif``, ``.mat``, ``.nc``, ``.h5``, ``.he5``, ``.zarr``,
        ``.npy`` or ``.npz``; products of sensors: see :doc:`/sensors`. An address ``https://…`` or
        ``s3://…`` of a GeoTIFF, NetCDF 4, HDF5 or zarr file, or of a STAC item, whose asset
        ``variable`` names: only the blocks that are used are transferred.
    bands : slice or sequence of int, optional
        Bands to keep, counted from 0 in the order of rising wavelength, in which they are returned.
    drop_bad_bands : bool
        Drop the bands the file marks as bad (after ``bands``).
    mask : (n_rows, n_columns) array-like of bool, or a file, optional
        True (not zero) for pixels to leave out; a file must hold one band on the same grid. If
        both have a CRS and lie more than a tenth of a pixel apart, it is refused.
    roi : (slice, slice), optional
        Rows and columns to keep, counted from 0; the mask covers the whole scene.
    nodata : float, optional
        The stored value that marks missing data; default: what the file declares.
    wavelengths : (n_bands,) array-like, file or str, optional
        Where the file has none, or others: numbers in nanometres, or in micrometres if they are
        below 100; a text file of them or an ENVI header; ``"400:2500"`` for equally spaced bands.
    quality : bool
        Leave out pixels that the product itself marks: clouds by the mask file beside a scene of
        EMIT and by the quality layers beside one of EnMAP, invalid and saturated values by the
        error matrices of PRISMA.
    format : {"envi", "geotiff", "enmap", "desis", "mat", "netcdf", "hdf5", "zarr", "npy"}, optional
        Default: by the name of the file.
    max_bytes : int, optional
        The most bytes that one block of the file (chunk, tile or strip), an array that is loaded,
        or the mask of its pixels may take. By default 64 MiB, and more for large files: see
        :doc:`/reliability`.
    at_once : bool
        Load the values of a file that takes at most one block of 32 MiB. That is quicker than
        reading them on use, which needs dask. Larger files are read on use all the same.
    **options
        Of the format: ``variable`` (mat, netcdf, hdf5, zarr, npz: which array, in a group by its
        path), ``layout`` (npy, npz, mat, hdf5: the order of the axes, such as ``"band y x"``,
        or ``"bands-first"`` or ``"bands-last"``; of a matrix the order of its pixels,
        ``"column-major"`` or ``"row-major"``), ``ortho`` (EMIT: False keeps sensor geometry),
        ``overlap`` (PRISMA, EnMAP: the detector to keep, ``"vnir"``, ``"swir"`` or ``"both"``),
        ``shape`` (mat, npz: rows and columns of a matrix of bands and pixels).

    Returns
    -------
    xarray.DataArray (band, y, x)
        See :mod:`selfdict.scene.model` for its coordinates and attributes.

    Raises
    ------
    SceneError
        The file is missing, damaged, or not a scene: one line with the file and the reason.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from selfdict.scene import build_scene, read_scene, write_scene
    >>> folder = tempfile.mkdtemp()
    >>> scene = build_scene(np.ones((3, 4, 5)), wavelength=[450, 550, 650])
    >>> _ = write_scene(scene, folder + "/cube.hdr")
    >>> read_scene(folder + "/cube.hdr").wavelength.values
    array([450., 550., 650.])
    """
    address = address_of(path)
    path = Path(path)
    stored = REMOTE
    if address is None:
        check_plain(path)
        format = format or format_of(path)
        stored = format_named(format)
    else:
        options["address"] = address
    if quality:
        options["quality"] = True
    given = None
    if wavelengths is not None:
        given = parse_wavelengths(wavelengths)
        # Where a file does not name its axes, their number tells which of them is the bands.
        if not isinstance(given, tuple) and address is None and format in ("mat", "npy"):
            options["n_bands"] = given.size
    scene = _read_file(path, stored, options, max_bytes, at_once)
    if given is not None:
        scene = _with_wavelengths(scene, given, path)
    scene = _in_rising_order(scene)
    if nodata is not None:
        scene = _declare_nodata(scene, nodata)
    if bands is not None:
        scene = _select_bands(scene, bands, path)
    if drop_bad_bands and "good_band" in scene.coords:
        scene = _select_bands(scene, np.flatnonzero(scene["good_band"].values), path)
    if isinstance(mask, str | PathLike):
        mask = _excluded(Path(mask), scene, options.get("ortho"))
    scene = with_mask(scene, mask)
    # After the mask, which covers the whole scene.
    if roi is not None:
        rows, columns = roi
        scene = scene.isel(y=rows, x=columns)
        if scene.size == 0:
            region = f"rows {_span(rows)}, columns {_span(columns)}"
            raise SceneError(path, f"the region ({region}) contains no pixels")
    return scene


def _read_file(
    path: Path,
    stored: FileFormat,
    options: dict[str, Any],
    max_bytes: int | None = None,
    at_once: bool = False,
) -> xr.DataArray:
    """Return the whole scene in a file."""
    reader = Reader(path, stored, options, max_bytes)
    known = reader.open()
    transform = known["transform"]
    if transform is not None:
        transform = Affine.from_gdal(*transform)
    described = ("wavelength", "fwhm", "good_band", "band_name", "crs", "nodata", "name")
    scene = build_scene(
        read_values(reader, known, at_once),
        **{key: known[key] for key in (*described, "scale_factor", "add_offset")},
        transform=transform,
    )
    for key, values in known["coords"].items():
        dims: tuple[str, ...] = (key,)
        if values.ndim > 1:
            dims = DIMS[1:]
        scene = scene.assign_coords({key: (dims, values)})
    notes = known["notes"]
    if reader.is_in_process:
        notes = [*notes, "the file is read in this process, since no other could be started for it"]
    return add_notes(scene, *notes)


def _excluded(path: Path, scene: xr.DataArray, ortho: bool | None) -> Array:
    """Return which pixels of the whole scene a file leaves out: those that are not 0."""
    check_plain(path)
    name = format_of(path)
    options: dict[str, Any] = {}
    if name in ("netcdf", "hdf5"):
        # The masks of a product become one band, in the geometry of the scene.
        options["as_mask"] = True
        if ortho is not None:
            options["ortho"] = ortho
    layer = _read_file(path, format_named(name), options)
    if layer.sizes["band"] != 1:
        raise SceneError(path, f"a mask must have one band, this file has {layer.sizes['band']}")
    # Another size is refused where the mask is applied.
    if layer.shape[1:] == scene.shape[1:]:
        distance = _distance(layer, scene)
        # The comparison is False for NaN, too.
        if distance is not None and not distance <= GRID_TOLERANCE:
            raise SceneError(
                path,
                f"mask and scene cover different areas: a corner is {distance:.3g} pixels off",
            )
    excluded: Array = layer.values[0] != 0
    return excluded


def _distance(layer: xr.DataArray, scene: xr.DataArray) -> float | None:
    """Return the largest distance of two corners in pixels, None if it cannot be told."""
    ours = transform_of(scene)
    theirs = transform_of(layer)
    crs = crs_of(scene)
    # Without a CRS the numbers of a transform may just count pixels.
    if ours is None or theirs is None or crs is None or crs_of(layer) is None:
        return None
    n_rows, n_columns = scene.shape[1:]
    columns = np.array([0, n_columns, 0, n_columns])
    rows = np.array([0, 0, n_rows, n_rows])
    places = np.stack(to_map(ours, columns, rows))
    mask_places: Array | None = np.stack(to_map(theirs, columns, rows))
    # One system may have several names, and systems of two datums may agree within a pixel.
    if crs_of(layer) != crs:
        mask_places = projected(crs_of(layer), crs, *to_map(theirs, columns, rows))
    pixel = np.sqrt(abs(ours.determinant))
    # A damaged transform may have pixels without an area.
    if mask_places is None or pixel == 0:
        return None
    return float(np.hypot(*(mask_places - places)).max() / pixel)


def _with_wavelengths(
    scene: xr.DataArray, given: Array | tuple[float, float], path: Path
) -> xr.DataArray:
    n_bands = scene.sizes["band"]
    values = given
    if isinstance(given, tuple):
        values = np.linspace(*given, n_bands)
    if len(values) != n_bands:
        raise SceneError(
            path, f"has {n_bands} bands, but wavelengths=… gives {len(values)} wavelengths"
        )
    if "wavelength" in scene.coords:
        scene = add_notes(scene.drop_vars("fwhm", errors="ignore"), "its wavelengths are replaced")
    return scene.assign_coords(wavelength=("band", values, {"units": "nm"}))


def _declare_nodata(scene: xr.DataArray, nodata: float) -> xr.DataArray:
    # An integer, so that a comparison does not turn the values into floats.
    if scene.dtype.kind in "iu" and float(nodata).is_integer():
        nodata = int(nodata)
    return scene.assign_attrs(_FillValue=nodata)


def _select_bands(scene: xr.DataArray, bands: slice | Iterable[int], path: Path) -> xr.DataArray:
    n_bands = scene.sizes["band"]
    scene = scene.assign_coords(band_number=("band", band_numbers(scene)))
    if isinstance(bands, slice):
        selected = scene.isel(band=bands)
    else:
        index = np.asarray(list(bands), dtype=int)
        others = index[(index < 0) | (index >= n_bands)]
        if others.size:
            # Counted from 1, as on the command line and in the numbers of bands.
            number = others[0] + 1
            raise SceneError(
                path, f"has {n_bands} bands, but bands=… asks for number {number}, counted from 1"
            )
        selected = scene.isel(band=index)
        # Of a slice, other than of a list, only the bands in it are read.
        if index.size and (np.diff(index) == 1).all():
            selected = scene.isel(band=slice(int(index[0]), int(index[-1]) + 1))
    if selected.size == 0:
        raise SceneError(path, "no band is left")
    return selected


def _in_rising_order(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene with its bands in the order of their wavelengths."""
    if "wavelength" not in scene.coords:
        return scene
    wavelength = scene["wavelength"].values
    # A band without a wavelength has no place in the order.
    if not np.isfinite(wavelength).all() or (np.diff(wavelength) >= 0).all():
        return scene
    note = "the bands are put in the order of rising wavelength, and counted in this order"
    if (np.diff(wavelength) <= 0).all():
        return add_notes(scene.isel(band=slice(None, None, -1)), note)
    return add_notes(scene.isel(band=np.argsort(wavelength, kind="stable")), note)


def _span(part: slice) -> str:
    """Return a slice as text, such as ``2:5`` or ``0:``."""
    if part.stop is None:
        return f"{part.start or 0}:"
    return f"{part.start or 0}:{part.stop}"
