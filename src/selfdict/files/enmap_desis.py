"""EnMAP and DESIS: an image beside a file with wavelengths, gains and offsets of its bands.

EnMAP: ``STEM-SPECTRAL_IMAGE`` is a GeoTIFF (``.TIF``) or an ENVI file (``.BSQ``, ``.BIL``,
``.BIP``) of 16-bit numbers, beside ``STEM-METADATA.XML``. DESIS: a GeoTIFF beside an ENVI header of
the same name. Names inside a sidecar are never used: all files are in one folder.
"""

import contextlib
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.errors import SceneError
from selfdict.files.formats import ENVI_SUFFIXES
from selfdict.files.limits import is_plain_file, read_bytes
from selfdict.files.wavelengths import check_overlap, describe_bands, kept_bands

# EOLab adds _COG to the names of its images.
_IMAGE = re.compile(r"(|.*-)SPECTRAL_IMAGE(_COG)?\.(tif|tiff|bsq|bil|bip)", re.IGNORECASE)
_HEADER = re.compile(r"(|.*-)SPECTRAL_IMAGE\.hdr", re.IGNORECASE)
_METADATA = re.compile(r"(|.*-)METADATA\.xml", re.IGNORECASE)
_IMAGE_SUFFIXES = (".tif", ".tiff", ".bsq", ".bil", ".bip")
# What EnMAP's metadata tell about bands, one element for each of them.
_BAND_FIELDS = {
    "wavelength": "specific/bandCharacterisation/bandID/wavelengthCenterOfBand",
    "fwhm": "specific/bandCharacterisation/bandID/FWHMOfBand",
    "gain": "specific/bandCharacterisation/bandID/GainOfBand",
    "offset": "specific/bandCharacterisation/bandID/OffsetOfBand",
    "spread": "product/bandStatistics/bandID/stdDeviation",
}
_VNIR = "specific/vnirProductQuality/expectedChannelsList"
_SWIR = "specific/swirProductQuality/expectedChannelsList"
_MAX_XML_BYTES = 8 * 2**20  # metadata of products take one or two megabytes
_USUAL_NODATA = -32768  # of EnMAP and of DESIS
_QUALITY_LAYERS = ("CLOUD", "CLOUDSHADOW", "CIRRUS")


@dataclass(frozen=True)
class Product:
    """The files of a product; those but the image may be missing."""

    image: Path  # a GeoTIFF, or the data file of ENVI
    header: Path | None  # of ENVI
    metadata: Path | None  # XML

    @property
    def is_geotiff(self) -> bool:
        """Whether the image is a GeoTIFF."""
        return self.image.suffix.lower() in (".tif", ".tiff")

    @property
    def format(self) -> str | None:
        """The name of the format, None for an ENVI file that is no product."""
        name = self.image.name.upper()
        if not self.is_geotiff:
            if self.metadata is None and not name.startswith("ENMAP"):
                return None
            return "enmap"
        if name.startswith("DESIS"):
            return "desis"
        # Only DESIS describes a GeoTIFF by an ENVI header.
        if self.header is not None and not name.startswith("ENMAP"):
            return "desis"
        return "enmap"

    def files(self) -> list[Path]:
        """Return the files that exist."""
        return [file for file in (self.image, self.header, self.metadata) if file is not None]


def find_product(path: Path) -> Product | None:
    """Return the product that a file or a folder belongs to, None if it is named otherwise."""
    if path.is_dir():
        return _in_folder(path)
    for pattern in (_IMAGE, _HEADER, _METADATA):
        match = pattern.fullmatch(path.name)
        if match is not None:
            return _with_stem(path, match[1])
    return None


def existing_product(path: Path) -> Product:
    """Return the product of a file or a folder, which must have an image."""
    product = find_product(path)
    if product is None:
        raise SceneError(path, "there is no image …SPECTRAL_IMAGE.TIF of a product here")
    return product


