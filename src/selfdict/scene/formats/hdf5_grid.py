"""Where the pixels of a cube in an HDF5 file lie: CRS and transform, or what is missing of them."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from affine import Affine
from rasterio.crs import CRS
from rasterio.errors import CRSError

from selfdict._validation import Array
from selfdict.scene.formats.hdf5 import number_list, plain_dataset, text_attribute
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.packed import load_numbers


@dataclass(frozen=True)
class MapGrid:
    """CRS and transform, each None if it is not known, and notes about them."""

    crs: CRS | None
    transform: Affine | None
    notes: tuple[str, ...] = ()


def crs_from_text(text: str) -> tuple[CRS | None, tuple[str, ...]]:
    """Return the CRS of a WKT or of an EPSG code, or None and a note.

    Examples
    --------
    >>> from selfdict.scene.formats.hdf5_grid import crs_from_text
    >>> crs_from_text("EPSG:32633")[0].to_epsg()
    32633
    >>> crs_from_text("somewhere")
    (None, ("the CRS 'somewhere' in the file is not known",))
    """
    text = text.strip()
    try:
        if re.fullmatch(r"EPSG:[0-9]{1,6}", text, re.IGNORECASE):
            return CRS.from_epsg(int(text[5:])), ()
        # Only what looks like WKT: GDAL would take other text as the name of a file or address.
        if re.match(r"[A-Za-z]+\s*\[", text):
            return CRS.from_wkt(text), ()
    except CRSError:
        pass
    return None, (f"the CRS {text[:60]!r} in the file is not known",)


def transform_from_numbers(values: Array | None) -> Affine | None:
    """Return GDAL's six numbers as a transform, or None if they are none."""
    if values is None or values.size != 6 or not np.isfinite(values).all():
        return None
    transform = Affine.from_gdal(*values.tolist())
    # A grid without area: map coordinates would be those of one line or point.
    if transform.determinant == 0:
        return None
    return transform


def read_grid_mapping(limit: Limit, file: Any, cube: Any) -> MapGrid:
    """Return the grid of a cube as the CF conventions give it, with GDAL's ``GeoTransform``.

    The cube names a variable by its attribute ``grid_mapping``; files of AVIRIS have one that is
    called ``transverse_mercator`` or ``projection``.
    """
    path = limit.path
    mapping = _find_mapping(limit, file, cube)
    if mapping is None:
        note = "the file has no grid mapping: pixels have no map coordinates"
        return MapGrid(None, None, (note,))
    notes: tuple[str, ...] = ()
    crs = None
    # GDAL writes the first name, the CF conventions know the second.
    text = text_attribute(path, mapping, "spatial_ref") or text_attribute(path, mapping, "crs_wkt")
    if text is not None:
        crs, notes = crs_from_text(text)
    transform = transform_from_numbers(number_list(path, mapping, "GeoTransform"))
    return MapGrid(crs, transform, notes)


def _find_mapping(limit: Limit, file: Any, cube: Any) -> Any:
    """Return the variable that describes the grid of a cube, or None."""
    names = ["transverse_mercator", "projection"]
    named = text_attribute(limit.path, cube, "grid_mapping")
    if named is not None:
        names.insert(0, named)
    for name in names:
        mapping = _find_beside(file, cube, name)
        if mapping is not None:
            return mapping
    return None


def _find_beside(file: Any, cube: Any, name: str) -> Any:
    """Return a variable in the group of the cube, or else at the root of the file, or None."""
    # A name in a file may be anything; HDF5 refuses an empty one.
    if not name.strip("/"):
        return None
    group = cube.name.rpartition("/")[0].strip("/")
    # NetCDF looks for variables and dimensions in the group itself first, then around it.
    if group:
        found = plain_dataset(file, f"{group}/{name}")
        if found is not None:
            return found
    return plain_dataset(file, name)


def load_axis(limit: Limit, file: Any, name: str, size: int) -> Array | None:
    """Return the coordinates along an axis as float64, or None if there are none that fit."""
    dataset = plain_dataset(file, name)
    if dataset is None or dataset.shape != (size,) or dataset.dtype.kind not in "iuf":
        return None
    return load_numbers(limit, dataset).astype(np.float64)
