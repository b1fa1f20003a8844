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

from selfdict._errors import InputError
from selfdict.files import envi
from selfdict.files.cube import Array, StoredCube, parse_floats, whole_nodata
from selfdict.files.formats import check_plain, header_names, is_plain_file, tiff_of_header
from selfdict.files.wavelengths import add_stac_bands, describe_bands, wavelengths_in

# Names of tags in lower case, the preferred one first.
_WAVELENGTH_TAGS = ("wavelength", "wavelengths", "center_wavelength", "central_wavelength")


def read(path: Path) -> StoredCube:
    """Read a GeoTIFF, named by itself or by an ENVI header beside it."""
    if path.suffix.lower() == ".hdr":
        path = tiff_of_header(path) or path
    cube = read_image(path)
    for name in header_names(path):
        # A header beside a data file of ENVI describes that file.
        is_of_image = is_plain_file(name) and tiff_of_header(name) is not None
        if cube.wavelength is None and is_of_image:
            header = envi.Header(name)
            if header.shape() == cube.shape:
                add_header(cube, header)
                cube.notes.append(f"its bands are described by {name.name} beside it")
            else:
                cube.notes.append(f"{name.name} beside it describes another image: not used")
    return cube


def read_image(path: Path) -> StoredCube:
    """Read a GeoTIFF without a header beside it."""
    _check_siblings(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        # Only this driver: a file of another kind under this name could point to files elsewhere.
        file = rasterio.open(path, driver="GTiff")
    cube = describe(file)
    cube.held = path.stat().st_size
    return cube


def describe(file: Any) -> StoredCube:
    """Return the cube of an open dataset of rasterio."""
    if len(set(file.dtypes)) > 1 or np.dtype(file.dtypes[0]).kind not in "iuf":
        raise InputError(
            f"holds {', '.join(sorted(set(file.dtypes)))}; a scene has one real data type"
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


def add_header(cube: StoredCube, header: envi.Header) -> None:
    """Add what an ENVI header beside the image says about its bands and values."""
    envi.describe(cube, header)
    cube.add_nodata(header.number("data ignore value"))
    if cube.scale_factor is not None and np.any(cube.scale_factor != 1):
        return
    # Other software writes scaled values as floating-point numbers, and copies the header.
    if cube.dtype.kind != "f":
        envi.add_scale(cube, header)
    elif any(name.endswith(("gain values", "scale factor")) for name in header.fields):
        cube.notes.append(f"the values are {cube.dtype}: they are assumed to be scaled already")


def _notes(file: Any) -> list[str]:
    """Return notes about what the file holds and is not read."""
    notes = []
    flags = set(itertools.chain.from_iterable(file.mask_flag_enums))
    if MaskFlags.alpha in flags:
        notes.append("the file has an alpha band, which is read as a band like the others")
    elif MaskFlags.per_dataset in flags:
        notes.append("the file has a mask of its own, which is not read (mask=…)")
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
    """Add what tags and names say about the bands; the last of several lists counts."""
    whole = _lower_case([file.tags()])
    # GDAL takes the colon of a tag for the end of its name. STAC 1.1 has no colon there.
    (stac,) = whole.get("eo:bands") or whole.get("eo") or whole.get("bands") or [""]
    # A tag that is not JSON says nothing about bands.
    with contextlib.suppress(ValueError):
        add_stac_bands(cube, json.loads(stac.removeprefix("bands=")))
    # Of GDAL, which rounds them.
    imagery = _lower_case([file.tags(band, ns="IMAGERY") for band in file.indexes])
    rounded = {
        "wavelength": imagery.get("central_wavelength_um", []),
        "fwhm": imagery.get("fwhm_um", []),
        "wavelength_units": ["um"],
    }
    # The fields of an ENVI header that GDAL has copied.
    copied = {name: _list(text) for name, (text,) in _lower_case([file.tags(ns="ENVI")]).items()}
    tags = _lower_case([file.tags(band) for band in file.indexes])
    for fields in (rounded, copied, tags):
        _add_fields(cube, fields)
    names = [name or "" for name in file.descriptions]
    if cube.wavelength is None:
        cube.wavelength = wavelengths_in(names)
        if cube.wavelength is not None:
            cube.notes.append(
                f"wavelengths are taken from the names of the bands, such as {names[0][:60]!r}"
            )
    if any(names):
        cube.band_name = names


def _lower_case(tags: list[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the texts of tags by name: vendors write wavelength or WAVELENGTH."""
    texts: dict[str, list[str]] = {}
    for each in tags:
        for name, text in each.items():
            texts.setdefault(name.lower(), []).append(text)
    return texts


def _list(text: str) -> list[str]:
    """Return the entries of a list in braces."""
    entries = text.strip().removeprefix("{").removesuffix("}").split(",")
    return [entry.strip() for entry in entries if entry.strip()]


def _add_fields(cube: StoredCube, fields: Mapping[str, list[str]]) -> None:
    """Add wavelengths, widths and good bands from texts by name, one for each band."""
    texts = _texts(cube, fields, *_WAVELENGTH_TAGS)
    if texts:
        units = fields.get("wavelength_units", []) + fields.get("wavelength_unit", [])
        unit = next(iter(units), None)
        wavelength = _float_array(texts)
        if wavelength is None:
            # "503.2 nm" as a whole tag.
            wavelength = wavelengths_in(texts)
            unit = "nm"
        if wavelength is None:
            cube.notes.append(
                "the tags of the bands hold no number as wavelength for every band: not used"
            )
        else:
            width = _float_array(_texts(cube, fields, "fwhm", "bandwidth"))
            describe_bands(cube, wavelength, unit, width)
    texts = _texts(cube, fields, "good_band", "bbl")
    if texts:
        # As numbers: 0.0 is a bad band, too.
        flags = _float_array(texts)
        if flags is None:
            cube.notes.append("the tags good_band or bbl are not numbers: not used")
        else:
            cube.good_band = flags != 0


def _texts(cube: StoredCube, fields: Mapping[str, list[str]], *names: str) -> list[str]:
    """Return the first of several fields that has a text for each band."""
    n_bands = cube.shape[0]
    for name in names:
        texts = fields.get(name, [])
        if len(texts) == n_bands:
            return texts
        if texts:
            cube.notes.append(f"{len(texts)} of {n_bands} bands have the tag {name}: not used")
    return []


def _float_array(texts: list[str]) -> Array | None:
    """Return numbers, NaN where one is missing; None for other texts, or if none is finite."""
    values = parse_floats(texts)
    if values is None or np.isinf(values).any() or not np.isfinite(values).any():
        return None
    return values