def _with_stem(path: Path, stem: str) -> Product | None:
    """Return the product of a file; None if there is no image."""
    image: Path | None = path
    if not _IMAGE.fullmatch(path.name):
        image = _beside(path, stem, "SPECTRAL_IMAGE", _IMAGE_SUFFIXES)
        if image is None:
            image = _beside(path, stem, "SPECTRAL_IMAGE_COG", _IMAGE_SUFFIXES)
    if image is None:
        return None
    header = _beside(path, stem, "SPECTRAL_IMAGE", (".hdr",))
    # A header describes the data file of ENVI beside it, and a GeoTIFF only if there is none.
    data = _beside(path, stem, "SPECTRAL_IMAGE", ("", *ENVI_SUFFIXES))
    if data is not None and image.suffix.lower() in (".tif", ".tiff"):
        header = None
    return Product(image, header, _beside(path, stem, "METADATA", (".xml",)))


def _beside(path: Path, stem: str, part: str, suffixes: tuple[str, ...]) -> Path | None:
    """Return the first file of this name with one of the suffixes in the folder of ``path``."""
    for suffix in suffixes:
        name = stem + part + suffix
        # As the products spell them; other software likes small letters.
        spellings = [
            stem + part + suffix.upper(),
            name,
            stem + (part + suffix).lower(),
            name.lower(),
        ]
        for spelled in spellings:
            if is_plain_file(path.with_name(spelled)):
                return path.with_name(spelled)
    return None


