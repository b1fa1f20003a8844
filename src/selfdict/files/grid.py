"""Where the pixels of a cube lie: the CRS as WKT, and the transform from columns and rows."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from affine import Affine

from selfdict._errors import InputError
from selfdict.files.cube import Array, StoredCube

# How far two positions of a grid may be apart, in pixels, and still be the same. Coordinates in
# single precision are off by less: those of degrees at the steps of EMIT by 0.02.
GRID_TOLERANCE = 0.1
NO_GRID = "the pixels are not on a regular grid, so the maps have no coordinates"


def add_crs(cube: StoredCube, text: str) -> None:
    """Add the CRS of a WKT or of ``EPSG:code``, or a note that it is not known."""
    cube.crs = crs_from_text(text)
    if cube.crs is None:
        cube.notes.append(f"the CRS {text.strip()[:60]!r} in the file is not known")


def add_epsg(cube: StoredCube, code: float | None, name: str) -> None:
    """Add the CRS of a code that the file has under a name, or a note that it has none."""
    if code is None or not np.isfinite(code):
        cube.notes.append(f"the file names no CRS ({name})")
    else:
        add_crs(cube, f"EPSG:{int(code)}")


def crs_from_text(text: str) -> str | None:
    """Return the CRS of a WKT or of ``EPSG:code`` as GDAL writes WKT, None if it is not known."""
    from rasterio import Env
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    text = text.strip()
    code = re.fullmatch("EPSG:([0-9]{1,6})", text, re.IGNORECASE)
    # Only what looks like WKT: GDAL would take other text as the name of a file or address.
    if code is None and re.match(r"[A-Za-z]+\s*\[", text) is None:
        return None
    try:
        # Within an Env, GDAL does not print its errors.
        with Env():
            if code is not None:
                return str(CRS.from_epsg(int(code[1])).to_wkt())
            crs = CRS.from_wkt(text)
            # Other software compares systems by their codes, and a string of ESRI has none.
            known = crs.to_epsg(confidence_threshold=90)
            if known:
                crs = CRS.from_epsg(known)
            return str(crs.to_wkt())
    except CRSError:
        return None


def transform_from_numbers(values: Array | None) -> Affine | None:
    """Return GDAL's six numbers as a transform, or None if they make none."""
    if values is None or values.size != 6 or not np.isfinite(values).all():
        return None
    transform = Affine.from_gdal(*values.tolist())
    # A grid without area: map coordinates would be those of one line or point.
    if transform.determinant == 0:
        return None
    return transform


def to_map(transform: Affine, column: Any, row: Any) -> tuple[Any, Any]:
    """Return the map coordinates x, y of grid positions.

    The position (0, 0) is the outer corner of the first pixel.
    """
    return (
        transform.a * column + transform.b * row + transform.c,
        transform.d * column + transform.e * row + transform.f,
    )


def place_grid(stored: Affine | None, x: Array | None, y: Array | None) -> Affine | None:
    """Return the transform of a grid from the stored one and the centres of its pixels.

    The centres may be those of a part of the stored grid, or of every other pixel of it; of a
    rotated grid they count pixels. Each argument may be None.
    """
    if x is None or y is None:
        return stored
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
    placed = _transform_of_centres(x, y, stored.a, stored.e)
    if placed is None:
        return stored
    # The centres are rounded, the stored numbers are exact: the first and the last edge tell a
    # shift and another step.
    corners = (np.array([0, x.size]), np.array([0, y.size]))
    for ours, theirs, step in zip(
        to_map(placed, *corners), to_map(stored, *corners), (stored.a, stored.e)
    ):
        if np.abs(ours - theirs).max() > GRID_TOLERANCE * abs(step):
            return placed
    return stored


def _transform_of_centres(
    x: Array, y: Array, single_x: float | None, single_y: float | None
) -> Affine | None:
    """Return the transform that pixel centres give, or None."""
    grid_x = _axis_steps(x, single_x)
    grid_y = _axis_steps(y, single_y)
    if grid_x is None or grid_y is None:
        return None
    step_x, x0 = grid_x
    step_y, y0 = grid_y
    return Affine(step_x, 0.0, x0, 0.0, step_y, y0)


def _axis_steps(centres: Array, single: float | None) -> tuple[float, float] | None:
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


# The field ``map info`` of ENVI headers names a projection, the place of one pixel, steps, a datum
# and units. EPSG codes: longitude and latitude, zone 0 of UTM in the north and in the south, where
# there is one. By the letters of a name and the last two digits of its year.
_WGS84_UTM_NORTH = 32600
_DATUMS: dict[tuple[str, str], tuple[int, int, int | None]] = {
    ("wgs", "84"): (4326, _WGS84_UTM_NORTH, 32700),
    ("wgs", "72"): (4322, 32200, 32300),
    ("nad", "83"): (4269, 26900, None),
    ("northamerica", "83"): (4269, 26900, None),
    ("nad", "27"): (4267, 26700, None),
    ("northamerica", "27"): (4267, 26700, None),
    ("ed", "50"): (4230, 23000, None),
    ("european", "50"): (4230, 23000, None),
}


