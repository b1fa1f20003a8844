"""The georeference of an ENVI file: ``map info`` and ``coordinate system string``.

``map info`` names a projection, a datum and units, and the place of one pixel.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from affine import Affine

from selfdict._errors import InputError
from selfdict.files.errors import SceneError
from selfdict.files.grid import crs_from_epsg, crs_from_wkt, to_map

_WGS84_UTM_NORTH = 32600  # EPSG code of zone 0; that of a southern zone is 100 higher


# EPSG codes: longitude and latitude, zone 0 of UTM in the north and in the south, where there is
# one. By the letters of a name and the last two digits of its year.
_DATUMS: dict[tuple[str, str], tuple[int, int, int | None]] = {
    ("wgs", "84"): (4326, 32600, 32700),
    ("wgs", "72"): (4322, 32200, 32300),
    ("nad", "83"): (4269, 26900, None),
    ("northamerica", "83"): (4269, 26900, None),
    ("nad", "27"): (4267, 26700, None),
    ("northamerica", "27"): (4267, 26700, None),
    ("ed", "50"): (4230, 23000, None),
    ("european", "50"): (4230, 23000, None),
}


def read_map(path: Path, fields: Mapping[str, str]) -> tuple[str | None, Affine | None, list[str]]:
    """Return CRS (WKT) and transform, each None if the header does not say, and notes."""
    crs = None
    notes = []
    text = fields.get("coordinate system string")
    if text:
        crs = crs_from_wkt(text, by_code=True)
        if crs is None:
            # A name in it is not known: the transform can be used all the same.
            notes.append("'coordinate system string' is not understood, and not used")
    listed = fields.get("map info", "")
    entries = [entry.strip() for entry in listed.split(",")]
    if len(entries) < 7:
        if listed:
            notes.append("'map info' has fewer than 7 entries: there are no map coordinates")
        return crs, None, notes
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
        raise SceneError(
            path,
            f"'map info' must hold finite numbers, the header says {', '.join(entries)[:80]!r}",
        ) from None
    linear = _rotated_grid(dx, dy, rotation)
    # The reference pixel is counted from 1, and 1 is the outer corner of the first pixel.
    corner_x, corner_y = to_map(linear, x_pixel - 1, y_pixel - 1)
    transform = Affine(linear.a, linear.b, x - corner_x, linear.d, linear.e, y - corner_y)
    if crs is None:
        code = _epsg_code(entries, options)
        if code is not None:
            crs = crs_from_epsg(code)
        # Software writes "Arbitrary" for a grid that lies nowhere.
        if crs is None and not entries[0].lower().startswith("arbitrary"):
            notes.append(f"the CRS of 'map info' is not known: {', '.join(entries)[:120]!r}")
    return crs, transform, notes


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
            "an ENVI header can turn a grid, not shear or mirror it: "
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
    utm = _utm_zone(crs)
    if utm is not None:
        zone, hemisphere = utm
        return "UTM", [str(zone), hemisphere, "WGS-84", "units=Meters"]
    if not crs.is_geographic:
        return "Projected", ["units=Meters"]
    if crs.to_epsg() == 4326:
        return "Geographic Lat/Lon", ["WGS-84", "units=Degrees"]
    return "Geographic Lat/Lon", ["units=Degrees"]


def _rotated_grid(dx: float, dy: float, rotation: float) -> Affine:
    """Return a north-up grid of these steps, rotated (radians) about its corner, the origin."""
    cos = 1.0
    sin = 0.0
    if rotation:
        cos = math.cos(rotation)
        sin = math.sin(rotation)
    return Affine(cos * dx, sin * dy, 0.0, sin * dx, -cos * dy, 0.0)


def _utm_zone(crs: Any) -> tuple[int, str] | None:
    """Return zone and hemisphere of a UTM system of WGS 84, or None."""
    code = (crs.to_epsg() or 0) - _WGS84_UTM_NORTH
    if 1 <= code <= 60:
        return code, "North"
    if 101 <= code <= 160:
        return code - 100, "South"
    return None


def _epsg_code(entries: list[str], options: Mapping[str, str]) -> int | None:
    """Return the code of the system that ``map info`` names, None if it is not known."""
    units = options.get("units", "").strip().lower()
    # What follows the steps, without options: zone, hemisphere and datum, or the datum alone.
    places = [entry for entry in entries[7:] if "=" not in entry]
    name = entries[0].lower()
    if name.startswith("geographic") and places and units in ("", "degrees", "degree"):
        geographic, _, _ = _datum(places[0])
        return geographic
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
