"""GeoTIFF through rasterio: tiles and strips, and the tags that vendors put wavelengths into."""

import itertools
import math
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.enums import MaskFlags
from rasterio.errors import NotGeoreferencedWarning
from rasterio.windows import Window

from selfdict.files.band_lengths import UNIT, wavelengths_in
from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.errors import SceneError
from selfdict.files.plain_files import MAX_TEXT_BYTES, check_plain
from selfdict.files.units import to_nanometres, unit_note, unit_of

# Names of tags in lower case, the preferred one first.
_WAVELENGTH_TAGS = ("wavelength", "wavelengths", "center_wavelength", "central_wavelength")
_WIDTH_TAGS = ("fwhm", "bandwidth")
_UNIT_TAGS = ("wavelength_units", "wavelength_unit")
_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,9})?"
# "503.2 nm" as a whole tag.
_WITH_UNIT = re.compile(rf"({_NUMBER})\s*({UNIT})", re.IGNORECASE)


def read(path: Path) -> StoredCube:
    """Read a GeoTIFF; wavelengths come from the tags of its bands or from their names."""
    _check_siblings(path)
    file = open_tiff(path)
    if len(set(file.dtypes)) > 1 or np.dtype(file.dtypes[0]).kind not in "iuf":
        raise SceneError(
            path, f"holds {', '.join(sorted(set(file.dtypes)))}; a scene has one real data type"
        )
    dtype = np.dtype(file.dtypes[0])

    def load(bands: slice, rows: slice, columns: slice) -> Array:
        window = Window(
            columns.start, rows.start, columns.stop - columns.start, rows.stop - rows.start
        )
        numbers = list(range(bands.start + 1, bands.stop + 1))  # rasterio counts bands from 1
        values: Array = file.read(numbers, window=window)
        return values

    band_data, notes = _band_data(file)
    # GDAL returns the identity for a file that has no transform.
    transform = None
    if not file.transform.is_identity:
        transform = file.transform.to_gdal()
    crs = None
    if file.crs is not None:
        crs = file.crs.to_wkt() or None
    return StoredCube(
        load,
        (file.count, file.height, file.width),
        dtype,
        chunk=file.block_shapes[0],
        **band_data,
        crs=crs,
        transform=transform,
        nodata=whole_nodata(file.nodatavals[0], dtype),
        scale_factor=np.array(file.scales),
        add_offset=np.array(file.offsets),
        notes=[*notes, *_mask_notes(file), *_page_notes(file), *_place_notes(file)],
    )


def open_tiff(path: Path) -> Any:
    """Return the file opened by rasterio."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        # Only this driver: a file of another kind under this name could point to files elsewhere.
        return rasterio.open(path, driver="GTiff")


def _check_siblings(path: Path) -> None:
    """Refuse pipes and devices under the names that GDAL looks for beside the image."""
    for suffix in (".aux.xml", ".ovr", ".msk"):
        sibling = path.with_name(path.name + suffix)
        if sibling.is_symlink() or sibling.exists():
            found = check_plain(sibling)
            # GDAL loads this file of statistics and tags, whatever its size.
            if suffix == ".aux.xml" and found.st_size > MAX_TEXT_BYTES:
                raise SceneError(sibling, f"is too large for a header: {found.st_size} bytes")


def _mask_notes(file: Any) -> list[str]:
    """Return a note if the file marks pixels in a way that is not read."""
    flags = set(itertools.chain.from_iterable(file.mask_flag_enums))
    if MaskFlags.alpha in flags:
        return ["the file has an alpha band, which is read as a band like the others"]
    if MaskFlags.per_dataset in flags:
        return ["the file has a mask of its own, which is not read (mask)"]
    return []


def _page_notes(file: Any) -> list[str]:
    """Return a note if the file holds several images, of which GDAL reads the first."""
    n_images = len(file.subdatasets)
    if n_images < 2:
        return []
    return [f"the file holds {n_images} images (pages), of which only the first is read"]


def _place_notes(file: Any) -> list[str]:
    """Return a note if the file says where its pixels lie in a way that is not used."""
    points, _ = file.gcps
    if not points or not file.transform.is_identity:
        return []
    return [
        f"the file has {len(points)} ground control points, which are not used: there are no map "
        "coordinates"
    ]


def _band_data(file: Any) -> tuple[dict[str, Any], list[str]]:
    """Return attributes of a :class:`StoredCube` that tell its bands, and notes."""
    tags = [_lower_case(file.tags(band)) for band in file.indexes]
    imagery = [file.tags(band, ns="IMAGERY") for band in file.indexes]
    envi = _lower_case(file.tags(ns="ENVI"))
    names = [name or "" for name in file.descriptions]
    notes: list[str] = []
    # The last one counts: GDAL rounds what it writes to its imagery tags.
    band_data = _from_imagery(imagery) | _from_envi(envi, len(tags)) | _from_tags(tags, notes)
    if "wavelength" not in band_data:
        wavelength, name_notes = wavelengths_in(names)
        notes += name_notes
        if wavelength is not None:
            band_data["wavelength"] = np.array(wavelength)
    is_good = _good_bands(tags, _list(envi, "bbl"), notes)
    if is_good is not None:
        band_data["good_band"] = is_good
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
        for name in _WAVELENGTH_TAGS:
            notes += _partial_notes(tags, name)
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


def _good_bands(tags: list[dict[str, str]], listed: list[str], notes: list[str]) -> Array | None:
    """Return which bands are good by their tags, else by the list of an ENVI header, or None."""
    texts = _texts(tags, ("good_band",))
    where = "the tags good_band"
    if texts is None:
        notes += _partial_notes(tags, "good_band")
        texts = listed
        where = "bbl"
    if not texts:
        return None
    # As numbers: 0.0 is a bad band, too.
    flags = _float_array(texts)
    if flags is None or flags.size != len(tags):
        notes.append(f"{where} must be a number for each of the {len(tags)} bands: not used")
        return None
    is_good: Array = flags != 0
    return is_good


def _partial_notes(tags: list[dict[str, str]], name: str) -> list[str]:
    """Return a note if some bands have a tag and others have not."""
    n_tagged = sum(name in tag for tag in tags)
    if n_tagged in (0, len(tags)):
        return []
    return [f"{n_tagged} of {len(tags)} bands have the tag {name}: not used"]


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
