"""EMIT: scenes in sensor geometry with a look-up table of the map, and their masks."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import Array, StoredCube
from selfdict.files.formats import is_plain_file
from selfdict.files.grid import add_crs
from selfdict.files.products import Opened, hdf5_product
from selfdict.files.variables import text_of

# The flags of EMIT's masks that leave a pixel out. Water is a surface, too.
_FLAGS = ("cloud flag", "cirrus flag", "spacecraft flag", "dilated cloud flag")
_ADVICE = "give the reflectance, EMIT_L2A_RFL_….nc, or name an array by variable=…"


@hdf5_product(
    "EMIT",
    # The second is at-sensor radiance (L1B), the third belongs to L2A.
    cubes=("reflectance", "radiance", "reflectance_uncertainty"),
    needs=("sensor_band_parameters", "location"),
    refused={
        "sensor_band_parameters/observation_bands": (
            f"this is the observation geometry (angles and distances); {_ADVICE}"
        )
    },
    axes=(2, 0, 1),
    wavelength="sensor_band_parameters/wavelengths",
    fwhm="sensor_band_parameters/fwhm",
    good_band="sensor_band_parameters/good_wavelengths",
)
def _complete(opened: Opened, *, ortho: bool = True, quality: bool = False) -> None:
    """Say what the values are, and put the pixels on the map."""
    cube = opened.cube
    opened.file.require("sensor_band_parameters/wavelengths")
    cube.name = opened.cube_name
    if cube.name != "reflectance":
        cube.notes.append(f"the values are {cube.name!r}, not reflectances")
    if cube.nodata is None:
        cube.nodata = opened.file.node(opened.cube_name).fillvalue.item()
    _use_masks(opened, quality)
    _place(opened, ortho)


def _use_masks(opened: Opened, quality: bool) -> None:
    """Leave out the pixels that the mask file of the scene marks, with ``quality``."""
    from selfdict.files.hdf5 import Hdf5File

    path: Path = opened.file.path
    cube = opened.cube
    masks = path.with_name(re.sub("^EMIT_L[0-9]._[A-Z]+_", "EMIT_L2A_MASK_", path.name))
    has_masks = masks != path and is_plain_file(masks)
    if quality and not has_masks:
        raise InputError(
            "quality=True needs EMIT_L2A_MASK_….nc beside EMIT_L2A_RFL_….nc, with the names of the "
            "product; mask=… takes masks of any name"
        )
    if quality:
        cube.leave_out(_flags(Hdf5File(masks)))
        cube.notes.append(f"pixels that {masks.name} flags as clouds or spacecraft are left out")
    elif has_masks:
        cube.notes.append(f"{masks.name} beside it marks clouds: quality=True leaves them out")


@hdf5_product(
    "EMIT masks",
    cubes=("mask",),
    needs=("sensor_band_parameters/mask_bands", "location"),
    refused={
        "sensor_band_parameters/mask_bands": (
            "these are masks of clouds, water and the like, for mask=… of a scene; " + _ADVICE
        )
    },
    axes=(2, 0, 1),
)
def _complete_masks(opened: Opened, *, ortho: bool = True, as_mask: bool = False) -> None:
    """Make one band of the flags, 1 for pixels to be left out."""
    if as_mask:
        flags = _flags(opened.file)[None].astype(np.uint8)
        # No data: a pixel of the map that the sensor did not see.
        opened.cube = StoredCube.from_array(flags, nodata=255)
        _place(opened, ortho)


def _flags(file: Any) -> Array:
    """Return which pixels of the sensor the masks leave out, (downtrack, crosstrack)."""
    names = file.require("sensor_band_parameters/mask_bands")[()].ravel()
    flags = [k for k, name in enumerate(names) if text_of(name).lower() in _FLAGS]
    is_flagged: Array = (file.require("mask")[()][:, :, flags] == 1).any(axis=2)
    return is_flagged


def _place(opened: Opened, ortho: bool) -> None:
    """Put the pixels on the map by the look-up table, or add their positions."""
    file = opened.file
    cube = opened.cube
    if not ortho:
        for key in ("lat", "lon"):
            positions = file.numbers(f"location/{key}")
            if positions is not None:
                cube.coords[key] = positions
        return
    glt = _look_up_table(opened)
    transform = file.numbers("@geotransform")
    if transform is None or transform.size != 6:
        raise InputError("has a look-up table (GLT) but no geotransform of 6 numbers")
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
        is_unseen = (row < 0) | (column < 0)
        cube.coords["valid"] = cube.coords["valid"][row, column] | is_unseen  # without data
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
        raise InputError(
            f"the look-up table (GLT) refers to pixels outside of {n_rows} × {n_columns}"
        )
    return glt
