"""The table of docs/sensors.md: a check for each of its cells."""

from pathlib import Path

import numpy as np
import pytest
from sensor_files import WRITERS

from selfdict.scene import crs_of, read_scene, transform_of, valid_mask
from selfdict.scene.metadata import scaling_of

PAGE = Path(__file__).parents[2] / "docs" / "sensors.md"


def table():
    """Return the cells of the first table of the page, the head first."""
    before_others = PAGE.read_text(encoding="utf-8").partition("## Real files")[0]
    lines = [line for line in before_others.splitlines() if line[:1] == "|"]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    del rows[1]  # dashes
    return rows


def check_cube(scene, row, cell):
    assert scene.dims == ("band", "y", "x")
    assert scene.dtype == row.values.dtype
    np.testing.assert_array_equal(scene.values, row.values)


def check_wavelengths(scene, row, cell):
    np.testing.assert_allclose(scene.wavelength.values, row.wavelength, rtol=1e-6)
    assert (np.diff(scene.wavelength.values) > 0).all()
    assert scene.wavelength.attrs["units"] == "nm"
    if row.fwhm is None:
        assert "fwhm" not in scene.coords
    else:
        np.testing.assert_allclose(scene.fwhm.values, row.fwhm, rtol=1e-6)
        assert scene.fwhm.attrs["units"] == "nm"


def check_scale(scene, row, cell):
    n_bands = scene.sizes["band"]
    gain, offset = scaling_of(scene)
    np.testing.assert_allclose(gain, np.broadcast_to(row.gain, n_bands), rtol=1e-6)
    np.testing.assert_allclose(offset, np.broadcast_to(row.offset, n_bands), atol=1e-9)
    assert cell.startswith("–") == ((gain == 1).all() and (offset == 0).all())


def check_no_data(scene, row, cell):
    valid = valid_mask(scene, drop_bad_bands=True).values
    np.testing.assert_array_equal(valid, np.broadcast_to(row.valid, valid.shape))
    assert (cell == "–") == bool(valid.all())


def check_bad_bands(scene, row, cell):
    if row.good is None:
        assert cell == "–"
        assert "good_band" not in scene.coords
    else:
        assert scene.good_band.values.tolist() == row.good


def check_grid(scene, row, cell):
    crs = crs_of(scene)
    transform = transform_of(scene)
    if row.epsg is None:
        assert crs is None
        assert transform is None
        # A swath has the position of each pixel instead.
        assert ("lat" in scene.coords) == ("lat" in cell)
    else:
        assert crs.to_epsg() == row.epsg
        assert transform.to_gdal() == row.transform


# By the beginnings of the titles.
CHECKS = {
    "cube": check_cube,
    "wavelengths": check_wavelengths,
    "scale": check_scale,
    "no data": check_no_data,
    "bad bands": check_bad_bands,
    "CRS": check_grid,
}
HEAD, *ROWS = table()
CELLS = []
for cells in ROWS:
    CELLS += [(cells[0], title, cell) for title, cell in zip(HEAD[1:], cells[1:], strict=True)]


def starting(entries, text):
    """Return the one entry whose name the text starts with."""
    (name,) = [name for name in entries if text.startswith(name)]
    return entries[name]


@pytest.mark.parametrize(("product", "title", "cell"), CELLS, ids=lambda text: text[:20])
def test_cell(tmp_path, product, title, cell):
    row = starting(WRITERS, product)(tmp_path)
    starting(CHECKS, title)(read_scene(row.path), row, cell)


def test_no_row_and_no_column_is_missing():
    assert len(ROWS) == len(WRITERS)
    assert len(HEAD) == 1 + len(CHECKS)
    assert len(CELLS) == len(WRITERS) * len(CHECKS)
