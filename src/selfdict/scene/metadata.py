"""What a scene carries beside its values: scale, no-data value, grid, band numbers and notes.

Physical value = stored value · gain + offset. Numbers that all bands share are the attributes
``scale_factor`` and ``add_offset``, which other software knows. Numbers that differ are the
coordinates ``band_gain`` and ``band_offset``, which follow any selection of bands.
"""

import sys
from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr
from affine import Affine
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.files.grid import place_grid, to_map

# By coordinate (band): the attribute that holds for all bands, and the neutral value.
_SCALES = {"band_gain": ("scale_factor", 1.0), "band_offset": ("add_offset", 0.0)}
# Sentences about what a reader assumed, a list of str. They speak about the file that was read:
# files that are written do not have them.
_NOTES = "selfdict_notes"


def with_scaling(
    scene: xr.DataArray, gain: ArrayLike | None, offset: ArrayLike | None
) -> xr.DataArray:
    """Return the scene with this gain and offset, for all bands or for each, instead of its own."""
    scene = scene.drop_vars(list(_SCALES), errors="ignore").copy(deep=False)
    n_bands = scene.sizes["band"]
    for (coordinate, (attribute, neutral)), given in zip(_SCALES.items(), (gain, offset)):
        scene.attrs.pop(attribute, None)
        if given is None:
            continue
        values = np.asarray(given, dtype=np.float64)
        if values.shape not in ((), (n_bands,)):
            raise InputError(
                f"{coordinate} must be a number, or one for each of the {n_bands} bands; "
                f"got shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise InputError(f"{coordinate} must be finite; got {values[~np.isfinite(values)]}")
        first = values.ravel()[0].item()
        if (values != first).any():
            # For people who read the NetCDF or zarr file: the conventions have no gain per band.
            attrs = {"long_name": "physical value = stored value * band_gain + band_offset"}
            scene = scene.assign_coords({coordinate: ("band", values, attrs)})
        elif first != neutral:
            scene.attrs[attribute] = first
    return scene


def scaling_of(scene: xr.DataArray) -> tuple[Array, Array]:
    """Return the gain and the offset of each band, two (n_bands,) arrays of float64."""
    n_bands = scene.sizes["band"]
    found: list[Array] = []
    for coordinate, (attribute, neutral) in _SCALES.items():
        of_all = scene.attrs.get(attribute, neutral)
        if coordinate not in scene.coords:
            found.append(np.full(n_bands, float(of_all)))
            continue
        # Two statements about the same number: it cannot be told which one is meant.
        if of_all != neutral:
            raise InputError(
                f"a scene has either the coordinate {coordinate} or the attribute {attribute}; "
                "this one has both"
            )
        values = np.asarray(scene[coordinate].values, dtype=np.float64)
        if values.shape != (n_bands,):
            raise InputError(f"the coordinate {coordinate} must have the dim band")
        found.append(values)
    gain, offset = found
    return gain, offset


def from_rioxarray(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene with the scales per band that ``rioxarray.open_rasterio`` has stored."""
    n_bands = scene.sizes["band"]
    if "scales" not in scene.attrs and "offsets" not in scene.attrs:
        return scene
    gain, offset = scaling_of(scene)
    gain = np.asarray(scene.attrs.get("scales", gain))
    offset = np.asarray(scene.attrs.get("offsets", offset))
    # After a selection of bands it cannot be told which of the numbers belong to those left.
    if gain.shape != (n_bands,) or offset.shape != (n_bands,):
        raise InputError(
            f"the attributes scales and offsets must have one entry for each of the {n_bands} "
            f"bands; got {gain.shape} and {offset.shape}; select bands after read_scene instead"
        )
    scene = with_scaling(scene, gain, offset)
    scene.attrs.pop("scales", None)
    scene.attrs.pop("offsets", None)
    return scene


def nodata_of(data: xr.DataArray) -> Any:
    """Return the value that marks missing data: ``_FillValue``, or what rioxarray knows."""
    # ``rio.set_nodata`` stores it for one object: that of the user is needed, not a copy of it.
    if "_FillValue" in data.attrs:
        return data.attrs["_FillValue"]
    if not _may_hold(data, "_FillValue", "missing_value", "fill_value", "nodata"):
        return None
    try:
        # Files of float32 values may declare the lowest float64 as no-data.
        with np.errstate(over="ignore"):
            # A value in the encoding says that missing data have become NaN, which rio.nodata then
            # returns. Integers cannot be NaN: they still hold the encoded value.
            if data.dtype.kind != "f" and data.rio.encoded_nodata is not None:
                return data.rio.encoded_nodata
            return data.rio.nodata
    except (OverflowError, TypeError, ValueError, OSError):
        # The attribute is not a number that the dtype can hold, so no value equals it; or the file
        # that the array was opened from is gone.
        return None


def with_nodata(scene: xr.DataArray, nodata: Any) -> xr.DataArray:
    """Return the scene with this no-data value as ``_FillValue``, unless it has one already."""
    if nodata is None or "_FillValue" in scene.attrs:
        return scene
    scene = scene.copy(deep=False)
    scene.attrs["_FillValue"] = np.asarray(nodata).item()
    # xarray refuses to write an array that has the key in its attributes and in its encoding.
    scene.encoding = {key: value for key, value in scene.encoding.items() if key != "_FillValue"}
    return scene


def declared_nodata(scene: xr.DataArray) -> float | None:
    """Return the ``_FillValue`` of a scene as a Python number, or None."""
    if scene.attrs.get("_FillValue") is None:
        return None
    nodata: float = np.asarray(scene.attrs["_FillValue"]).item()
    return nodata


def _may_hold(data: xr.DataArray, *names: str) -> bool:
    """Whether rioxarray may know something about an array; imports it if so."""
    # It takes a second to import. As long as nobody has imported it, an array has nothing but
    # attributes and encodings of these names.
    known = data.attrs.keys() | data.encoding.keys()
    if "rioxarray" not in sys.modules and not known & set(names):
        return False
    import rioxarray  # noqa: F401  (registers DataArray.rio)

    return True


def georeference(scene: xr.DataArray, crs: Any, transform: Affine | None) -> xr.DataArray:
    """Return the scene with a CRS (WKT, or what rioxarray takes) and the places of its pixels."""
    # Changed in place below: the functions of rioxarray that return a new array copy all values,
    # also those of a mapped file.
    scene = scene.copy(deep=False)
    if transform is not None:
        columns = np.arange(scene.sizes["x"]) + 0.5
        rows = np.arange(scene.sizes["y"]) + 0.5
        # Else they vary along both axes of the grid, and ``x`` and ``y`` count pixels.
        if not (transform.b or transform.d):
            columns = transform.c + transform.a * columns
            rows = transform.f + transform.e * rows
        scene = scene.assign_coords(x=columns, y=rows)
    # A WKT of a reader is stored as it is, which takes neither rioxarray nor PROJ.
    attrs: dict[Hashable, Any] = {}
    if isinstance(crs, str) and "[" in crs:
        attrs |= {"crs_wkt": crs, "spatial_ref": crs}
    elif crs is not None:
        import rioxarray  # noqa: F401  (registers DataArray.rio)

        scene.rio.write_crs(crs, inplace=True)
        attrs |= scene["spatial_ref"].attrs
    if transform is not None:
        attrs["GeoTransform"] = " ".join(str(number) for number in transform.to_gdal())
    if not attrs:
        return scene
    scene = scene.assign_coords(spatial_ref=((), 0, attrs))
    scene.encoding = scene.encoding | {"grid_mapping": "spatial_ref"}
    return scene


def crs_of(scene: xr.DataArray) -> Any:
    """Return the ``rasterio.crs.CRS`` of the scene, or None."""
    if "spatial_ref" in scene.coords and "crs_wkt" in scene["spatial_ref"].attrs:
        from rasterio.crs import CRS

        return CRS.from_wkt(scene["spatial_ref"].attrs["crs_wkt"])
    if not _may_hold(scene, "crs", "grid_mapping"):
        return None
    return scene.rio.crs


def transform_of(scene: xr.DataArray) -> Affine | None:
    """Return the affine transform from (column, row) to the map, or None.

    It follows ``isel``: the stored transform is shifted and scaled to the ``x`` and ``y`` that are
    left. Without a stored transform, equally spaced ``x`` and ``y`` give it; they may be a tenth of
    a pixel away from equal spacing, since files round them.
    """
    stored = None
    if "spatial_ref" in scene.coords and "GeoTransform" in scene["spatial_ref"].attrs:
        text = str(scene["spatial_ref"].attrs["GeoTransform"])
        stored = Affine.from_gdal(*map(float, text.split()))
    centres = {dim: scene[dim].values for dim in ("x", "y") if dim in scene.coords}
    return place_grid(stored, centres.get("x"), centres.get("y"))


def coordinates_of(scene: xr.DataArray, pixels: Array) -> Array | None:
    """Return map coordinates (x, y) or (lon, lat) of the centres of pixels (k, 2), or None."""
    rows, columns = pixels.T
    transform = transform_of(scene)
    if transform is not None:
        # Whole numbers are the corners of pixels.
        x, y = to_map(transform, columns + 0.5, rows + 0.5)
        return np.stack([x, y], axis=1)
    if _is_in_sensor_geometry(scene):
        longitude = scene["lon"].values[rows, columns]
        latitude = scene["lat"].values[rows, columns]
        return np.stack([longitude, latitude], axis=1)
    return None


def crs_text(scene: xr.DataArray) -> str | None:
    """Return the CRS of these coordinates as ``EPSG:…`` or WKT, or None."""
    if transform_of(scene) is None and _is_in_sensor_geometry(scene):
        return "EPSG:4326"
    crs = crs_of(scene)
    if crs is None:
        return None
    return str(crs.to_string())


def projected(source: Any, target: Any, x: Array, y: Array) -> Array | None:
    """Return coordinates (2, n) in another CRS; None if one has no place on Earth, as in a room."""
    from rasterio._err import CPLE_BaseError
    from rasterio.errors import RasterioError
    from rasterio.warp import transform

    try:
        return np.asarray(transform(source, target, x, y))
    except (RasterioError, CPLE_BaseError):
        # Errors of GDAL come through as they are.
        return None


def _is_in_sensor_geometry(scene: xr.DataArray) -> bool:
    return "lat" in scene.coords and "lon" in scene.coords


def band_numbers(data: xr.DataArray) -> Array:
    """Return the number of each band in its file, counted from 1, by default its position."""
    if "band_number" in data.coords:
        return np.asarray(data["band_number"].values)
    return np.arange(1, data.sizes["band"] + 1)


def wavelength_ranges(scene: xr.DataArray, chosen: Array) -> str:
    """Return the wavelengths of chosen bands as text, such as ``400–500, 700 nm``."""
    wavelength = scene["wavelength"].values
    order = np.argsort(wavelength, kind="stable")
    places = np.flatnonzero(chosen[order])
    texts = []
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        text = f"{wavelength[order[run[0]]]:.0f}"
        if len(run) > 1:
            text += f"–{wavelength[order[run[-1]]]:.0f}"
        texts.append(text)
    if len(texts) > 6:
        texts = [*texts[:6], "…"]
    return f"{', '.join(texts)} nm"


def number_list(numbers: Array) -> str:
    """Return whole numbers as text, runs of them as ranges, such as ``1–3, 7, 9, 10``."""
    texts = []
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1):
        if len(run) > 2:
            texts.append(f"{run[0]}–{run[-1]}")
        else:
            texts.extend(str(number) for number in run)
    longest = 12  # entries, so that a sentence stays a line
    if len(texts) > longest:
        texts = [*texts[:longest], "…"]
    return ", ".join(texts)


def notes_of(scene: xr.DataArray) -> list[str]:
    """Return what the reader assumed about the file, in sentences."""
    return list(scene.attrs.get(_NOTES, []))


def add_notes(scene: xr.DataArray, *notes: str) -> xr.DataArray:
    """Return the scene with further notes; one that it has already is not repeated."""
    together = list(dict.fromkeys([*notes_of(scene), *notes]))
    # An empty list would be an attribute without a meaning.
    if not together:
        return scene
    scene = scene.copy(deep=False)
    scene.attrs[_NOTES] = together
    return scene


def without_notes(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene without its notes."""
    scene = scene.copy(deep=False)
    scene.attrs.pop(_NOTES, None)
    return scene
