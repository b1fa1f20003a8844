"""DESIS: a GeoTIFF ``STEM-SPECTRAL_IMAGE.tif`` beside an ENVI header of the same name.

The header has wavelengths, widths, gains and offsets, which the GeoTIFF has not.
"""

from pathlib import Path

import numpy as np
import xarray as xr

from selfdict.scene.errors import SceneError
from selfdict.scene.formats import geotiff
from selfdict.scene.formats.common import whole_nodata, with_bad_bands
from selfdict.scene.formats.empty_bands import find_empty_bands
from selfdict.scene.formats.envi_bands import read_bands
from selfdict.scene.formats.envi_header import integer_field, number_field, read_header
from selfdict.scene.formats.envi_scale import read_scale
from selfdict.scene.formats.product_values import with_product_nodata, with_product_scaling
from selfdict.scene.formats.products import existing_product
from selfdict.scene.notes import add_notes, without_notes
from selfdict.scene.scaling import scaling_of

NAME = "DESIS"


def read(path: Path, *, max_bytes: int | None = None) -> xr.DataArray:
    """Read a product, named by its image, its header, its metadata or its folder."""
    product = existing_product(path)
    scene = geotiff.read(product.image, max_bytes=max_bytes)
    if product.header is None:
        return add_notes(
            scene, "…SPECTRAL_IMAGE.hdr is missing: the image is read as a plain GeoTIFF"
        )
    header = product.header
    fields = read_header(header)
    _check_sizes(header, fields, scene.shape)
    band_data, notes = read_bands(header, fields, scene.sizes["band"])
    scale = read_scale(header, fields, scene.sizes["band"])
    if scale.conflict is not None:
        notes.append(scale.conflict)
    # The notes of the image are about scales and wavelengths that the header replaces.
    scene, scale_note = with_product_scaling(
        without_notes(scene), scale.gain, scale.offset, "…SPECTRAL_IMAGE.hdr"
    )
    for key, values in band_data.items():
        attrs = {}
        if key in ("wavelength", "fwhm"):
            attrs = {"units": "nm"}
        if values is not None:
            scene = scene.assign_coords({key: ("band", np.asarray(values), attrs)})
    nodata = whole_nodata(number_field(header, fields, "data ignore value"), scene.dtype)
    scene = with_product_nodata(scene, nodata)
    scene = add_notes(scene, scale_note, *notes, *_remarks(scene, product.image))
    gain, _ = scaling_of(scene)
    scene = with_bad_bands(scene, gain == 0, "have a gain of 0, and so no values")
    return with_bad_bands(scene, find_empty_bands(scene), "hold no data")


def _check_sizes(header: Path, fields: dict[str, str], shape: tuple[int, ...]) -> None:
    """Refuse a header of another image."""
    for name, size in zip(("bands", "lines", "samples"), shape):
        declared = integer_field(header, fields, name, minimum=1)
        if declared != size:
            raise SceneError(header, f"declares {declared} {name}, but the image has {size}")


def _remarks(scene: xr.DataArray, image: Path) -> list[str]:
    """Return notes about what the header does not say, and about other values than reflectance."""
    notes = []
    if "wavelength" not in scene.coords:
        notes.append("…SPECTRAL_IMAGE.hdr has no wavelengths")
    if "-L1" in image.name.upper():
        notes.append("the values are radiances at the sensor (level 1), no reflectances")
    return notes
