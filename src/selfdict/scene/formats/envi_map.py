"""The place of an ENVI file on the map: ``map info`` and ``coordinate system string``."""

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
from selfdict.scene.georef import to_map

_UTM_DATUMS = {
    "WGS-84": 32600,
    "NORTH AMERICA 1983": 26900,
    "NAD-83": 26900,
    "NORTH AMERICA 1927": 26700,
    "NAD-27": 26700,
}


def read_map(path: Path, fields: Mapping[str, str]) -> tuple[CRS | None, Affine | None]:
    """Return CRS and transform, either None where the header does not say."""
    entries = [entry.strip() for entry in fields.get("map info", "").split(",")]
    if len(entries) < 7:
        return _crs_from_text(fields), None
    try:
        x_pixel, y_pixel, x, y, dx, dy = (float(entry) for entry in entries[1:7])
        options = dict(entry.split("=", 1) for entry in entries[7:] if "=" in entry)
        rotation = math.radians(float(options.get("rotation", 0)))
    except ValueError:
        raise SceneError(
            path, f"'map info' must hold numbers, the header says {', '.join(entries)[:80]!r}"
        ) from None
    if (
        not all(map(math.isfinite, (x_pixel, y_pixel, x, y, dx, dy, rotation)))
        or dx == 0
        or dy == 0
    ):
        raise SceneError(
            path,
            f"'map info' must hold finite numbers, the header says {', '.join(entries)[:80]!r}",
        )
    linear = _turned(dx, dy, rotation)
    # The reference pixel counts from 1, and 1 is the outer corner of the first pixel.
    corner_x, corner_y = to_map(linear, x_pixel - 1, y_pixel - 1)
    transform = Affine(linear.a, linear.b, x - corner_x, linear.d, linear.e, y - corner_y)
    return _crs_from_text(fields) or _crs_from_map_info(entries), transform


def map_fields(crs: Any, transform: Affine | None) -> dict[str, object]:
    """Return the header fields for a CRS and a transform."""
    fields: dict[str, object] = {}
    if transform is not None:
        fields["map info"] = _map_info(crs, transform)
    if crs is not None:
        fields["coordinate system string"] = f"{{{crs.to_wkt(version='WKT1_ESRI')}}}"
    return fields


def _map_info(crs: Any, transform: Affine) -> str:
    dx, dy = math.hypot(transform.a, transform.d), math.hypot(transform.b, transform.e)
    rotation = math.atan2(transform.d, transform.a)
    here = Affine(transform.a, transform.b, 0.0, transform.d, transform.e, 0.0)
    if not _turned(dx, dy, rotation).almost_equals(here, 1e-9 * dx):
        raise InputError(
            f"an ENVI header can turn a grid, not shear or mirror it: transform {tuple(transform)[:6]}"
        )
    name, rest = "Arbitrary", []
    if crs is not None:
        name = "Geographic Lat/Lon" if crs.is_geographic else "Projected"
        utm = _utm_zone(crs)
        if utm is not None:
            name, rest = "UTM", [str(utm[0]), utm[1], "WGS-84"]
        elif crs.to_epsg() == 4326:
            rest = ["WGS-84"]
        rest.append("units=Degrees" if crs.is_geographic else "units=Meters")
    if rotation:
        rest.append(f"rotation={math.degrees(rotation)!r}")
    return f"{{{', '.join([name, '1', '1', repr(transform.c), repr(transform.f), repr(dx), repr(dy), *rest])}}}"


def _turned(dx: float, dy: float, rotation: float) -> Affine:
    """Return a grid of these steps, north up, turned by ``rotation`` (radians); its corner is the origin."""
    cos, sin = (math.cos(rotation), math.sin(rotation)) if rotation else (1.0, 0.0)
    return Affine(cos * dx, sin * dy, 0.0, sin * dx, -cos * dy, 0.0)


def _utm_zone(crs: Any) -> tuple[int, str] | None:
    epsg = crs.to_epsg() or 0
    zone, hemisphere = epsg % 100, {326: "North", 327: "South"}.get(epsg // 100)
    return (zone, hemisphere) if hemisphere and 1 <= zone <= 60 else None


def _crs_from_text(fields: Mapping[str, str]) -> CRS | None:
    text = fields.get("coordinate system string")
    if not text:
        return None
    try:
        with Env():  # else GDAL prints its errors
            crs = CRS.from_wkt(text)
    except CRSError:  # a name GDAL does not know: the grid is still good
        return None
    # An ESRI string has no authority; where it is a well-known system the code says more than the
    # string.
    epsg = crs.to_epsg(confidence_threshold=90)
    return CRS.from_epsg(epsg) if epsg else crs


def _crs_from_map_info(entries: list[str]) -> CRS | None:
    name = entries[0].lower()
    try:
        if name.startswith("geographic"):
            return CRS.from_epsg(4326)
        if name == "utm" and len(entries) > 9:
            base = _UTM_DATUMS.get(entries[9].upper())
            if base is not None:
                south = base == 32600 and entries[8].lower().startswith("s")
                return CRS.from_epsg(base + 100 * south + int(entries[7]))
    except (CRSError, ValueError):
        return None
    return None
