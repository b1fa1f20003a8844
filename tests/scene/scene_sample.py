"""A small scene with everything a file can carry."""

import numpy as np
from affine import Affine

from selfdict.scene import build_scene, crs_of, transform_of

N_BANDS, N_ROWS, N_COLUMNS = 5, 6, 7
TRANSFORM = Affine(30.0, 0.0, 399_990.0, 0.0, -20.0, 5_300_010.0)


def full_scene(dtype="float32", nodata=None, seed=0):
    """Return a scene with wavelengths, names, bad bands, a CRS and, if given, a no-data value."""
    rng = np.random.default_rng(seed)
    values = (rng.uniform(1, 100, (N_BANDS, N_ROWS, N_COLUMNS))).astype(dtype)
    if nodata is not None:
        values[:, 1, 2:4] = nodata
    return build_scene(
        values,
        wavelength=[400.5, 550.25, 700.125, 1000.0, 2500.75],
        fwhm=[9.5, 9.75, 10.0, 10.25, 11.0],
        good_band=[True, True, False, True, False],
        band_name=["blue", "grün", "<b>red</b>", "NIR", "SWIR 2"],
        crs="EPSG:32633",
        transform=TRANSFORM,
        nodata=nodata,
    )


def assert_same(read, written):
    """Assert that two scenes agree in values and in everything known about them."""
    np.testing.assert_array_equal(read.values, written.values)
    for key in ("wavelength", "fwhm", "good_band", "band_name", "x", "y"):
        np.testing.assert_array_equal(read[key].values, written[key].values)
    assert read.wavelength.attrs["units"] == "nm"
    assert crs_of(read) == crs_of(written)
    assert transform_of(read) == transform_of(written)
    for key in ("_FillValue", "scale_factor", "add_offset"):
        np.testing.assert_equal(read.attrs.get(key), written.attrs.get(key))
