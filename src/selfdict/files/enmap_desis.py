"""EnMAP and DESIS: an image beside a file with wavelengths, gains and offsets of its bands.

EnMAP: ``STEM-SPECTRAL_IMAGE`` is a GeoTIFF (``.TIF``) or an ENVI file (``.BSQ``, ``.BIL``,
``.BIP``) of 16-bit numbers, beside ``STEM-METADATA.XML``. DESIS: a GeoTIFF beside an ENVI header of
the same name. Names inside a sidecar are never used: all files are in one folder.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.errors import SceneError
from selfdict.files.formats import ENVI_SUFFIXES
from selfdict.files.limits import files_in, is_plain_file, read_bytes
from selfdict.files.wavelengths import check_overlap, describe_bands, kept_bands

# EOLab adds _COG to the names of its images.
_IMAGE = re.compile(r"(|.*-)SPECTRAL_IMAGE(_COG)?\.(tif|tiff|bsq|bil|bip)", re.IGNORECASE)
_SIDECAR = re.compile(r"(|.*-)(SPECTRAL_IMAGE\.hdr|METADATA\.xml)", re.IGNORECASE)
_IMAGE_SUFFIXES = (".tif", ".tiff", ".bsq", ".bil", ".bip")
# What EnMAP's metadata tell about bands, one element for each of them.
_BANDS = "specific/bandCharacterisation/bandID"
_USUAL_NODATA = -32768  # of EnMAP and of DESIS


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
        # Only DESIS describes a GeoTIFF by an ENVI header.
        has_header = self.header is not None and not name.startswith("ENMAP")
        if has_header or name.startswith("DESIS"):
            return "desis"
        return "enmap"

    def files(self) -> list[Path]:
        """Return the files that exist."""
        return [file for file in (self.image, self.header, self.metadata) if file is not None]

    def read_image(self) -> StoredCube:
        """Read the image without its sidecar."""
        # Imported here: names of products are looked for without GDAL.
        from selfdict.files import envi, geotiff

        if not self.is_geotiff:
            return envi.read(self.image)
        return geotiff.read(self.image)


def find_product(path: Path) -> Product | None:
    """Return the product that a file or a folder belongs to, None if it is named otherwise."""
    if path.is_dir():
        images = [file for file in files_in(path) if _IMAGE.fullmatch(file.name)]
        if len(images) > 1:
            names = f"{images[0].name}, {images[1].name}"
            raise SceneError(path, f"holds {len(images)} images, name one of them: {names}")
        if not images:
            return None
        path = images[0]
    match = _IMAGE.fullmatch(path.name) or _SIDECAR.fullmatch(path.name)
    if match is None:
        return None
    stem = match[1]
    image: Path | None = path
    if not _IMAGE.fullmatch(path.name):
        stems = (f"{stem}SPECTRAL_IMAGE", f"{stem}SPECTRAL_IMAGE_COG")
        image = _beside(path, [name + suffix for name in stems for suffix in _IMAGE_SUFFIXES])
    if image is None:
        return None
    header = _beside(path, [f"{stem}SPECTRAL_IMAGE.hdr"])
    # A header describes the data file of ENVI beside it, and a GeoTIFF only if there is none.
    data = _beside(path, [f"{stem}SPECTRAL_IMAGE{suffix}" for suffix in ("", *ENVI_SUFFIXES)])
    if data is not None and image.suffix.lower() in (".tif", ".tiff"):
        header = None
    return Product(image, header, _beside(path, [f"{stem}METADATA.xml"]))


def _beside(path: Path, names: list[str]) -> Path | None:
    """Return the first of several files in the folder of ``path``, spelled in any case."""
    files = {file.name.lower(): file for file in files_in(path.parent)}
    for name in names:
        file = files.get(name.lower())
        if file is not None and is_plain_file(file):
            return file
    return None


def _existing_product(path: Path) -> Product:
    product = find_product(path)
    if product is None:
        raise SceneError(path, "there is no image …SPECTRAL_IMAGE.TIF of a product here")
    return product


def read_enmap(path: Path, *, overlap: str | None = None, quality: bool = False) -> StoredCube:
    """Read a product of EnMAP, named by its image, by its metadata or by its folder.

    ``overlap`` is "vnir", "swir" or "both": the detector whose bands are kept where both see the
    same wavelengths; default "vnir". ``quality`` leaves out pixels that its layers mark as clouds.
    """
    chosen = check_overlap(overlap)
    product = _existing_product(path)
    cube = product.read_image()
    if product.metadata is None:
        if overlap is not None:
            raise SceneError(path, "overlap needs the file …METADATA.XML, which is missing")
        cube.notes.append(
            "…METADATA.XML is missing: it would tell wavelengths and scales of the image"
        )
    else:
        # The notes of the image are about scales and wavelengths that the metadata replace.
        cube.notes = []
        metadata = _EnmapMetadata(product.metadata, cube.shape[0])
        metadata.describe(cube)
        is_vnir, is_expected = metadata.detectors()
        is_empty = _empty_bands(cube) | ~is_expected
        cube.mark_bad(is_empty, "hold no data")
        if is_vnir is not None:
            assert cube.wavelength is not None
            keep, notes = kept_bands(cube.wavelength, is_vnir, ~is_empty, chosen)
            cube.keep_bands(keep)
            cube.notes += notes
        elif overlap is not None:
            raise SceneError(product.metadata, "does not say which detector a band belongs to")
        else:
            cube.notes.append(
                "…METADATA.XML does not say which detector a band belongs to: all bands are kept"
            )
    _use_layers(cube, product.image, quality)
    return cube


def _use_layers(cube: StoredCube, image: Path, quality: bool) -> None:
    """Leave out pixels in which a quality layer beside the image is not 0, with ``quality``."""
    from selfdict.files import geotiff

    match = _IMAGE.fullmatch(image.name)
    assert match is not None
    layers = []
    for name in ("CLOUD", "CLOUDSHADOW", "CIRRUS"):
        stem = f"{match[1]}QL_QUALITY_{name}"
        layer = _beside(image, [f"{stem}.tif", f"{stem}.tiff"])
        if layer is not None:
            layers.append(layer)
    if not quality:
        if layers:
            cube.notes.append("its quality layers mark clouds: quality=True leaves them out")
        return
    if not layers:
        raise SceneError(image, "quality=True needs the layers …-QL_QUALITY_….TIF beside it")
    for path in layers:
        marked = geotiff.read(path)
        _, n_rows, n_columns = marked.shape
        marks = marked.load(slice(0, 1), slice(0, n_rows), slice(0, n_columns))[0]
        cube.leave_out((marks != 0) & (marks != marked.nodata), path)
    cube.notes.append("pixels that its quality layers mark as clouds or their shadows are left out")


def read_desis(path: Path) -> StoredCube:
    """Read a product of DESIS, named by its image, its header, its metadata or its folder."""
    from selfdict.files import envi

    product = _existing_product(path)
    cube = product.read_image()
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
    _set_nodata(cube, header.number("data ignore value"))
    if cube.wavelength is None:
        cube.notes.append("…SPECTRAL_IMAGE.hdr has no wavelengths")
    if "-L1" in product.image.name.upper():
        cube.notes.append("the values are radiances at the sensor (level 1), no reflectances")
    cube.mark_bad(cube.gains() == 0, "have a gain of 0, and so no values")
    cube.mark_bad(_empty_bands(cube), "hold no data")
    return cube


class _EnmapMetadata:
    """The XML file of an EnMAP product with ``n_bands`` bands."""

    def __init__(self, path: Path, n_bands: int) -> None:
        self.path = path
        self.n_bands = n_bands
        self.root = ElementTree.fromstring(read_bytes(path))
        for element in self.root.iter():
            # Without the namespace.
            element.tag = str(element.tag).rpartition("}")[2]

    def describe(self, cube: StoredCube) -> None:
        """Add what the file says about bands, values and level."""
        wavelength = self.band_numbers("wavelengthCenterOfBand")
        if wavelength is None:
            raise SceneError(self.path, f"has no {_BANDS}: it does not describe EnMAP bands")
        gain = self.band_numbers("GainOfBand")
        _set_scaling(cube, gain, self.band_numbers("OffsetOfBand"), "…METADATA.XML")
        describe_bands(cube, wavelength, "nm", self.band_numbers("FWHMOfBand"))
        level = self.text("base/level")
        if level.upper().startswith("L1"):
            cube.name = "radiance"
            cube.notes.append(
                f"the values are radiances at the sensor (level {level}), no reflectances"
            )
        background = self.text("specific/backgroundValue")
        if background:
            _set_nodata(cube, float(background))
        else:
            _set_nodata(cube, None)

    def band_numbers(self, tag: str) -> Array | None:
        """Return one number per band in the order of the bands, None if there are none."""
        values = []
        order: list[int] = []
        for band in self.root.findall(_BANDS):
            text = band.findtext(tag)
            if text is not None:
                values.append(float(text))
                # Bands without numbers are in the order of the image.
                order.append(int(band.get("number", len(order) + 1)))
        if not values:
            return None
        if not np.isfinite(values).all() or sorted(order) != list(range(1, self.n_bands + 1)):
            raise SceneError(
                self.path,
                f"{tag} must be a finite number for each of the {self.n_bands} bands of the "
                f"image, there are {len(values)}",
            )
        return np.array(values)[np.argsort(order)]

    def detectors(self) -> tuple[Array | None, Array]:
        """Return which bands belong to the VNIR detector, and which to any.

        If it is not said, or not in a way that can be used: None, and all bands.
        """
        belongs = np.zeros((2, self.n_bands), dtype=bool)
        for k, detector in enumerate(("vnir", "swir")):
            # Some lists end with a comma. Elsewhere an empty entry is a number that is missing.
            listed = self.text(f"specific/{detector}ProductQuality/expectedChannelsList")
            for number in listed.rstrip(",").split(","):
                # At most eight digits: Python refuses to convert thousands.
                is_number = re.fullmatch("[0-9]{1,8}", number.strip())
                if not is_number or not 1 <= int(number) <= self.n_bands:
                    return None, np.ones(self.n_bands, dtype=bool)
                belongs[k, int(number) - 1] = True
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
    if cube.nodata is not None:
        if declared is not None and not np.array_equal(cube.nodata, declared, equal_nan=True):
            cube.notes.append(
                f"the image declares the no-data value {cube.nodata}, its sidecar {declared:g}: "
                "not used"
            )
        return
    if declared is None:
        declared = _USUAL_NODATA
        cube.notes.append(f"the product declares no no-data value: {_USUAL_NODATA} is assumed")
    cube.nodata = whole_nodata(declared, cube.dtype)


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