def add_map(cube: StoredCube, fields: Mapping[str, str]) -> None:
    """Add transform and CRS of ``map info`` and ``coordinate system string``, unless it has one."""
    text = fields.get("coordinate system string")
    if text and cube.crs is None:
        cube.crs = crs_from_text(text)
        if cube.crs is None:
            # A name in it is not known: the transform can be used all the same.
            cube.notes.append("'coordinate system string' is not understood, and not used")
    listed = fields.get("map info", "")
    entries = [entry.strip() for entry in listed.split(",")]
    if len(entries) < 7:
        if listed:
            cube.notes.append("'map info' has fewer than 7 entries: there are no map coordinates")
        return
    options = {}
    for entry in entries[7:]:
        name, equals, value = entry.partition("=")
        if equals:
            options[name.strip().lower()] = value
    try:
        x_pixel, y_pixel, x, y, dx, dy = (float(entry) for entry in entries[1:7])
        rotation = math.radians(float(options.get("rotation", 0)))
        if not all(map(math.isfinite, (x_pixel, y_pixel, x, y, dx, dy, rotation))) or not dx * dy:
            raise ValueError
    except ValueError:
        raise InputError(
            f"'map info' must hold finite numbers, the header says {listed[:80]!r}"
        ) from None
    linear = _rotated_grid(dx, dy, rotation)
    # The reference pixel is counted from 1, and 1 is the outer corner of the first pixel.
    corner_x, corner_y = to_map(linear, x_pixel - 1, y_pixel - 1)
    cube.transform = (x - corner_x, linear.a, linear.b, y - corner_y, linear.d, linear.e)
    if cube.crs is None:
        code = _epsg_code(entries, options)
        if code is not None:
            cube.crs = crs_from_text(f"EPSG:{code}")
        # Software writes "Arbitrary" for a grid that lies nowhere.
        if cube.crs is None and not entries[0].lower().startswith("arbitrary"):
            cube.notes.append(f"the CRS of 'map info' is not known: {listed[:120]!r}")


def _epsg_code(entries: list[str], options: Mapping[str, str]) -> int | None:
    """Return the code of the system that ``map info`` names, None if it is not known."""
    units = options.get("units", "").strip().lower()
    # What follows the steps, without options: zone, hemisphere and datum, or the datum alone.
    places = [entry for entry in entries[7:] if "=" not in entry]
    name = entries[0].lower()
    if name.startswith("geographic") and places and units in ("", "degrees", "degree"):
        return _datum(places[0])[0]
    is_metric = units in ("", "meters", "metres", "meter", "metre", "m")
    if name == "utm" and len(places) >= 3 and is_metric:
        _, zero, south = _datum(places[2])
        if places[1].lower().startswith("s"):
            zero = south
        # The codes that follow those of the 60 zones are of other systems.
        is_zone = re.fullmatch("0?[1-9]|[1-5][0-9]|60", places[0]) is not None
        if zero is not None and is_zone:
            return zero + int(places[0])
    return None


def _datum(name: str) -> tuple[int | None, int | None, int | None]:
    letters = "".join(re.findall("[a-z]", name.lower()))
    digits = "".join(re.findall("[0-9]", name))
    return _DATUMS.get((letters, digits[-2:]), (None, None, None))


def _rotated_grid(dx: float, dy: float, rotation: float) -> Affine:
    """Return a north-up grid of these steps, rotated (radians) about its corner, the origin."""
    cos = math.cos(rotation)
    sin = math.sin(rotation)
    return Affine(cos * dx, sin * dy, 0.0, sin * dx, -cos * dy, 0.0)


def map_fields(crs: Any, transform: Affine | None) -> dict[str, object]:
    """Return the header fields for a CRS and a transform."""
    fields: dict[str, object] = {}
    if transform is not None:
        fields["map info"] = _map_info(crs, transform)
    if crs is not None:
        fields["coordinate system string"] = f"{{{crs.to_wkt(version='WKT1_ESRI')}}}"
    return fields


def _map_info(crs: Any, transform: Affine) -> str:
    """Return the field ``map info``: projection, reference pixel, its position, steps, options."""
    dx = math.hypot(transform.a, transform.d)
    dy = math.hypot(transform.b, transform.e)
    rotation = math.atan2(transform.d, transform.a)
    linear = Affine(transform.a, transform.b, 0.0, transform.d, transform.e, 0.0)
    # The field holds two steps and an angle, which is less than four numbers can express.
    if not _rotated_grid(dx, dy, rotation).almost_equals(linear, 1e-9 * dx):
        raise InputError(
            "an ENVI header can describe a rotated grid, not a sheared or mirrored one: "
            f"transform {tuple(transform)[:6]}"
        )
    name, options = _projection(crs)
    if rotation:
        options.append(f"rotation={math.degrees(rotation)!r}")
    # repr keeps all digits.
    position = [repr(transform.c), repr(transform.f), repr(dx), repr(dy)]
    return f"{{{', '.join([name, '1', '1', *position, *options])}}}"


def _projection(crs: Any) -> tuple[str, list[str]]:
    """Return the name of a CRS in ``map info``, and the entries that follow the steps."""
    if crs is None:
        return "Arbitrary", []
    # 100 is added in the south.
    hemisphere, zone = divmod((crs.to_epsg() or 0) - _WGS84_UTM_NORTH, 100)
    if hemisphere in (0, 1) and 1 <= zone <= 60:
        return "UTM", [str(zone), ("North", "South")[hemisphere], "WGS-84", "units=Meters"]
    if not crs.is_geographic:
        return "Projected", ["units=Meters"]
    if crs.to_epsg() == 4326:
        return "Geographic Lat/Lon", ["WGS-84", "units=Degrees"]
    return "Geographic Lat/Lon", ["units=Degrees"]
