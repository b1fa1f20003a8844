"""EnMAP and DESIS: an image beside a file with wavelengths, gains and offsets of its bands."""

import re
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from selfdict._errors import InputError, SceneError
from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.formats import file_format, product_files, read_bytes, tiff_of_header
from selfdict.files.wavelengths import describe_bands, kept_bands

# EOLab adds _COG to the names of its images.
_IMAGE = r"(|.*-)SPECTRAL_IMAGE(?:_COG)?\.(?:tiff?|bsq|bil|bip)"
_HEADER = r"(|.*-)SPECTRAL_IMAGE\.hdr"
_METADATA = r"(|.*-)METADATA\.xml"
_CLOUDS = [rf"(|.*-)QL_QUALITY_{name}\.tiff?" for name in ("CLOUD", "CLOUDSHADOW", "CIRRUS")]
# What EnMAP's metadata tell about bands, one element for each of them.
_BANDS = "specific/bandCharacterisation/bandID"


def _product(path: Path) -> tuple[str, Path | None, Path | None, Path | None]:
    """Return whose product a file belongs to ("" for nobody's), image, header and metadata."""
    image, header, metadata = product_files(path, _IMAGE, _HEADER, _METADATA)
    if image is None:
        return "", None, None, None
    name = image.name.upper()
    is_tiff = image.suffix.lower() in (".tif", ".tiff")
    # A header describes the data file of ENVI beside it, and a GeoTIFF only if there is none.
    if header is not None and is_tiff and tiff_of_header(header) is None:
        header = None
    is_enmap = name.startswith("ENMAP")
    sensor = ""
    if is_tiff and (name.startswith("DESIS") or (header is not None and not is_enmap)):
        sensor = "desis"
    # Any other ENVI file may be called SPECTRAL_IMAGE, too.
    elif is_tiff or is_enmap or metadata is not None:
        sensor = "enmap"
    return sensor, image, header, metadata


def _required(path: Path) -> tuple[Path, Path | None, Path | None]:
    _, image, header, metadata = _product(path)
    if image is None:
        raise InputError("contains no …SPECTRAL_IMAGE.TIF")
    return image, header, metadata


def _files_of(wanted: str, path: Path) -> list[Path]:
    sensor, *files = _product(path)
    if sensor != wanted:
        return []
    return [file for file in files if file is not None]


@file_format("desis", title="DESIS", find=partial(_files_of, "desis"))
def read_desis(path: Path) -> StoredCube:
    """Read a product of DESIS, named by its image, its header, its metadata or its folder."""
    from selfdict.files import envi, geotiff

    image, sidecar, _ = _required(path)
    cube = geotiff.read_image(image)
    if sidecar is None:
        cube.notes.append("…SPECTRAL_IMAGE.hdr is missing: the image is read as a plain GeoTIFF")
        return cube
    header = envi.Header(sidecar)
    if header.shape() != cube.shape:
        raise SceneError(
            header.path, f"declares the size {header.shape()}, but the image has {cube.shape}"
        )
    # Those of the image are about scales and wavelengths that the header replaces.
    cube.notes = []
    geotiff.add_header(cube, header)
    _assume_nodata(cube)
    if "-L1" in image.name.upper():
        cube.notes.append("the values are radiances at the sensor (level 1)")
    cube.mark_bad(_empty_bands(cube), "hold no data")
    return cube


@file_format("enmap", suffixes=(".xml",), title="EnMAP", find=partial(_files_of, "enmap"))
def read_enmap(path: Path, *, overlap: str | None = None, quality: bool = False) -> StoredCube:
    """Read a product of EnMAP, named by its image, by its metadata or by its folder."""
    from selfdict.files import envi, geotiff

    image, _, metadata = _required(path)
    if image.suffix.lower() in (".tif", ".tiff"):
        cube = geotiff.read_image(image)
    else:
        cube = envi.read(image)
    if metadata is not None:
        _add_metadata(cube, metadata, overlap)
    elif overlap is not None:
        raise InputError("overlap needs the file …METADATA.XML, which is missing")
    else:
        cube.notes.append("…METADATA.XML, which has the wavelengths and scales, is missing")
    _use_layers(cube, image, quality)
    return cube


