"""GeoTIFF through rasterio: tiles and strips, and the tags that vendors put wavelengths into."""

import contextlib
import itertools
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.enums import MaskFlags
from rasterio.errors import NotGeoreferencedWarning
from rasterio.windows import Window

from selfdict.files import envi
from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.errors import SceneError
from selfdict.files.formats import header_names, tiff_of_header
from selfdict.files.limits import check_plain, is_plain_file
from selfdict.files.wavelengths import (
    add_stac_bands,
    describe_bands,
    to_nanometres,
    wavelengths_in,
)

# Names of tags in lower case, the preferred one first.
_WAVELENGTH_TAGS = ("wavelength", "wavelengths", "center_wavelength", "central_wavelength")


def read(path: Path) -> StoredCube:
    """Read a GeoTIFF, named by itself or by an ENVI header beside it.

    Wavelengths come from the tags of its bands, from their names, or from the header.
    """
    if path.suffix.lower() == ".hdr":
        image = tiff_of_header(path)
        if image is None:
            raise SceneError(path, "has no GeoTIFF beside it")
        path = image
    _check_siblings(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        # Only this driver: a file of another kind under this name could point to files elsewhere.
        file = rasterio.open(path, driver="GTiff")
    cube = describe(file, path)
    cube.held = path.stat().st_size
    for header in header_names(path):
        # A header beside a data file of ENVI describes that file.
        is_of_image = is_plain_file(header) and tiff_of_header(header) is not None
        if cube.wavelength is None and is_of_image:
            _add_header(cube, header)
    return cube


def describe(file: Any, path: Path) -> StoredCube:
    """Return the cube of an open dataset of rasterio."""
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

    cube = StoredCube(
        load,
        (file.count, file.height, file.width),
        dtype,
        chunk=file.block_shapes[0],
        nodata=whole_nodata(file.nodatavals[0], dtype),
        scale_factor=np.array(file.scales),
        add_offset=np.array(file.offsets),
    )
    # GDAL returns the identity for a file that has no transform.
    if not file.transform.is_identity:
        cube.transform = file.transform.to_gdal()
    if file.crs is not None:
        cube.crs = file.crs.to_wkt() or None
    _describe_bands(cube, file)
    cube.notes += _notes(file)
    return cube


def _check_siblings(path: Path) -> None:
    """Refuse pipes and devices under the names that GDAL looks for beside the image."""
    for suffix in (".aux.xml", ".ovr", ".msk"):
        sibling = path.with_name(path.name + suffix)
        if sibling.is_symlink() or sibling.exists():
            check_plain(sibling)


def _add_header(cube: StoredCube, path: Path) -> None:
    """Add what an ENVI header beside the image says about its bands."""
    header = envi.Header(path)
    sizes = tuple(header.integer(name, 1) for name in ("bands", "lines", "samples"))
    if sizes != cube.shape:
        cube.notes.append(f"{path.name} beside it describes another image: not used")
        return
    envi.describe(cube, header)
    if cube.wavelength is not None:
        cube.notes.append(f"wavelengths are taken from {path.name} beside it")
    if cube.nodata is None:
        cube.nodata = whole_nodata(header.number("data ignore value"), cube.dtype)
    # Floating-point numbers are scaled already, as a rule.
    if (cube.gains() == 1).all() and cube.dtype.kind != "f":
        cube.scale_factor, cube.add_offset, notes = envi.read_scale(header, cube.shape[0])
        cube.notes += notes


def _notes(file: Any) -> list[str]:
    """Return notes about what the file holds and is not read."""
    notes = []
    flags = set(itertools.chain.from_iterable(file.mask_flag_enums))
    if MaskFlags.alpha in flags:
        notes.append("the file has an alpha band, which is read as a band like the others")
    elif MaskFlags.per_dataset in flags:
        notes.append("the file has a mask of its own, which is not read (mask)")
    n_images = len(file.subdatasets)
    if n_images > 1:
        notes.append(f"the file holds {n_images} images (pages), of which only the first is read")
    points, _ = file.gcps
    if points and file.transform.is_identity:
        notes.append(
            f"the file has {len(points)} ground control points, which are not used: there are no "
            "map coordinates"
        )
    return notes


def _describe_bands(cube: StoredCube, file: Any) -> None:
    """Add what tags and names say about the bands."""
    tags = [_lower_case(file.tags(band)) for band in file.indexes]
    copied = _lower_case(file.tags(ns="ENVI"))
    names = [name or "" for name in file.descriptions]
    # The last one counts: GDAL rounds what it writes to its imagery tags.
    imagery = [file.tags(band, ns="IMAGERY") for band in file.indexes]
    for key, tag in (("wavelength", "CENTRAL_WAVELENGTH_UM"), ("fwhm", "FWHM_UM")):
        values = _float_array([tags.get(tag, "") for tags in imagery])
        if values is not None:
            setattr(cube, key, to_nanometres(values, "um"))
    _add_envi(cube, copied)
    whole = _lower_case(file.tags())
    # GDAL takes the colon of a tag for the end of its name.
    stac = whole.get("eo:bands", whole.get("eo", "").removeprefix("bands="))
    # A tag that is no JSON says nothing about bands.
    with contextlib.suppress(ValueError):
        add_stac_bands(cube, json.loads(stac))
    _add_tags(cube, tags)
    if cube.wavelength is None:
        cube.wavelength = wavelengths_in(names)
        if cube.wavelength is not None:
            cube.notes.append(
                f"wavelengths are taken from the names of the bands, such as {names[0][:60]!r}"
            )
    _add_good_bands(cube, tags, _list(copied, "bbl"))
    if any(names):
        cube.band_name = names


def _lower_case(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags by their names in lower case: vendors write wavelength or WAVELENGTH."""
    return {name.lower(): value for name, value in tags.items()}


def _add_envi(cube: StoredCube, fields: Mapping[str, str]) -> None:
    """Add wavelengths and widths from the fields of an ENVI header that GDAL has copied."""
    listed = _float_array(_list(fields, "wavelength"))
    if listed is None or listed.size != cube.shape[0]:
        return
    width = _float_array(_list(fields, "fwhm"))
    if width is not None and width.size != listed.size:
        width = None
    describe_bands(cube, listed, fields.get("wavelength_units"), width)


def _add_tags(cube: StoredCube, tags: list[dict[str, str]]) -> None:
    """Add wavelengths and widths from the tags of the bands."""
    texts = _texts(tags, _WAVELENGTH_TAGS)
    if texts is None:
        for name in _WAVELENGTH_TAGS:
            cube.notes += _partial_notes(tags, name)
        return
    unit = None
    listed = _float_array(texts)
    if listed is None:
        # "503.2 nm" as a whole tag.
        listed = wavelengths_in(texts)
        unit = "nm"
    if listed is None:
        cube.notes.append(
            "the tags of the bands hold no number as wavelength for every band: not used"
        )
        return
    for name in ("wavelength_units", "wavelength_unit"):
        unit = unit or tags[0].get(name)
    width = _float_array(_texts(tags, ("fwhm", "bandwidth")) or [])
    describe_bands(cube, listed, unit, width)


def _add_good_bands(cube: StoredCube, tags: list[dict[str, str]], listed: list[str]) -> None:
    """Add which bands are good by their tags, else by the list of an ENVI header."""
    texts = _texts(tags, ("good_band", "bbl"))
    where = "the tags good_band"
    if texts is None:
        cube.notes += _partial_notes(tags, "good_band")
        texts = listed
        where = "bbl"
    if not texts:
        return
    # As numbers: 0.0 is a bad band, too.
    flags = _float_array(texts)
    if flags is None or flags.size != len(tags):
        cube.notes.append(f"{where} must be a number for each of the {len(tags)} bands: not used")
        return
    cube.good_band = flags != 0


def _partial_notes(tags: list[dict[str, str]], name: str) -> list[str]:
    """Return a note if some bands have a tag and others have not."""
    n_tagged = sum(name in tag for tag in tags)
    if n_tagged in (0, len(tags)):
        return []
    return [f"{n_tagged} of {len(tags)} bands have the tag {name}: not used"]


def _texts(tags: list[dict[str, str]], names: tuple[str, ...]) -> list[str] | None:
    """Return the first of several tags that all bands have, one text per band."""
    for name in names:
        if all(name in tag for tag in tags):
            return [tag[name] for tag in tags]
    return None


def _float_array(texts: list[str]) -> Array | None:
    """Return finite numbers, or None if one of the texts is none, or there are no texts."""
    try:
        values = np.array([float(text) for text in texts])
    except ValueError:
        return None
    if values.size == 0 or not np.isfinite(values).all():
        return None
    return values


def _list(tags: Mapping[str, str], name: str) -> list[str]:
    """Return the entries of a list in braces."""
    text = tags.get(name, "").strip().removeprefix("{").removesuffix("}")
    return [entry.strip() for entry in text.split(",") if entry.strip()]
