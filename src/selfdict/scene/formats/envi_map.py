"""The georeference of an ENVI file: ``map info`` and ``coordinate system string``."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from affine import Affine
from rasterio import Env
from rasterio.crs import CRS
from rasterio.errors import CRSError

from selfdict._errors import InputError
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.envi_crs import crs_from_map_info
from selfdict.scene.georef import to_map

_WGS84_UTM_NORTH = 32600  # EPSG code of zone 0; that of a southern zone is 100 higher


def read_map(path: Path, fields: Mapping[str, str]) -> tuple[CRS | None, Affine | None, list[str]]:
    """Return CRS and transform, each None if the header does not say, and notes."""
    crs, notes = _crs_from_text(fields)
    listed = fields.get("map info", "")
    entries = [entry.strip() for entry in listed.split(",")]
    if len(entries) < 7:
        if listed:
            notes.append("'map info' has fewer than 7 entries: there are no map coordinates")
        return crs, None, notes
    try:
        x_pixel, y_pixel, x, y, dx, dy = (float(entry) for entry in entries[1:7])
        options = {}
        for entry in entries[7:]:
            name, equals, value = entry.partition("=")
            if equals:
                options[name.strip().lower()] = value
        rotation = math.radians(float(options.get("rotation", 0)))
    except ValueError:
        raise SceneError(
            path, f"'map info' must hold numbers, the header says {', '.join(entries)[:80]!r}"
        ) from None
    is_finite = all(map(math.isfinite, (x_pixel, y_pixel, x, y, dx, dy, rotation)))
    if not is_finite or dx == 0 or dy == 0:
        raise SceneError(
            path,
            f"'map info' must hold finite numbers, the header says {', '.join(entries)[:80]!r}",
        )
    linear = _rotated_grid(dx, dy, rotation)
    # The reference pixel is counted from 1, and 1 is the outer corner of the first pixel.
    corner_x, corner_y = to_map(linear, x_pixel - 1, y_pixel - 1)
    transform = Affine(linear.a, linear.b, x - corner_x, linear.d, linear.e, y - corner_y)
    if not crs:
        crs, map_notes = crs_from_map_info(entries, options)
        notes += map_notes
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


def _crs_from_text(fields: Mapping[str, str]) -> tuple[CRS | None, list[str]]:
    """Return the CRS of ``coordinate system string``, or None and a note if there is one."""
    text = fields.get("coordinate system string")
    if not text:
        return None, []
    try:
        # Within an Env, GDAL does not print its errors.
        with Env():
            crs = CRS.from_wkt(text)
    except CRSError:
        # GDAL does not know a name in it: the transform can be used all the same.
        return None, ["'coordinate system string' is not understood, and not used"]
    # An ESRI string names no authority, but other software compares systems by their codes.
    epsg = crs.to_epsg(confidence_threshold=90)
    if epsg:
        return CRS.from_epsg(epsg), []
    return crs, []