def _add_metadata(cube: StoredCube, path: Path, overlap: str | None) -> None:
    """Add what the XML file says about bands and values, and choose the bands of two detectors."""
    # Those of the image are about scales and wavelengths that the metadata replace.
    cube.notes = []
    root = ElementTree.fromstring(read_bytes(path))
    for element in root.iter():
        # Without the namespace.
        element.tag = str(element.tag).rpartition("}")[2]
    wavelength = _band_numbers(root, path, "wavelengthCenterOfBand", cube.shape[0])
    if wavelength is None:
        raise SceneError(path, f"has no {_BANDS}: it does not describe EnMAP bands")
    fwhm = _band_numbers(root, path, "FWHMOfBand", cube.shape[0])
    describe_bands(cube, wavelength, "nm", fwhm)
    gain = _band_numbers(root, path, "GainOfBand", cube.shape[0])
    offset = _band_numbers(root, path, "OffsetOfBand", cube.shape[0])
    if gain is None and offset is None:
        cube.notes.append("…METADATA.XML has no gains: values are taken as they are stored")
    # Products hold 16-bit numbers. Other software writes scaled values as floating-point numbers,
    # under the same name as a rule.
    elif cube.dtype.kind == "f":
        cube.notes.append(f"the values are {cube.dtype}: they are assumed to be scaled already")
    else:
        cube.notes.append("gains and offsets of …METADATA.XML are applied: value · gain + offset")
        cube.scale_factor = gain
        cube.add_offset = offset
    level = _text(root, "base/level")
    if level.upper().startswith("L1"):
        cube.name = "radiance"
        cube.notes.append(f"the values are radiances at the sensor (level {level})")
    background = _text(root, "specific/backgroundValue")
    if background:
        cube.add_nodata(float(background))
    _assume_nodata(cube)
    is_vnir, is_expected = _detectors(root, cube.shape[0])
    is_empty = _empty_bands(cube) | ~is_expected
    cube.mark_bad(is_empty, "hold no data")
    if is_vnir is not None:
        keep, notes = kept_bands(wavelength, is_vnir, ~is_empty, overlap)
        cube.keep_bands(keep)
        cube.notes += notes
    elif overlap is not None:
        raise SceneError(path, "does not say which detector a band belongs to")
    else:
        cube.notes.append(
            "…METADATA.XML does not say which detector a band belongs to: all bands are kept"
        )


def _band_numbers(root: ElementTree.Element, path: Path, tag: str, n_bands: int) -> Array | None:
    """Return one number per band in the order of the bands, None if there are none."""
    values = []
    order = []
    for band in root.findall(_BANDS):
        text = band.findtext(tag)
        if text is not None:
            values.append(float(text))
            order.append(int(band.attrib["number"]))
    if not values:
        return None
    if not np.isfinite(values).all() or sorted(order) != list(range(1, n_bands + 1)):
        raise SceneError(
            path,
            f"{tag} must be a finite number for each of the {n_bands} bands of the image, there "
            f"are {len(values)}",
        )
    return np.array(values)[np.argsort(order)]


def _detectors(root: ElementTree.Element, n_bands: int) -> tuple[Array | None, Array]:
    """Return which bands belong to VNIR, None if that is not known, and which to any detector."""
    belongs = np.zeros((2, n_bands), dtype=bool)
    for k, detector in enumerate(("vnir", "swir")):
        # Some lists end with a comma. Elsewhere an empty entry is a number that is missing.
        listed = _text(root, f"specific/{detector}ProductQuality/expectedChannelsList")
        for number in listed.rstrip(",").split(","):
            # At most eight digits: Python refuses to convert thousands.
            is_number = re.fullmatch("[0-9]{1,8}", number.strip())
            if not is_number or not 1 <= int(number) <= n_bands:
                return None, np.ones(n_bands, dtype=bool)
            belongs[k, int(number) - 1] = True
    return belongs[0], belongs[0] | belongs[1]


def _text(root: ElementTree.Element, place: str) -> str:
    return (root.findtext(place) or "").strip()


def _use_layers(cube: StoredCube, image: Path, quality: bool) -> None:
    """Leave out pixels in which a quality layer beside the image is not 0, with ``quality``."""
    from selfdict.files import geotiff

    layers = [file for file in product_files(image, _IMAGE, *_CLOUDS)[1:] if file is not None]
    if not quality:
        if layers:
            cube.notes.append("its quality layers mark clouds: quality=True leaves them out")
        return
    if not layers:
        raise SceneError(image, "quality=True needs the layers …-QL_QUALITY_….TIF beside it")
    for path in layers:
        marked = geotiff.read_image(path)
        _, n_rows, n_columns = marked.shape
        marks = marked.load(slice(0, 1), slice(0, n_rows), slice(0, n_columns))[0]
        cube.leave_out((marks != 0) & (marks != marked.nodata))
    cube.notes.append("pixels that its quality layers mark as clouds or their shadows are left out")


def _assume_nodata(cube: StoredCube) -> None:
    """Set the no-data value that products have as a rule, if none is declared."""
    if cube.nodata is None:
        cube.nodata = whole_nodata(-32768, cube.dtype)
        cube.notes.append("the product declares no no-data value: -32768 is assumed")


def _empty_bands(cube: StoredCube) -> Array:
    """Return which bands are no-data in all pixels of a sample that hold data in another band."""
    n_bands, n_rows, n_columns = cube.shape
    has_data = np.zeros(n_bands, dtype=bool)
    for rows in _windows(n_rows):
        for columns in _windows(n_columns):
            values = cube.load(slice(0, n_bands), rows, columns).reshape(n_bands, -1)
            has_data |= (values != cube.nodata).any(axis=1)
    # A sample outside the swath tells nothing about the bands.
    if not has_data.any():
        return has_data
    return ~has_data


def _windows(size: int) -> list[slice]:
    """Return three parts of an axis with the same distances, which cover a short one."""
    centres = (size // 6, size // 2, 5 * size // 6)
    return [slice(max(0, centre - 8), min(size, centre + 8)) for centre in centres]
