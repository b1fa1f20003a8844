"""What a GeoTIFF says about its bands, in the tags and descriptions that vendors use."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.scene.model import to_nanometres, unit_note, unit_of

# Names of tags in lower case, the preferred one first.
_WAVELENGTH_TAGS = ("wavelength", "wavelengths", "center_wavelength", "central_wavelength")
_WIDTH_TAGS = ("fwhm", "bandwidth")
_UNIT_TAGS = ("wavelength_units", "wavelength_unit")
_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,9})?"
_UNIT = r"nanomet(?:er|re)s?|micromet(?:er|re)s?|microns?|nm|um|µm|μm"
# "503.2 nm", "Band 12 (0.503 um)"; the unit must end there, so that "5 numbers" is no length.
_WITH_UNIT = re.compile(rf"(?<![0-9.])({_NUMBER})\s*({_UNIT})(?![a-z])", re.IGNORECASE)
# "Green_503", "503.2". Not "Band 12": GDAL and ENVI count bands in this way.
_AT_THE_END = re.compile(rf"(?:^|_)({_NUMBER})$")
# The range of imaging spectrometers, within which a number without a unit may be a wavelength.
_SHORTEST_NM = 300.0
_LONGEST_NM = 15_000.0


def read_bands(file: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what an open file says about its bands, and notes of what was assumed.

    Parameters
    ----------
    file : rasterio.DatasetReader

    Returns
    -------
    band_data : dict
        Arguments of :func:`selfdict.scene.build_scene`.
    notes : list of str
    """
    tags = [_lower_case(file.tags(band)) for band in file.indexes]
    imagery = [file.tags(band, ns="IMAGERY") for band in file.indexes]
    envi = _lower_case(file.tags(ns="ENVI"))
    names = [name or "" for name in file.descriptions]
    notes: list[str] = []
    # The last one counts: GDAL rounds what it writes to its imagery tags.
    band_data = _from_imagery(imagery) | _from_envi(envi, len(tags)) | _from_tags(tags, notes)
    if "wavelength" not in band_data:
        band_data |= _from_names(names, notes)
    if all("good_band" in tag for tag in tags):
        band_data["good_band"] = [tag["good_band"] != "0" for tag in tags]
    elif len(_list(envi, "bbl")) == len(tags):
        band_data["good_band"] = [entry != "0" for entry in _list(envi, "bbl")]
    if any(names):
        band_data["band_name"] = names
    return band_data, notes


