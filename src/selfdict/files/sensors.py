"""Products of sensors in HDF5 and NetCDF: a table for each, and a function for what it cannot say.

PRISMA, which has a cube for each of two detectors, is in :mod:`selfdict.files.prisma`.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from affine import Affine

from selfdict.files.cube import Array, StoredCube
from selfdict.files.errors import SceneError
from selfdict.files.formats import Opened, hdf5_product
from selfdict.files.grid import NO_GRID, add_crs, add_map, place_grid, transform_from_numbers
from selfdict.files.limits import is_plain_file
from selfdict.files.variables import add_mapping, find_nearby, text_of

# The flags of EMIT's masks that leave a pixel out. Water is a surface, too.
_EMIT_FLAGS = ("cloud flag", "cirrus flag", "spacecraft flag", "dilated cloud flag")
_EMIT_ADVICE = "give the reflectance, EMIT_L2A_RFL_….nc, or name an array by variable=…"


@hdf5_product(
    "EMIT",
    # The second is at-sensor radiance (L1B), the third belongs to L2A.
    cubes=("reflectance", "radiance", "reflectance_uncertainty"),
    needs=("sensor_band_parameters", "location"),
    refused={
        "sensor_band_parameters/observation_bands": (
            f"this is the observation geometry (angles and distances); {_EMIT_ADVICE}"
        )
    },
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
    file.require("sensor_band_parameters/wavelengths")
    cube.name = opened.cube_name
    if cube.name != "reflectance":
        cube.notes.append(f"the values are those of {cube.name!r}, no reflectances")
    if cube.nodata is None:
        cube.nodata = opened.dataset.fillvalue.item()
    _use_emit_masks(opened)
    _place_emit(opened)


def _use_emit_masks(opened: Opened) -> None:
    """Leave out the pixels that the mask file of the scene marks, with ``quality``."""
    from selfdict.files.hdf5 import Hdf5File

    path: Path = opened.file.path
    cube = opened.cube
    masks = path.with_name(re.sub("^EMIT_L[0-9]._[A-Z]+_", "EMIT_L2A_MASK_", path.name))
    has_masks = masks != path and is_plain_file(masks)
    if opened.options.get("quality"):
        if not has_masks:
            raise SceneError(path, f"quality=True needs its masks, {masks.name}, beside it")
        cube.leave_out(_emit_flags(Hdf5File(masks)), masks)
        cube.notes.append(f"pixels that {masks.name} flags as clouds or spacecraft are left out")
    elif has_masks:
        cube.notes.append(f"{masks.name} beside it marks clouds: quality=True leaves them out")


@hdf5_product(
    "EMIT masks",
    cubes=("mask",),
    needs=("sensor_band_parameters/mask_bands", "location"),
    refused={
        "sensor_band_parameters/mask_bands": (
            "these are masks of clouds, water and the like, for mask=… of a scene; " + _EMIT_ADVICE
        )
    },
    axes=(2, 0, 1),
    options=("ortho",),
)
def _complete_emit_masks(opened: Opened) -> None:
    """Make one band of the flags, 1 for pixels to be left out."""
    if opened.options.get("as_mask"):
        flags = _emit_flags(opened.file)[None].astype(np.uint8)
        # No data: a pixel of the map that the sensor did not see.
        opened.cube = StoredCube.from_array(flags, nodata=255)
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
    transform = file.numbers("@geotransform")
    if transform is None or transform.size != 6:
        raise SceneError(file.path, "has a GLT but no geotransform of 6 numbers")
    cube.transform = tuple(transform.tolist())
    add_crs(cube, file.text("@spatial_ref") or "EPSG:4326")
    load_swath = cube.load

    def load(bands: slice, rows: slice, columns: slice) -> Array:
        row, column = glt[:, rows, columns]
        seen = (row >= 0) & (column >= 0)
        values = np.full((bands.stop - bands.start, *seen.shape), cube.nodata, cube.dtype)
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
    """Add the grid of AVIRIS-3, AVIRIS-5 and AVIRIS-NG: a grid mapping, or axes at the root."""
    file = opened.file
    cube = opened.cube
    variables = file.variables()
    nearby = find_nearby(variables, opened.cube_name)
    transform = add_mapping(cube, variables[opened.cube_name], nearby)
    if transform is not None:
        cube.transform = transform.to_gdal()
    easting = file.numbers("easting")
    northing = file.numbers("northing")
    if cube.transform is None and easting is not None and northing is not None:
        cube.notes.append(
            "the file has no GeoTransform: easting and northing are taken as pixel centres"
        )
        cube.coords |= {"x": easting, "y": northing}
        if place_grid(None, easting, northing) is None:
            cube.notes.append(NO_GRID)


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
    if cube.wavelength is None:
        raise SceneError(file.path, "has no wavelengths")
    is_bad = np.zeros(cube.shape[0], dtype=bool)
    for name in ("Band_Window_1_Nanometers", "Band_Window_2_Nanometers"):
        window = file.numbers(f"{opened.group}@{name}")
        if window is not None and window.size == 2:
            # Both ends belong to a window.
            is_bad |= (cube.wavelength >= window[0]) & (cube.wavelength <= window[1])
    cube.mark_bad(is_bad, "lie in the windows of water vapour")
    group = f"{opened.group}/Metadata/Coordinate_System"
    # The code is exact, unlike the name of a datum in the map info.
    code = file.text(f"{group}/EPSG Code").strip()
    if code:
        add_crs(cube, f"EPSG:{code}")
    # The grid is that of an ENVI header.
    fields = {
        "map info": file.text(f"{group}/Map_Info"),
        "coordinate system string": file.text(f"{group}/Coordinate_System_String"),
    }
    add_map(cube, file.path, fields)
    if cube.transform is None:
        cube.notes.append("the file has no Map_Info: there are no map coordinates")


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
    if cube.name == "toa_radiance":
        cube.notes.append("the values are radiances at the top of the atmosphere, not reflectances")
    if file.dataset(f"{opened.group}/beta_cloud_mask") is not None:
        cube.notes.append("the cloud masks of the file are not used (mask)")
    # 1 marks a pixel without data. Other numbers are the fill value of the mask itself.
    marks = file.numbers(f"{opened.group}/nodata_pixels")
    if marks is not None:
        cube.leave_out(marks != 0, file.path)
    if opened.cube_name.startswith(_TANAGER_GRID):
        add_epsg(opened, f"{_TANAGER_GRID}@epsg_code")
        transform = _tanager_transform(opened)
        if transform is None:
            cube.notes.append(
                "the file has no StructMetadata.0 with the corners: there are no map coordinates"
            )
        else:
            cube.transform = transform.to_gdal()
        return
    for key, name in (("lat", "Latitude"), ("lon", "Longitude")):
        positions = file.numbers(f"{_TANAGER_SWATH}/Geolocation Fields/{name}")
        if positions is None or positions.shape != cube.shape[1:]:
            cube.notes.append(f"the file has no {name} of its pixels")
            return
        cube.coords[key] = positions
    cube.notes.append("the scene is in sensor geometry: it has lat and lon, but no map grid")


def add_epsg(opened: Opened, name: str) -> None:
    """Add the CRS by its code, an attribute of the file, or a note that there is none."""
    code = opened.file.number(name)
    if code is None or not np.isfinite(code):
        opened.cube.notes.append(f"the file names no CRS ({name.rpartition('@')[2]})")
    else:
        add_crs(opened.cube, f"EPSG:{int(code)}")


def _tanager_transform(opened: Opened) -> Affine | None:
    """Return the transform that the outer corners in ``StructMetadata.0`` give, or None."""
    text = opened.file.text("HDFEOS INFORMATION/StructMetadata.0")
    corners = []
    for name in ("UpperLeftPointMtrs", "LowerRightMtrs"):
        match = re.search(rf"{name}\s*=\s*\(([-+0-9.eE]+),\s*([-+0-9.eE]+)\)", text)
        if match is None:
            return None
        corners += [float(match[1]), float(match[2])]
    left, top, right, bottom = corners
    # The product registers pixels by their corners (HE5_HDFE_CORNER): the two points are the outer
    # corners of the grid.
    _, n_rows, n_columns = opened.cube.shape
    dx = (right - left) / n_columns
    dy = (bottom - top) / n_rows
    return transform_from_numbers(np.array([left, dx, 0.0, top, 0.0, dy]))
