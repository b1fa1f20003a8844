"""Where the pixels of a cube lie: the CRS as WKT, and the transform from columns and rows."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from affine import Affine

from selfdict.files.cube import Array, StoredCube
from selfdict.files.values import parse_numbers, text_of

# How far two positions of a grid may be apart, in pixels, and still be the same. Coordinates in
# single precision are off by less: those of degrees at the steps of EMIT by 0.02.
GRID_TOLERANCE = 0.1
NO_GRID = "the pixels are not on a regular grid, so the maps have no coordinates"


def crs_from_text(text: str) -> tuple[str | None, list[str]]:
    """Return the CRS of a WKT or of an EPSG code as WKT, or None and a note.

    Examples
    --------
    >>> crs_from_text("somewhere")
    (None, ["the CRS 'somewhere' in the file is not known"])
    """
    text = text.strip()
    crs = None
    if re.fullmatch(r"EPSG:[0-9]{1,6}", text, re.IGNORECASE):
        crs = crs_from_epsg(int(text[5:]))
    # Only what looks like WKT: GDAL would take other text as the name of a file or address.
    elif re.match(r"[A-Za-z]+\s*\[", text):
        crs = crs_from_wkt(text)
    if crs is None:
        return None, [f"the CRS {text[:60]!r} in the file is not known"]
    return crs, []


def crs_from_epsg(code: int) -> str | None:
    """Return the CRS of a code as WKT, None if there is none."""
    return _crs_as_wkt(lambda crs: crs.from_epsg(code))


def crs_from_wkt(text: str, *, by_code: bool = False) -> str | None:
    """Return the CRS of a WKT in the form that GDAL writes, None if it is not understood.

    With ``by_code`` it is that of its EPSG code, if it has one: other software compares systems by
    their codes, and a string of ESRI has none.
    """

    def make(crs: Any) -> Any:
        found = crs.from_wkt(text)
        code = found.to_epsg(confidence_threshold=90)
        if by_code and code:
            return crs.from_epsg(code)
        return found

    return _crs_as_wkt(make)


def _crs_as_wkt(make: Callable[[Any], Any]) -> str | None:
    from rasterio import Env
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    try:
        # Within an Env, GDAL does not print its errors.
        with Env():
            return str(make(CRS).to_wkt())
    except CRSError:
        return None


def transform_from_numbers(values: Array | None) -> Affine | None:
    """Return GDAL's six numbers as a transform, or None if they are none."""
    if values is None or values.size != 6 or not np.isfinite(values).all():
        return None
    transform = Affine.from_gdal(*values.tolist())
    # A grid without area: map coordinates would be those of one line or point.
    if transform.determinant == 0:
        return None
    return transform


def add_grid_mapping(cube: StoredCube, path: Path, attrs: Mapping[str, Any]) -> Affine | None:
    """Add the CRS of a grid mapping of the CF conventions; return GDAL's ``GeoTransform`` of it."""
    # GDAL writes the first name, the CF conventions know the second.
    text = attrs.get("spatial_ref", attrs.get("crs_wkt"))
    if text is not None and text_of(text):
        cube.crs, notes = crs_from_text(text_of(text))
        cube.notes += notes
    if attrs.get("GeoTransform") is None:
        return None
    return transform_from_numbers(parse_numbers(path, attrs["GeoTransform"], "GeoTransform"))


def add_epsg(cube: StoredCube, code: float | None, where: str) -> None:
    """Add the CRS by its code, with a note if there is none."""
    if code is None or not np.isfinite(code):
        cube.notes.append(f"the file names no CRS ({where})")
        return
    cube.crs, notes = crs_from_text(f"EPSG:{int(code)}")
    cube.notes += notes


def to_map(transform: Affine, column: Any, row: Any) -> tuple[Any, Any]:
    """Return the map coordinates x, y of grid positions.

    The position (0, 0) is the outer corner of the first pixel.
    """
    return (
        transform.a * column + transform.b * row + transform.c,
        transform.d * column + transform.e * row + transform.f,
    )


def axis_steps(centres: Array, single: float | None = None) -> tuple[float, float] | None:
    """Return step and first edge of equally spaced centres, or None.

    They may be a tenth of a pixel away from equal spacing, since files round them. ``single`` is
    the step of an axis with one pixel.
    """
    centres = centres.astype(float)
    step = single
    if centres.size > 1:
        step = float(centres[-1] - centres[0]) / (centres.size - 1)
        # Positions, not their differences: each is rounded, often to single precision.
        equal = np.linspace(centres[0], centres[-1], centres.size)
        # The comparison is False for NaN, too.
        if step == 0 or not (np.abs(centres - equal) <= GRID_TOLERANCE * abs(step)).all():
            return None
    if step is None:
        return None
    return step, float(centres[0]) - step / 2


def place_grid(stored: Affine | None, x: Array | None, y: Array | None) -> Affine | None:
    """Return the transform of a grid from the stored one and the centres of its pixels.

    The centres may be those of a part of the stored grid, or of every other pixel of it; of a
    rotated grid they count pixels. Each argument may be None.
    """
    if stored is None:
        return _transform_of_centres(x, y, None, None)
    if stored.b or stored.d:
        selected = _transform_of_centres(x, y, 1.0, 1.0)
        if selected is None:
            return stored
        # Compose the two transforms.
        x0, y0 = to_map(stored, selected.c, selected.f)
        return Affine(
            stored.a * selected.a,
            stored.b * selected.e,
            x0,
            stored.d * selected.a,
            stored.e * selected.e,
            y0,
        )
    from_centres = _transform_of_centres(x, y, stored.a, stored.e)
    # The centres are rounded: if both agree, the stored numbers are the exact ones.
    if from_centres is None or x is None or y is None or _agree(from_centres, stored, x, y):
        return stored
    return from_centres


def _transform_of_centres(
    x: Array | None, y: Array | None, single_x: float | None, single_y: float | None
) -> Affine | None:
    """Return the transform that pixel centres give, or None."""
    if x is None or y is None:
        return None
    grid_x = axis_steps(x, single_x)
    grid_y = axis_steps(y, single_y)
    if grid_x is None or grid_y is None:
        return None
    step_x, x0 = grid_x
    step_y, y0 = grid_y
    return Affine(step_x, 0.0, x0, 0.0, step_y, y0)


def _agree(from_centres: Affine, stored: Affine, x: Array, y: Array) -> bool:
    """Whether two transforms without rotation differ by rounding only."""
    if x.dtype.itemsize >= 8 and y.dtype.itemsize >= 8:
        return bool(from_centres.almost_equals(stored, 1e-6 * abs(stored.a)))
    # Single precision: the first and the last edge tell a shift and another step.
    columns = np.array([0, x.size])
    rows = np.array([0, y.size])
    map_x, map_y = to_map(from_centres, columns, rows)
    stored_x, stored_y = to_map(stored, columns, rows)
    x_agrees = np.abs(map_x - stored_x).max() <= GRID_TOLERANCE * abs(stored.a)
    y_agrees = np.abs(map_y - stored_y).max() <= GRID_TOLERANCE * abs(stored.e)
    return bool(x_agrees and y_agrees)
