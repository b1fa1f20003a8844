"""EnMAP: an image beside an XML file with wavelengths, gains, offsets and detectors of its bands.

The image ``STEM-SPECTRAL_IMAGE`` is a GeoTIFF (``.TIF``) or an ENVI file (``.BSQ``, ``.BIL``,
``.BIP``) of 16-bit numbers, the XML file is ``STEM-METADATA.XML``.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import in_row_chunks
from selfdict.scene.errors import SceneError
from selfdict.scene.formats import envi, geotiff
from selfdict.scene.formats.common import with_bad_bands
from selfdict.scene.formats.empty_bands import find_empty_bands
from selfdict.scene.formats.overlap import check_overlap, kept_bands
from selfdict.scene.formats.product_values import with_product_nodata, with_product_scaling
from selfdict.scene.formats.products import Product, existing_product
from selfdict.scene.formats.xml_fields import read_fields
from selfdict.scene.notes import add_notes, without_notes
from selfdict.scene.units import unit_note, unit_of

NAME = "EnMAP"
_BAND = "specific/bandCharacterisation/bandID"
_WAVELENGTH = f"{_BAND}/wavelengthCenterOfBand"
_FWHM = f"{_BAND}/FWHMOfBand"
_GAIN = f"{_BAND}/GainOfBand"
_OFFSET = f"{_BAND}/OffsetOfBand"
_VNIR = "specific/vnirProductQuality/expectedChannelsList"
_SWIR = "specific/swirProductQuality/expectedChannelsList"
_SPREAD = "product/bandStatistics/bandID/stdDeviation"
_NODATA = "specific/backgroundValue"
_LEVEL = "base/level"
_WANTED = {_WAVELENGTH, _FWHM, _GAIN, _OFFSET, _VNIR, _SWIR, _SPREAD, _NODATA, _LEVEL}
_Fields = dict[str, list[tuple[str, str]]]


def read(path: Path, *, overlap: str | None = None, max_bytes: int | None = None) -> xr.DataArray:
    """Read a product, named by its image, by its metadata or by its folder.

    Parameters
    ----------
    path : pathlib.Path
        One of these.
    overlap : {"vnir", "swir", "both"}, optional
        The detector whose bands are kept where both see the same wavelengths; default "vnir".
    max_bytes : int, optional
        See :class:`selfdict.scene.formats.limits.Limit`.
    """
    chosen = check_overlap(overlap)
    product = existing_product(path)
    scene = _read_image(product, max_bytes)
    if product.metadata is None:
        if overlap is not None:
            raise SceneError(path, "overlap needs the file …METADATA.XML, which is missing")
        return add_notes(
            scene, "…METADATA.XML is missing: it would tell wavelengths and scales of the image"
        )
    # The notes of the image are about scales and wavelengths that the metadata replace.
    metadata = _Metadata.read(product.metadata, scene.sizes["band"])
    scene = _described(without_notes(scene), metadata)
    is_empty = metadata.is_constant
    if is_empty is None:
        is_empty = find_empty_bands(scene)
    is_empty = is_empty | ~metadata.is_expected
    scene = with_bad_bands(scene, is_empty, "hold no data")
    return _without_overlap(scene, metadata, is_empty, chosen, is_asked=overlap is not None)


def _read_image(product: Product, max_bytes: int | None) -> xr.DataArray:
    if product.is_geotiff:
        return geotiff.read(product.image, max_bytes=max_bytes)
    return envi.read(product.image, max_bytes=max_bytes)


@dataclass(frozen=True)
class _Metadata:
    """What the XML file says; arrays have one entry per band."""

    path: Path
    wavelength: Array
    fwhm: Array | None
    gain: Array | None
    offset: Array | None
    is_vnir: Array | None  # None if the detectors of the bands are not listed
    is_expected: Array  # False for bands that no detector has
    is_constant: Array | None  # True for bands that hold one value; None without statistics
    nodata: int | None
    level: str
    notes: tuple[str, ...]

    @classmethod
    def read(cls, path: Path, n_bands: int) -> "_Metadata":
        """Read the XML file of an image with this number of bands."""
        fields = read_fields(path, _WANTED)
        wavelength = _band_numbers(path, fields, _WAVELENGTH, n_bands)
        if wavelength is None:
            raise SceneError(path, f"has no {_WAVELENGTH}: it does not describe EnMAP bands")
        fwhm = _band_numbers(path, fields, _FWHM, n_bands)
        notes: list[str] = []
        # The product has nanometres, and no element that says so; the guess may be micrometres.
        if unit_of(wavelength, None) == "um":
            notes = unit_note(wavelength, None)
            wavelength = 1000 * wavelength
            if fwhm is not None:
                fwhm = 1000 * fwhm
        is_vnir, is_expected = _detectors(fields, n_bands)
        return cls(
            path,
            wavelength,
            fwhm,
            _band_numbers(path, fields, _GAIN, n_bands),
            _band_numbers(path, fields, _OFFSET, n_bands),
            is_vnir,
            is_expected,
            _constant_bands(path, fields, n_bands),
            _whole_number(fields, _NODATA),
            _first_text(fields, _LEVEL),
            tuple(notes),
        )


def _band_numbers(path: Path, fields: _Fields, place: str, n_bands: int) -> Array | None:
    """Return one number per band in the order of the bands, None if the file has none of them."""
    entries = fields.get(place, [])
    if not entries:
        return None
    if len(entries) != n_bands:
        raise SceneError(
            path, f"has {len(entries)} elements {place}, but the image has {n_bands} bands"
        )
    # Bands without numbers are in the order of the image.
    order = np.arange(n_bands)
    try:
        if any(number for number, _ in entries):
            order = np.array([int(number) for number, _ in entries]) - 1
        values = np.array([float(text) for _, text in entries])
    except (OverflowError, ValueError):
        raise SceneError(path, f"{place} must be numbers, those of bandID too") from None
    if not np.isfinite(values).all() or sorted(order) != list(range(n_bands)):
        raise SceneError(path, f"{place} must be a finite number for each of {n_bands} bands")
    sorted_values = np.empty(n_bands)
    sorted_values[order] = values
    return sorted_values


def _constant_bands(path: Path, fields: _Fields, n_bands: int) -> Array | None:
    """Return which bands hold one value in all pixels, by their statistics; None without them."""
    try:
        spread = _band_numbers(path, fields, _SPREAD, n_bands)
    except SceneError:
        # Damaged statistics are no loss: a sample of the values tells the same.
        return None
    if spread is None:
        return None
    is_constant: Array = spread == 0
    return is_constant


def _detectors(fields: _Fields, n_bands: int) -> tuple[Array | None, Array]:
    """Return which bands belong to the VNIR detector, and which to any.

    If it is not said, or not in a way that can be used: None, and all bands.
    """
    belongs = {}
    for place in (_VNIR, _SWIR):
        belongs[place] = np.zeros(n_bands, dtype=bool)
        numbers = [entry.strip() for entry in _first_text(fields, place).split(",")]
        # Some lists end with a comma. Elsewhere an empty entry is a number that is missing.
        if len(numbers) > 1 and not numbers[-1]:
            numbers.pop()
        for number in numbers:
            # At most eight digits: Python refuses to convert thousands.
            is_number = number.isascii() and number.isdigit() and len(number) < 9
            if not is_number or not 1 <= int(number) <= n_bands:
                return None, np.ones(n_bands, dtype=bool)
            belongs[place][int(number) - 1] = True
    return belongs[_VNIR], belongs[_VNIR] | belongs[_SWIR]


def _first_text(fields: _Fields, place: str) -> str:
    entries = fields.get(place, [])
    if not entries:
        return ""
    return entries[0][1]


def _whole_number(fields: _Fields, place: str) -> int | None:
    try:
        value = float(_first_text(fields, place))
    except ValueError:
        return None
    if not value.is_integer():
        return None
    return int(value)


def _described(scene: xr.DataArray, metadata: _Metadata) -> xr.DataArray:
    """Return the image with what the metadata say about its bands."""
    scene, note = with_product_scaling(scene, metadata.gain, metadata.offset, "…METADATA.XML")
    scene = scene.drop_vars(["wavelength", "fwhm"], errors="ignore")
    scene = scene.assign_coords(wavelength=("band", metadata.wavelength, {"units": "nm"}))
    if metadata.fwhm is not None:
        scene = scene.assign_coords(fwhm=("band", metadata.fwhm, {"units": "nm"}))
    scene = add_notes(scene, note, *metadata.notes)
    if metadata.level.upper().startswith("L1"):
        scene = scene.rename("radiance")
        note = f"the values are radiances at the sensor (level {metadata.level}), no reflectances"
        scene = add_notes(scene, note)
    return with_product_nodata(scene, metadata.nodata)


def _without_overlap(
    scene: xr.DataArray, metadata: _Metadata, is_empty: Array, overlap: str, *, is_asked: bool
) -> xr.DataArray:
    """Return the scene with the bands of one detector where both see the same wavelengths."""
    if metadata.is_vnir is None:
        if is_asked:
            raise SceneError(metadata.path, "does not say which detector a band belongs to")
        note = "…METADATA.XML does not say which detector a band belongs to: all bands are kept"
        return add_notes(scene, note)
    # An empty band covers no wavelengths, and must not displace one of the other detector.
    keep = np.ones(scene.sizes["band"], dtype=bool)
    kept, notes = kept_bands(metadata.wavelength[~is_empty], metadata.is_vnir[~is_empty], overlap)
    keep[~is_empty] = kept
    if not keep.all():
        # In chunks, since a list of bands would copy a mapped file.
        scene = in_row_chunks(scene).isel(band=np.flatnonzero(keep))
    return add_notes(scene, *notes)
