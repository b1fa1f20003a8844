"""The files of a product that is an image and a sidecar, found by their names.

EnMAP and DESIS name them ``STEM-SPECTRAL_IMAGE.TIF``, ``STEM-METADATA.XML`` and, DESIS only,
``STEM-SPECTRAL_IMAGE.hdr``. Names inside a sidecar are never used: all files are in one folder.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from selfdict.files.errors import SceneError

# The data file of an ENVI header, which has no suffix or one of these.
ENVI_SUFFIXES = (".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin", ".rfl", ".sli")
# EOLab adds _COG to the names of its images.
_IMAGE = re.compile(r"(|.*-)SPECTRAL_IMAGE(_COG)?\.(tif|tiff|bsq|bil|bip)", re.IGNORECASE)
_HEADER = re.compile(r"(|.*-)SPECTRAL_IMAGE\.hdr", re.IGNORECASE)
_METADATA = re.compile(r"(|.*-)METADATA\.xml", re.IGNORECASE)
_IMAGE_SUFFIXES = (".tif", ".tiff", ".bsq", ".bil", ".bip")


@dataclass(frozen=True)
class Product:
    """The files of a product.

    Attributes
    ----------
    image : pathlib.Path
        A GeoTIFF, or the data file of ENVI.
    header : pathlib.Path or None
        An ENVI header beside the image.
    metadata : pathlib.Path or None
        An XML file beside the image.
    """

    image: Path
    header: Path | None
    metadata: Path | None

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
            # Other than Path.is_file, this is False for a name that is too long.
            if os.path.isfile(path.with_name(spelled)):
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