def _in_folder(folder: Path) -> Product | None:
    """Return the one product in a folder."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise SceneError(folder, f"cannot be read: {error.strerror}") from error
    images = [folder / name for name in names if _IMAGE.fullmatch(name)]
    if not images:
        return None
    if len(images) > 1:
        raise SceneError(
            folder,
            f"holds {len(images)} images, name one of them: {images[0].name}, {images[1].name}",
        )
    return find_product(images[0])


def read_enmap(path: Path, *, overlap: str | None = None, quality: bool = False) -> StoredCube:
    """Read a product of EnMAP, named by its image, by its metadata or by its folder.

    ``overlap`` is "vnir", "swir" or "both": the detector whose bands are kept where both see the
    same wavelengths; default "vnir". ``quality`` leaves out pixels that its layers mark as clouds.
    """
    product = existing_product(path)
    cube = _read_enmap_image(path, product, overlap)
    match = _IMAGE.fullmatch(product.image.name)
    assert match is not None
    layers = []
    for name in _QUALITY_LAYERS:
        layer = _beside(product.image, match[1], f"QL_QUALITY_{name}", _IMAGE_SUFFIXES)
        if layer is not None:
            layers.append(layer)
    if quality:
        _apply_layers(cube, product, layers)
    elif layers:
        cube.notes.append("its quality layers mark clouds: quality=True leaves them out")
    return cube


def _apply_layers(cube: StoredCube, product: Product, layers: list[Path]) -> None:
    """Leave out pixels in which a quality layer is not 0."""
    from selfdict.files import geotiff

    if not layers:
        raise SceneError(
            product.image, "quality=True needs the layers …-QL_QUALITY_….TIF beside it"
        )
    is_valid = np.ones(cube.shape[1:], dtype=bool)
    for path in layers:
        layer = geotiff.read(path)
        if layer.shape[1:] != cube.shape[1:]:
            raise SceneError(path, f"must have the shape {cube.shape[1:]}, got {layer.shape[1:]}")
        marks = layer.load(slice(0, 1), slice(0, cube.shape[1]), slice(0, cube.shape[2]))[0]
        is_valid &= (marks == 0) | (marks == layer.nodata)
    cube.coords["valid"] = is_valid
    cube.notes.append("pixels that its quality layers mark as clouds or their shadows are left out")


def _read_enmap_image(path: Path, product: Product, overlap: str | None) -> StoredCube:
    chosen = check_overlap(overlap)
    cube = _read_image(product)
    if product.metadata is None:
        if overlap is not None:
            raise SceneError(path, "overlap needs the file …METADATA.XML, which is missing")
        cube.notes.append(
            "…METADATA.XML is missing: it would tell wavelengths and scales of the image"
        )
        return cube
    metadata = _EnmapMetadata(product.metadata, cube.shape[0])
    # The notes of the image are about scales and wavelengths that the metadata replace.
    cube.notes = []
    metadata.describe(cube)
    is_vnir, is_expected = metadata.detectors()
    is_empty = metadata.constant_bands(cube) | ~is_expected
    cube.mark_bad(is_empty, "hold no data")
    if is_vnir is None:
        if overlap is not None:
            raise SceneError(product.metadata, "does not say which detector a band belongs to")
        cube.notes.append(
            "…METADATA.XML does not say which detector a band belongs to: all bands are kept"
        )
        return cube
    assert cube.wavelength is not None
    keep, notes = kept_bands(cube.wavelength, is_vnir, ~is_empty, chosen)
    cube.keep_bands(keep)
    cube.notes += notes
    return cube


def read_desis(path: Path) -> StoredCube:
    """Read a product of DESIS, named by its image, its header, its metadata or its folder."""
    from selfdict.files import envi

    product = existing_product(path)
    cube = _read_image(product)
    if product.header is None:
        cube.notes.append("…SPECTRAL_IMAGE.hdr is missing: the image is read as a plain GeoTIFF")
        return cube
    header = envi.Header(product.header)
    for name, size in zip(("bands", "lines", "samples"), cube.shape):
        declared = header.integer(name, 1)
        if declared != size:
            raise SceneError(header.path, f"declares {declared} {name}, but the image has {size}")
    gain, offset, scale_notes = envi.read_scale(header, cube.shape[0])
    # The notes of the image are about scales and wavelengths that the header replaces.
    cube.notes = []
    _set_scaling(cube, gain, offset, "…SPECTRAL_IMAGE.hdr")
    envi.describe(cube, header)
    cube.notes += [note for note in scale_notes if "differ" in note]
    _set_nodata(cube, whole_nodata(header.number("data ignore value"), cube.dtype))
    if cube.wavelength is None:
        cube.notes.append("…SPECTRAL_IMAGE.hdr has no wavelengths")
    if "-L1" in product.image.name.upper():
        cube.notes.append("the values are radiances at the sensor (level 1), no reflectances")
    cube.mark_bad(cube.gains() == 0, "have a gain of 0, and so no values")
    cube.mark_bad(_empty_bands(cube), "hold no data")
    return cube


def _read_image(product: Product) -> StoredCube:
    # Imported here: names of products are looked for without GDAL.
    from selfdict.files import envi, geotiff

    if not product.is_geotiff:
        return envi.read(product.image)
    return geotiff.read(product.image)


class _EnmapMetadata:
    """The XML file of an EnMAP product with ``n_bands`` bands."""

    def __init__(self, path: Path, n_bands: int) -> None:
        self.path = path
        self.n_bands = n_bands
        data = read_bytes(path, _MAX_XML_BYTES, "the metadata of a product")
        try:
            self.root = ElementTree.fromstring(data)
        except ElementTree.ParseError as error:
            raise SceneError(path, f"is not well-formed XML: {error}") from None
        for element in self.root.iter():
            # Without the namespace.
            element.tag = str(element.tag).rpartition("}")[2]

    def describe(self, cube: StoredCube) -> None:
        """Add what the file says about bands, values and level."""
        wavelength = self.band_numbers("wavelength")
        if wavelength is None:
            place = _BAND_FIELDS["wavelength"]
            raise SceneError(self.path, f"has no {place}: it does not describe EnMAP bands")
        _set_scaling(cube, self.band_numbers("gain"), self.band_numbers("offset"), "…METADATA.XML")
        units = None
        # The product has nanometres, and no element that says so; smaller numbers are guessed.
        if wavelength.max() >= 100:
            units = "nm"
        describe_bands(cube, wavelength, units, self.band_numbers("fwhm"))
        level = self.text("base/level")
        if level.upper().startswith("L1"):
            cube.name = "radiance"
            cube.notes.append(
                f"the values are radiances at the sensor (level {level}), no reflectances"
            )
        declared = None
        # Damage there is no loss: the usual value is assumed.
        with contextlib.suppress(ValueError):
            declared = whole_nodata(float(self.text("specific/backgroundValue")), cube.dtype)
        _set_nodata(cube, declared)

    def band_numbers(self, field: str) -> Array | None:
        """Return one number per band in the order of the bands, None if there are none."""
        place = _BAND_FIELDS[field]
        parent, _, tag = place.rpartition("/")
        entries = []
        for band in self.root.findall(parent):
            for element in band.findall(tag):
                entries.append((band.get("number", ""), element.text or ""))
        if not entries:
            return None
        # Bands without numbers are in the order of the image.
        order = list(range(len(entries)))
        try:
            if any(number for number, _ in entries):
                order = [int(number) - 1 for number, _ in entries]
            values = np.array([float(text) for _, text in entries])
        except ValueError:
            raise SceneError(self.path, f"{place} must be numbers, those of bandID too") from None
        if not np.isfinite(values).all() or sorted(order) != list(range(self.n_bands)):
            raise SceneError(
                self.path,
                f"{place} must be a finite number for each of the {self.n_bands} bands of the "
                f"image, there are {len(entries)}",
            )
        return values[np.argsort(order)]

    def constant_bands(self, cube: StoredCube) -> Array:
        """Return which bands hold one value in all pixels, by their statistics or a sample."""
        try:
            spread = self.band_numbers("spread")
        except SceneError:
            # Damaged statistics are no loss: a sample of the values tells the same.
            spread = None
        if spread is None:
            return _empty_bands(cube)
        is_constant: Array = spread == 0
        return is_constant

    def detectors(self) -> tuple[Array | None, Array]:
        """Return which bands belong to the VNIR detector, and which to any.

        If it is not said, or not in a way that can be used: None, and all bands.
        """
        belongs = np.zeros((2, self.n_bands), dtype=bool)
        for detector, place in enumerate((_VNIR, _SWIR)):
            # Some lists end with a comma. Elsewhere an empty entry is a number that is missing.
            numbers = self.text(place).rstrip(",").split(",")
            for number in map(str.strip, numbers):
                # At most eight digits: Python refuses to convert thousands.
                is_number = re.fullmatch("[0-9]{1,8}", number)
                if not is_number or not 1 <= int(number) <= self.n_bands:
                    return None, np.ones(self.n_bands, dtype=bool)
                belongs[detector, int(number) - 1] = True
        return belongs[0], belongs[0] | belongs[1]

    def text(self, place: str) -> str:
        """Return the text of the first element of a path, none if there is no such element."""
        return (self.root.findtext(place) or "").strip()


def _set_scaling(
    cube: StoredCube, gain: float | Array | None, offset: float | Array | None, sidecar: str
) -> None:
    """Apply the gains that the sidecar of an image declares, unless it is scaled already."""
    if gain is None and offset is None:
        cube.notes.append(f"{sidecar} has no gains: values are taken as they are stored")
    # Products hold 16-bit numbers. Other software writes scaled values as floating-point numbers,
    # under the same name as a rule.
    elif cube.dtype.kind == "f":
        cube.notes.append(
            f"the image holds {cube.dtype}, not integers: gains of {sidecar} are not applied"
        )
    else:
        cube.notes.append(
            f"gains and offsets of {sidecar} are applied: stored value · gain + offset"
        )
        cube.scale_factor = gain
        cube.add_offset = offset


def _set_nodata(cube: StoredCube, declared: float | None) -> None:
    """Set the no-data value that a sidecar declares, unless the image declares one itself."""
    own = cube.nodata
    if own is not None:
        # NaN equals nothing, not even itself.
        are_nan = declared is not None and math.isnan(own) and math.isnan(declared)
        if declared is not None and own != declared and not are_nan:
            cube.notes.append(
                f"the image declares the no-data value {own}, its sidecar {declared}: not used"
            )
        return
    cube.nodata = declared
    if declared is None:
        cube.nodata = _USUAL_NODATA
        cube.notes.append(f"the product declares no no-data value: {_USUAL_NODATA} is assumed")


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


def _windows(size: int, n_windows: int = 3, width: int = 16) -> list[slice]:
    """Return parts of an axis with the same distances, or all of a short one."""
    if size <= n_windows * width:
        return [slice(0, size)]
    centres = (2 * np.arange(n_windows) + 1) * size // (2 * n_windows)
    starts = centres - width // 2
    return [slice(int(start), int(start) + width) for start in starts]