def _lower_case(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags by their names in lower case: vendors write wavelength or WAVELENGTH."""
    return {name.lower(): value for name, value in tags.items()}


def _from_tags(tags: list[dict[str, str]], notes: list[str]) -> dict[str, Any]:
    """Return wavelengths and widths from the tags of the bands."""
    found: dict[str, Any] = {}
    texts = _texts(tags, _WAVELENGTH_TAGS)
    if texts is None:
        return found
    listed, unit = _numbers_with_unit(texts)
    if listed is None:
        notes.append("the tags of the bands hold no number as wavelength for every band: not used")
        return found
    if unit is None:
        unit = _first(tags, _UNIT_TAGS)
    notes += unit_note(listed, unit)
    found["wavelength"] = to_nanometres(listed, unit_of(listed, unit))
    widths = _texts(tags, _WIDTH_TAGS)
    if widths is not None:
        width, width_unit = _numbers_with_unit(widths)
        if width is not None:
            # Widths have the unit of the wavelengths; by their size it cannot be guessed.
            found["fwhm"] = to_nanometres(width, width_unit or unit_of(listed, unit))
    return _without_none(found)


def _from_envi(envi: Mapping[str, str], n_bands: int) -> dict[str, Any]:
    """Return wavelengths and widths from the fields of an ENVI header that GDAL has copied."""
    listed = _float_array(_list(envi, "wavelength"))
    if listed is None or listed.size != n_bands:
        return {}
    unit = unit_of(listed, envi.get("wavelength_units"))
    found: dict[str, Any] = {"wavelength": to_nanometres(listed, unit)}
    width = _float_array(_list(envi, "fwhm"))
    if width is not None and width.size == n_bands:
        found["fwhm"] = to_nanometres(width, unit)
    return _without_none(found)


def _from_imagery(imagery: list[dict[str, str]]) -> dict[str, Any]:
    """Return wavelengths and widths from GDAL's own tags, which are in micrometres."""
    found: dict[str, Any] = {}
    for key, tag in (("wavelength", "CENTRAL_WAVELENGTH_UM"), ("fwhm", "FWHM_UM")):
        values = _float_array([tags.get(tag, "") for tags in imagery])
        if values is not None:
            found[key] = to_nanometres(values, "um")
    return found


def _from_names(names: list[str], notes: list[str]) -> dict[str, Any]:
    """Return wavelengths that are parts of the descriptions of the bands."""
    with_unit = [_WITH_UNIT.search(name) for name in names]
    if all(with_unit):
        wavelength = []
        for match in with_unit:
            if match is not None:
                wavelength.append(to_nanometres(float(match[1]), match[2]))
        notes.append(f"wavelengths are taken from the names of the bands, such as {names[0]!r}")
        return {"wavelength": wavelength}
    at_the_end = [_AT_THE_END.search(name) for name in names]
    numbers = [float(match[1]) for match in at_the_end if match is not None]
    if len(numbers) == len(names) and _may_be_nanometres(np.array(numbers)):
        notes.append(
            f"wavelengths are taken from the names of the bands, such as {names[0]!r}, "
            "as nanometres"
        )
        return {"wavelength": numbers}
    n_named = sum(match is not None for match in with_unit)
    n_named = max(n_named, sum(_SHORTEST_NM <= number <= _LONGEST_NM for number in numbers))
    if 0 < n_named < len(names):
        notes.append(
            f"{n_named} of {len(names)} bands have a number in their names that may be a "
            "wavelength: not used"
        )
    return {}


def _may_be_nanometres(numbers: Array) -> bool:
    """Whether numbers without a unit can be wavelengths in nm, and do not just count the bands."""
    in_range = (numbers >= _SHORTEST_NM).all() and (numbers <= _LONGEST_NM).all()
    counts = numbers.size > 1 and bool((np.diff(numbers) == 1).all())
    return bool(in_range) and not counts


def _texts(tags: list[dict[str, str]], names: tuple[str, ...]) -> list[str] | None:
    """Return the first of several tags that all bands have, one text per band."""
    for name in names:
        if all(name in tag for tag in tags):
            return [tag[name] for tag in tags]
    return None


def _first(tags: list[dict[str, str]], names: tuple[str, ...]) -> str | None:
    """Return the first of several tags that the first band has."""
    for name in names:
        if name in tags[0]:
            return tags[0][name]
    return None


def _numbers_with_unit(texts: list[str]) -> tuple[Array | None, str | None]:
    """Return numbers and their unit, None if there is none; no numbers if one cannot be read."""
    values = _float_array(texts)
    if values is not None:
        return values, None
    matches = [_WITH_UNIT.fullmatch(text.strip()) for text in texts]
    numbers = [float(match[1]) for match in matches if match is not None]
    units = {match[2].lower() for match in matches if match is not None}
    if len(numbers) < len(texts) or len(units) != 1:
        return None, None
    return np.array(numbers), units.pop()


def _float_array(texts: list[str]) -> Array | None:
    """Return finite numbers, or None if one of the texts is none, or there are no texts."""
    values = []
    for text in texts:
        try:
            values.append(float(text))
        except ValueError:
            return None
        if not math.isfinite(values[-1]):
            return None
    if not values:
        return None
    return np.array(values)


def _list(tags: Mapping[str, str], name: str) -> list[str]:
    """Return the entries of a list in braces."""
    text = tags.get(name, "").strip().removeprefix("{").removesuffix("}")
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _without_none(found: dict[str, Any]) -> dict[str, Any]:
    """Return what is known; wavelengths in a unit of no length have become None."""
    return {key: value for key, value in found.items() if value is not None}
