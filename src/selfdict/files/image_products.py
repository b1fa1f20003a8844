"""EnMAP and DESIS: an image beside a file with wavelengths, gains and offsets of its bands.

EnMAP: ``STEM-SPECTRAL_IMAGE`` is a GeoTIFF (``.TIF``) or an ENVI file (``.BSQ``, ``.BIL``,
``.BIP``) of 16-bit numbers, beside ``STEM-METADATA.XML``. DESIS: a GeoTIFF beside an ENVI header of
the same name.
"""

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from selfdict.files import envi, geotiff
from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.envi_header import integer_field, number_field, read_header
from selfdict.files.errors import SceneError
from selfdict.files.image_names import Product, existing_product
from selfdict.files.overlap import check_overlap, kept_bands
from selfdict.files.plain_files import read_bytes
from selfdict.files.units import unit_note, unit_of

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


def read_enmap(path: Path, *, overlap: str | None = None) -> StoredCube:
    """Read a product of EnMAP, named by its image, by its metadata or by its folder.

    ``overlap`` is "vnir", "swir" or "both": the detector whose bands are kept where both see the
    same wavelengths; default "vnir".
    """
    chosen = check_overlap(overlap)
    product = existing_product(path)
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
    is_empty = metadata.constant_bands()
    if is_empty is None:
        is_empty = _empty_bands(cube)
    is_vnir, is_expected = metadata.detectors()
    is_empty = is_empty | ~is_expected
    cube.mark_bad(is_empty, "hold no data")
    if is_vnir is None:
        if overlap is not None:
            raise SceneError(product.metadata, "does not say which detector a band belongs to")
        cube.notes.append(
            "…METADATA.XML does not say which detector a band belongs to: all bands are kept"
        )
        return cube
    # An empty band covers no wavelengths, and must not displace one of the other detector.
    assert cube.wavelength is not None
    keep = np.ones(cube.shape[0], dtype=bool)
    keep[~is_empty], notes = kept_bands(cube.wavelength[~is_empty], is_vnir[~is_empty], chosen)
    cube.keep_bands(keep)
    cube.notes += notes
    return cube


def read_desis(path: Path) -> StoredCube:
    """Read a product of DESIS, named by its image, its header, its metadata or its folder."""
    product = existing_product(path)
    cube = _read_image(product)
    header = product.header
    if header is None:
        cube.notes.append("…SPECTRAL_IMAGE.hdr is missing: the image is read as a plain GeoTIFF")
        return cube
    fields = read_header(header)
    for name, size in zip(("bands", "lines", "samples"), cube.shape):
        declared = integer_field(header, fields, name, minimum=1)
        if declared != size:
            raise SceneError(header, f"declares {declared} {name}, but the image has {size}")
    scale = envi.read_scale(header, fields, cube.shape[0])
    # The notes of the image are about scales and wavelengths that the header replaces.
    cube.notes = []
    _set_scaling(cube, scale.gain, scale.offset, "…SPECTRAL_IMAGE.hdr")
    envi.describe_bands(cube, header, fields)
    if scale.conflict is not None:
        cube.notes.append(scale.conflict)
    _set_nodata(cube, whole_nodata(number_field(header, fields, "data ignore value"), cube.dtype))
    if cube.wavelength is None:
        cube.notes.append("…SPECTRAL_IMAGE.hdr has no wavelengths")
    if "-L1" in product.image.name.upper():
        cube.notes.append("the values are radiances at the sensor (level 1), no reflectances")
    cube.mark_bad(cube.gains() == 0, "have a gain of 0, and so no values")
    cube.mark_bad(_empty_bands(cube), "hold no data")
    return cube


def _read_image(product: Product) -> StoredCube:
    if not product.is_geotiff:
        return envi.read(product.image)
    cube = geotiff.read(product.image)
    cube.held = product.image.stat().st_size
    return cube


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
        fwhm = self.band_numbers("fwhm")
        # The product has nanometres, and no element that says so; the guess may be micrometres.
        if unit_of(wavelength, None) == "um":
            cube.notes += unit_note(wavelength, None)
            wavelength = 1000 * wavelength
            if fwhm is not None:
                fwhm = 1000 * fwhm
        cube.wavelength = wavelength
        cube.fwhm = fwhm
        level = self.text("base/level")
        if level.upper().startswith("L1"):
            cube.name = "radiance"
            cube.notes.append(
                f"the values are radiances at the sensor (level {level}), no reflectances"
            )
        _set_nodata(cube, self.whole_number("specific/backgroundValue"))

    def band_numbers(self, field: str) -> Array | None:
        """Return one number per band in the order of the bands, None if there are none."""
        place = _BAND_FIELDS[field]
        parent, _, tag = place.rpartition("/")
        entries = []
        for band in self.root.findall(parent):
            for element in band.findall(tag):
                entries.append((band.get("number", ""), (element.text or "").strip()))
        if not entries:
            return None
        if len(entries) != self.n_bands:
            raise SceneError(
                self.path,
                f"has {len(entries)} elements {place}, but the image has {self.n_bands} bands",
            )
        # Bands without numbers are in the order of the image.
        order = np.arange(self.n_bands)
        try:
            if any(number for number, _ in entries):
                order = np.array([int(number) for number, _ in entries]) - 1
            values = np.array([float(text) for _, text in entries])
        except (OverflowError, ValueError):
            raise SceneError(self.path, f"{place} must be numbers, those of bandID too") from None
        if not np.isfinite(values).all() or sorted(order) != list(range(self.n_bands)):
            raise SceneError(
                self.path, f"{place} must be a finite number for each of {self.n_bands} bands"
            )
        sorted_values = np.empty(self.n_bands)
        sorted_values[order] = values
        return sorted_values

    def constant_bands(self) -> Array | None:
        """Return which bands hold one value in all pixels; None without their statistics."""
        try:
            spread = self.band_numbers("spread")
        except SceneError:
            # Damaged statistics are no loss: a sample of the values tells the same.
            return None
        if spread is None:
            return None
        is_constant: Array = spread == 0
        return is_constant

    def detectors(self) -> tuple[Array | None, Array]:
        """Return which bands belong to the VNIR detector, and which to any.

        If it is not said, or not in a way that can be used: None, and all bands.
        """
        belongs = []
        for place in (_VNIR, _SWIR):
            has = np.zeros(self.n_bands, dtype=bool)
            numbers = [entry.strip() for entry in self.text(place).split(",")]
            # Some lists end with a comma. Elsewhere an empty entry is a number that is missing.
            if len(numbers) > 1 and not numbers[-1]:
                numbers.pop()
            for number in numbers:
                # At most eight digits: Python refuses to convert thousands.
                is_number = number.isascii() and number.isdigit() and len(number) < 9
                if not is_number or not 1 <= int(number) <= self.n_bands:
                    return None, np.ones(self.n_bands, dtype=bool)
                has[int(number) - 1] = True
            belongs.append(has)
        return belongs[0], belongs[0] | belongs[1]

    def text(self, place: str) -> str:
        """Return the text of the first element of a path, none if there is no such element."""
        return (self.root.findtext(place) or "").strip()

    def whole_number(self, place: str) -> int | None:
        """Return the number in the first element of a path, if it is a whole one."""
        try:
            value = float(self.text(place))
        except ValueError:
            return None
        if not value.is_integer():
            return None
        return int(value)


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
