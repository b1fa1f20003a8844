"""Products of sensors in HDF5 and NetCDF: a table for each, and a function for what it cannot say.

PRISMA, which has a cube for each of two detectors, is in :mod:`selfdict.files.prisma`.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from affine import Affine

from selfdict.files.cube import Array
from selfdict.files.envi_map import read_map
from selfdict.files.errors import SceneError
from selfdict.files.grid import (
    GRID_TOLERANCE,
    NO_GRID,
    add_epsg,
    crs_from_text,
    place_grid,
    to_map,
    transform_from_numbers,
)
from selfdict.files.hdf5_file import Hdf5File
from selfdict.files.limits import is_plain_file
from selfdict.files.products import Opened, hdf5_product
from selfdict.files.values import parse_numbers, text_of

# The flags of EMIT's masks that leave a pixel out. Water is a surface, too.
_EMIT_FLAGS = ("cloud flag", "cirrus flag", "spacecraft flag", "dilated cloud flag")


def _emit_file(path: Path, product: str) -> Path:
    """Return the file of another product of the same scene, ``EMIT_L2A_RFL_001_…`` for RFL."""
    return path.with_name(re.sub("^EMIT_L[0-9]._[A-Z]+_", f"EMIT_L2A_{product}_", path.name))


def _emit_advice(path: Path) -> str:
    """Return which file to give instead of one without reflectances."""
    reflectance = _emit_file(path, "RFL")
    if reflectance == path:
        return "give the file of the reflectance (RFL), or name an array by variable=…"
    where = "of the same scene"
    if reflectance.exists():
        where = "beside it"
    return f"give {reflectance.name} {where}, or name an array by variable=…"


def _refuse_observation(path: Path) -> str:
    return f"this is the observation geometry (angles and distances); {_emit_advice(path)}"


def _refuse_masks(path: Path) -> str:
    advice = _emit_advice(path)
    return f"these are masks of clouds, water and the like, for mask=… of a scene; {advice}"


@hdf5_product(
    "EMIT",
    # The second is at-sensor radiance (L1B), the third belongs to L2A.
    cubes=("reflectance", "radiance", "reflectance_uncertainty"),
    needs=("sensor_band_parameters", "location"),
    refused={"sensor_band_parameters/observation_bands": _refuse_observation},
    axes=(2, 0, 1),
    wavelength="sensor_band_parameters/wavelengths",
    fwhm="sensor_band_parameters/fwhm",
    good_band="sensor_band_parameters/good_wavelengths",
    options=("ortho", "quality"),
)
def _complete_emit(opened: Opened) -> None:
    """Tell the product, and put its pixels on the map."""
    file = opened.file
    cube = opened.cube
    if file.named_axes(opened.dataset) not in (None, opened.product.axes):
        raise SceneError(
            file.path, f"the axes of {opened.cube_name} must be downtrack, crosstrack, bands"
        )
    file.require("sensor_band_parameters/wavelengths")
    cube.name = opened.cube_name
    if cube.name != "reflectance":
        note = f"the values are those of {cube.name!r}, no reflectances"
        reflectance = _emit_file(file.path, "RFL")
        if reflectance != file.path:
            note = f"{note}, which are in {reflectance.name}"
        cube.notes.append(note)
    if cube.nodata is None:
        cube.nodata = opened.dataset.fillvalue.item()
    masks = _emit_file(file.path, "MASK")
    if opened.options.get("quality"):
        if masks == file.path or not is_plain_file(masks):
            raise SceneError(file.path, f"quality=True needs its masks, {masks.name}, beside it")
        is_flagged = _emit_flags(Hdf5File(masks))
        if is_flagged.shape != cube.shape[1:]:
            raise SceneError(masks, f"must have the shape {cube.shape[1:]}, got {is_flagged.shape}")
        cube.coords["valid"] = ~is_flagged
        cube.notes.append(f"pixels that {masks.name} flags as clouds or spacecraft are left out")
    elif masks != file.path and is_plain_file(masks):
        cube.notes.append(f"{masks.name} beside it marks clouds: quality=True leaves them out")
    _place_emit(opened)


@hdf5_product(
    "EMIT masks",
    cubes=("mask",),
    needs=("sensor_band_parameters/mask_bands", "location"),
    refused={"sensor_band_parameters/mask_bands": _refuse_masks},
    axes=(2, 0, 1),
    options=("ortho",),
)
def _complete_emit_masks(opened: Opened) -> None:
    """Make one band of the flags, 1 for pixels to be left out."""
    cube = opened.cube
    if not opened.options.get("as_mask"):
        return
    flags = _emit_flags(opened.file)[None].astype(np.uint8)

    def load(bands: slice, rows: slice, columns: slice) -> Array:
        return flags[bands, rows, columns]

    cube.load = load
    cube.shape = flags.shape
    cube.dtype = flags.dtype
    # A pixel of the map that the sensor did not see.
    cube.nodata = 255
    _place_emit(opened)


def _emit_flags(file: Any) -> Array:
    """Return which pixels of the sensor the masks leave out, (downtrack, crosstrack)."""
    names = file.require("sensor_band_parameters/mask_bands")[()].ravel()
    flags = [k for k, name in enumerate(names) if text_of(name).lower() in _EMIT_FLAGS]
    is_flagged: Array = (file.cube("mask")[()][:, :, flags] == 1).any(axis=2)
    return is_flagged


def _place_emit(opened: Opened) -> None:
    """Put the pixels on the map by the look-up table, or add their positions."""
    file = opened.file
    cube = opened.cube
    if not opened.options.get("ortho", True):
        for key in ("lat", "lon"):
            positions = file.numbers(f"location/{key}")
            if positions is not None:
                cube.coords[key] = positions
        return
    glt = _look_up_table(opened)
    transform = file.attribute_numbers(file.root, "geotransform")
    if transform is None or transform.size != 6:
        raise SceneError(file.path, "has a GLT but no geotransform of 6 numbers")
    cube.transform = tuple(transform.tolist())
    cube.crs, notes = crs_from_text(file.attribute_text(file.root, "spatial_ref") or "EPSG:4326")
    cube.notes += notes
    load_swath = cube.load
    fill = cube.nodata

    def load(bands: slice, rows: slice, columns: slice) -> Array:
        row, column = glt[:, rows, columns]
        seen = (row >= 0) & (column >= 0)
        values = np.full((bands.stop - bands.start, *seen.shape), fill, cube.dtype)
        if seen.any():
            row = row[seen]
            column = column[seen]
            top = row.min()
            left = column.min()
            # One read of the enclosing window is faster than one per pixel.
            part = load_swath(bands, slice(top, row.max() + 1), slice(left, column.max() + 1))
            values[:, seen] = part[:, row - top, column - left]
        return values

    cube.load = load
    if "valid" in cube.coords:
        row, column = glt
        is_valid = cube.coords["valid"][row, column]
        cube.coords["valid"] = is_valid & (row >= 0) & (column >= 0)
    cube.shape = (cube.shape[0], *glt.shape[1:])
    # Square tiles of the map: the lines of the sensor run across the map at an angle, so that a row
    # of the map would touch many of them.
    cube.chunk = (128, 128)


def _look_up_table(opened: Opened) -> Array:
    """Return the row and the column of the sensor for each pixel of the map; −1: not seen."""
    tables = [opened.file.require(f"location/{name}")[()] for name in ("glt_y", "glt_x")]
    # The table counts from 1. It is negative for a gap filled from a neighbour, and 0 for a pixel
    # the sensor did not see.
    glt: Array = np.abs(np.stack(tables).astype(np.int64)) - 1
    _, n_rows, n_columns = opened.cube.shape
    if glt.ndim != 3 or (glt >= np.reshape((n_rows, n_columns), (2, 1, 1))).any():
        raise SceneError(
            opened.file.path,
            f"the GLT points outside the {n_rows} × {n_columns} pixels of the sensor",
        )
    return glt


@hdf5_product(
    "AVIRIS",
    cubes=("reflectance/reflectance",),
    needs=("reflectance/wavelength",),
    wavelength="wavelength",
    fwhm="fwhm",
    good_band="good_wavelengths",
)
def _complete_aviris(opened: Opened) -> None:
    """Add the grid of AVIRIS-3, AVIRIS-5 and AVIRIS-NG: a grid mapping, and axes at the root."""
    file = opened.file
    cube = opened.cube
    file.add_grid(cube, opened.cube_name, opened.dataset)
    axes = []
    for name, size in (("easting", cube.shape[2]), ("northing", cube.shape[1])):
        centres = file.numbers(name)
        if centres is None or centres.shape != (size,) or centres.dtype.kind not in "iuf":
            return
        axes.append(centres.astype(np.float64))
    easting, northing = axes
    if cube.transform is None:
        cube.notes.append(
            "the file has no GeoTransform: easting and northing are taken as pixel centres"
        )
        cube.coords |= {"x": easting, "y": northing}
        if place_grid(None, easting, northing) is None:
            cube.notes.append(NO_GRID)
        return
    transform = Affine.from_gdal(*cube.transform)
    # The first and the last pixel: a shift or another step shows in one of them.
    columns = np.array([0, easting.size - 1])
    rows = np.array([0, northing.size - 1])
    x, y = to_map(transform, columns + 0.5, rows + 0.5)
    distance = np.hypot(easting[columns] - x, northing[rows] - y).max()
    if not distance < GRID_TOLERANCE * np.sqrt(abs(transform.determinant)):
        cube.notes.append(
            f"easting and northing are up to {distance:.3g} away from the pixel centres of the "
            "GeoTransform, which is used"
        )


@hdf5_product(
    "NEON",
    cubes=("*/Reflectance/Reflectance_Data",),
    axes=(2, 0, 1),
    wavelength="Metadata/Spectral_Data/Wavelength",
    fwhm="Metadata/Spectral_Data/FWHM",
    divisor="Scale_Factor",
    nodata="Data_Ignore_Value",
)
def _complete_neon(opened: Opened) -> None:
    """Mark the bands at which water vapour absorbs all light, and add the grid of a NEON site."""
    file = opened.file
    cube = opened.cube
    file.require(f"{opened.group}/{opened.product.wavelength}")
    site = opened.cube_name.partition("/")[0]
    cube_of_a_site = opened.cube_name.partition("/")[2]
    others = [name for name in file.members(most=100) if name != site]
    others = [name for name in others if file.dataset(f"{name}/{cube_of_a_site}") is not None]
    if others:
        cube.notes.append(
            f"{site} is read, the other sites are not: {', '.join(others[:5])} (variable)"
        )
    windows = []
    for name in ("Band_Window_1_Nanometers", "Band_Window_2_Nanometers"):
        window = file.attribute_numbers(file.group(opened.group), name)
        if window is not None and window.size == 2:
            windows.append(window)
    if windows and cube.wavelength is not None:
        is_good = np.ones(cube.shape[0], dtype=bool)
        # Both ends belong to a window.
        for low, high in windows:
            is_good &= ~((cube.wavelength >= low) & (cube.wavelength <= high))
        cube.good_band = is_good
        cube.notes.remove("the file marks no bands as bad")
        spans = " and ".join(f"{low:.0f}–{high:.0f} nm" for low, high in windows)
        cube.notes.append(f"the bands in the water vapour windows {spans} are marked as bad")
    _add_neon_grid(opened, f"{opened.group}/Metadata/Coordinate_System")


def _add_neon_grid(opened: Opened, group: str) -> None:
    """Add CRS and transform: an ENVI ``map info``, and the code of the CRS."""
    file = opened.file
    cube = opened.cube
    fields = {}
    for key, name in (
        ("map info", "Map_Info"),
        ("coordinate system string", "Coordinate_System_String"),
    ):
        text = file.text(f"{group}/{name}")
        if text is not None:
            fields[key] = text
    cube.crs, transform, map_notes = read_map(file.path, fields)
    # The code is exact, other than a name of a datum in the map info.
    code = file.dataset(f"{group}/EPSG Code")
    if code is not None:
        numbers = parse_numbers(file.path, code[()], "EPSG Code")
        if numbers.size == 1 and np.isfinite(numbers[0]):
            named, notes = crs_from_text(f"EPSG:{int(numbers[0])}")
            if named is not None:
                cube.crs = named
                map_notes = []
            cube.notes += notes
    cube.notes += map_notes
    if transform is None:
        cube.notes.append("the file has no Map_Info: there are no map coordinates")
    else:
        cube.transform = transform.to_gdal()


_TANAGER_GRID = "HDFEOS/GRIDS/HYP"
_TANAGER_SWATH = "HDFEOS/SWATHS/HYP"


@hdf5_product(
    "Tanager",
    # On a map grid ("ortho"), or as the sensor saw it ("basic").
    cubes=tuple(
        f"{root}/Data Fields/{name}"
        for root in (_TANAGER_GRID, _TANAGER_SWATH)
        for name in ("surface_reflectance", "toa_radiance")
    ),
    axes=(0, 1, 2),
    wavelength="@wavelengths",
    fwhm="@fwhm",
    good_band="@good_wavelengths",
    units="@wavelength_units",
)
def _complete_tanager(opened: Opened) -> None:
    """Mask pixels without data, and add the grid or the positions of the pixels."""
    file = opened.file
    cube = opened.cube
    cube.name = opened.cube_name.rpartition("/")[2]
    # The specification of the product says nanometres.
    cube.notes = [note for note in cube.notes if not note.endswith("are taken as nm")]
    if cube.wavelength is None:
        sizes = " × ".join(str(size) for size in cube.shape)
        cube.notes.append(f"the axes {sizes} are taken as band, y, x, the order of the product")
    if cube.name == "toa_radiance":
        cube.notes.append("the values are radiances at the top of the atmosphere, not reflectances")
    elif file.dataset(f"{opened.group}/toa_radiance") is not None:
        cube.notes.append("the file has toa_radiance, too, which is not read (variable)")
    if file.dataset(f"{opened.group}/beta_cloud_mask") is not None:
        cube.notes.append("the cloud masks of the file are not used (mask)")
    marked = file.dataset(f"{opened.group}/nodata_pixels")
    if marked is None:
        cube.notes.append("the file has no nodata_pixels")
    elif marked.shape != cube.shape[1:]:
        raise SceneError(
            file.path, f"nodata_pixels must have the shape {cube.shape[1:]}, got {marked.shape}"
        )
    else:
        # 1 marks a pixel without data. Other numbers are the fill value of the mask itself.
        cube.coords["valid"] = marked[()] == 0
    if opened.cube_name.startswith(_TANAGER_GRID):
        _add_tanager_grid(opened)
        return
    for key, name in (("lat", "Latitude"), ("lon", "Longitude")):
        positions = file.numbers(f"{_TANAGER_SWATH}/Geolocation Fields/{name}")
        if positions is None or positions.shape != cube.shape[1:]:
            cube.notes.append(f"the file has no {name} of its pixels")
            return
        cube.coords[key] = positions
    cube.notes.append("the scene is in sensor geometry: it has lat and lon, but no map grid")


def _add_tanager_grid(opened: Opened) -> None:
    """Add CRS and transform of an ortho product."""
    file = opened.file
    cube = opened.cube
    group = file.group(_TANAGER_GRID)
    framing = _tanager_framing(opened)
    code = file.attribute_number(group, "epsg_code")
    if code is None:
        codes = _json_numbers(framing.get("epsg_code"))
        if codes is not None and codes.size == 1:
            code = float(codes[0])
    add_epsg(cube, code, "epsg_code")
    transform = _tanager_transform(opened)
    if transform is None:
        transform = transform_from_numbers(_json_numbers(framing.get("geotransform")))
    if transform is None:
        cube.notes.append("the corners of the grid are missing: there are no map coordinates")
    else:
        cube.transform = transform.to_gdal()


def _tanager_transform(opened: Opened) -> Affine | None:
    """Return the transform that the outer corners in ``StructMetadata.0`` give, or None."""
    text = opened.file.text("HDFEOS INFORMATION/StructMetadata.0")
    if text is None:
        return None
    corners = []
    for name in ("UpperLeftPointMtrs", "LowerRightMtrs"):
        number = r"\s*([-+0-9.eE]{1,40})\s*"
        match = re.search(rf"{name}\s*=\s*\({number},{number}\)", text)
        if match is None:
            return None
        try:
            corners += [float(match[1]), float(match[2])]
        except ValueError:
            return None
    left, top, right, bottom = corners
    # The product registers pixels by their corners (HE5_HDFE_CORNER): the two points are the outer
    # corners of the grid.
    _, n_rows, n_columns = opened.cube.shape
    dx = (right - left) / n_columns
    dy = (bottom - top) / n_rows
    return transform_from_numbers(np.array([left, dx, 0.0, top, 0.0, dy]))


def _tanager_framing(opened: Opened) -> dict[str, Any]:
    """Return the attribute ``Planet_Ortho_Framing``, unless it is about a grid of another shape."""
    _, n_rows, n_columns = opened.cube.shape
    for name in (_TANAGER_GRID, f"{_TANAGER_GRID}/Data Fields"):
        text = opened.file.attribute_text(opened.file.group(name), "Planet_Ortho_Framing")
        if text is None:
            continue
        try:
            framing = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(framing, dict):
            continue
        # A framing without sizes cannot be compared.
        if framing.get("rows", n_rows) == n_rows and framing.get("cols", n_columns) == n_columns:
            return framing
    return {}


def _json_numbers(value: Any) -> Array | None:
    """Return numbers from JSON as float64 (n,), or None if they are none."""
    if value is None:
        return None
    try:
        return np.asarray(value, dtype=np.float64).ravel()
    except (OverflowError, TypeError, ValueError):
        return None
