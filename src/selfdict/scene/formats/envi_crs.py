"""The CRS that ``map info`` of an ENVI header names: a projection, a datum and units."""

from collections.abc import Mapping
from dataclasses import dataclass

from rasterio.crs import CRS
from rasterio.errors import CRSError

_NO_CRS = "there is no CRS"
_METRES = {"meters", "metres", "meter", "metre", "m"}
_DEGREES = {"degrees", "degree"}


@dataclass(frozen=True)
class _Datum:
    """EPSG codes: longitude and latitude, and zone 0 of UTM, None where there are no zones."""

    geographic: int
    north: int
    south: int | None


_WGS84 = _Datum(4326, 32600, 32700)
_WGS72 = _Datum(4322, 32200, 32300)
_NAD83 = _Datum(4269, 26900, None)
_NAD27 = _Datum(4267, 26700, None)
_ED50 = _Datum(4230, 23000, None)
# By name, in capitals, letters and digits only.
_DATUMS = {
    "WGS84": _WGS84,
    "WGS1984": _WGS84,
    "WGS72": _WGS72,
    "WGS1972": _WGS72,
    "NORTHAMERICA1983": _NAD83,
    "NAD83": _NAD83,
    "NAD1983": _NAD83,
    "NORTHAMERICA1927": _NAD27,
    "NAD27": _NAD27,
    "NAD1927": _NAD27,
    "EUROPEAN1950": _ED50,
    "ED50": _ED50,
}


def crs_from_map_info(
    entries: list[str], options: Mapping[str, str]
) -> tuple[CRS | None, list[str]]:
    """Return the CRS, or None and a note that says what is not known.

    Parameters
    ----------
    entries : list of str
        The field, separated by commas.
    options : mapping
        Its entries with ``=``, by their names in small letters.

    Examples
    --------
    >>> entries = ["Geographic Lat/Lon", "1", "1", "10", "50", "0.1", "0.1", "North America 1927"]
    >>> crs_from_map_info(entries, {"units": "Degrees"})[0].to_epsg()
    4267
    >>> crs_from_map_info(["Albers", "1", "1", "0", "0", "30", "30"], {})
    (None, ["the projection 'Albers' of 'map info' is not known: there is no CRS"])
    """
    name = entries[0].lower()
    units = options.get("units", "").strip()
    # What follows the steps, without options: zone, hemisphere and datum, or the datum alone.
    places = [entry for entry in entries[7:] if "=" not in entry]
    if name.startswith("geographic"):
        if units and units.lower() not in _DEGREES:
            return None, [_unit_note(units)]
        if not places or not places[0]:
            return CRS.from_epsg(4326), ["'map info' names no datum: WGS-84 is assumed"]
        datum = _datum(places[0])
        if datum is None:
            return None, [_datum_note(places[0])]
        return CRS.from_epsg(datum.geographic), []
    if name == "utm":
        if units and units.lower() not in _METRES:
            return None, [_unit_note(units)]
        return _utm(places)
    # Software writes it for a grid that lies nowhere.
    if name.startswith("arbitrary"):
        return None, []
    return None, [f"the projection {entries[0][:40]!r} of 'map info' is not known: {_NO_CRS}"]


def _utm(places: list[str]) -> tuple[CRS | None, list[str]]:
    if len(places) < 3:
        return None, [f"'map info' names no zone and datum of UTM: {_NO_CRS}"]
    datum = _datum(places[2])
    if datum is None:
        return None, [_datum_note(places[2])]
    zero = datum.north
    is_south = places[1].lower().startswith("s")
    unknown = f"UTM has no zone {places[0][:10]!r} {places[1][:10]!r} of this datum: {_NO_CRS}"
    if is_south:
        if datum.south is None:
            return None, [unknown]
        zero = datum.south
    try:
        zone = int(places[0])
        if not 1 <= zone <= 60:
            return None, [unknown]
        return CRS.from_epsg(zero + zone), []
    except (CRSError, ValueError):
        return None, [unknown]


def _datum(name: str) -> _Datum | None:
    return _DATUMS.get("".join(mark for mark in name.upper() if mark.isalnum()))


def _datum_note(name: str) -> str:
    return f"the datum {name[:40]!r} of 'map info' is not known: {_NO_CRS}"


def _unit_note(units: str) -> str:
    return f"'map info' is in {units[:40]!r}, which its projection is not read in: {_NO_CRS}"
