"""unmix of plain arrays (NumPy, masked, torch), without a seed, and with a time limit."""

import numpy as np
import pytest
import xarray as xr
from sklearn.exceptions import ConvergenceWarning

from selfdict import InputError, InputWarning
from selfdict.datasets import make_scene
from selfdict.scene import matrix, unmix
from selfdict.scene.model import scene_of


@pytest.fixture(scope="module")
def truth():
    return make_scene(shape=(24, 20), n_endmembers=3, n_outliers=0, random_state=0)


@pytest.fixture(scope="module")
def cube(truth):
    """The scene as an array (rows, columns, bands) without frame and bad bands."""
    scene = truth.scene.isel(band=truth.scene["good_band"].values)
    inner = scene.transpose("y", "x", "band").values[3:-3, 3:-3]
    return np.ascontiguousarray(inner), scene["wavelength"].values


def test_an_array_gives_what_the_scene_gives(cube):
    values, wavelengths = cube
    result = unmix(values, 3, wavelengths=wavelengths)
    scene = xr.DataArray(values, dims=("y", "x", "wavelength"))
    # without a seed, and with a long time limit
    same = unmix(
        scene.assign_coords(wavelength=wavelengths), 3, random_state=None, max_seconds=1000
    )
    assert result.parameters["random_state"] == 0
    assert result.skipped == same.skipped == ()
    np.testing.assert_array_equal(result.pixels, same.pixels)
    np.testing.assert_array_equal(result.abundances.values, same.abundances.values)
    np.testing.assert_array_equal(result.endmembers["wavelength"].values, wavelengths)
    assert result.abundances.shape == (3, *values.shape[:2])


def test_wavelengths_in_micrometres_and_none(cube):
    values, wavelengths = cube
    scene = scene_of(values, wavelengths / 1000)
    np.testing.assert_allclose(scene["wavelength"].values, wavelengths)
    assert "wavelength" not in scene_of(values).coords
    np.testing.assert_array_equal(matrix(scene), values.reshape(-1, values.shape[-1]).T)


def test_masked_pixels_are_left_out(cube):
    values, wavelengths = cube
    masked = np.ma.array(values, mask=np.zeros(values.shape, dtype=bool))
    masked[2, 3, 5] = np.ma.masked
    result = unmix(masked, 3, method="spa", wavelengths=wavelengths)
    assert result.n_valid == values.shape[0] * values.shape[1] - 1
    assert np.isnan(result.abundances.values[:, 2, 3]).all()


@pytest.mark.parametrize(
    ("data", "wavelengths", "error"),
    [
        (np.ones((4, 5)), None, InputError),
        (np.ones((4, 5, 3)), [1, 2], InputError),
        (np.ones((4, 5, 0)), None, InputError),
        (np.ones((4, 5, 3), dtype=complex), None, TypeError),
        ("scene.hdr", None, TypeError),
        ([[[1.0]]], None, TypeError),
        (xr.DataArray(np.ones((3, 4, 5)), dims=("band", "y", "x")), [1, 2, 3], InputError),
        (xr.Dataset({"cube": (("band", "y", "x"), np.ones((3, 4, 5)))}), None, TypeError),
    ],
)
def test_other_things_are_refused(data, wavelengths, error):
    with pytest.raises(error):
        unmix(data, 2, wavelengths=wavelengths)


def test_a_time_limit_says_what_was_left_out(cube):
    values, wavelengths = cube
    with pytest.warns(ConvergenceWarning):
        result = unmix(values, 12, wavelengths=wavelengths, max_seconds=0, prove="auto")
    assert "components are single points, not averages over groups" in result.skipped
    assert "not everything was tried for the proof" in result.skipped
    assert "standard errors of the abundances were not mapped" in result.skipped
    assert result.uncertainty is None
    assert not result.proof.complete
    assert result.parameters["max_seconds"] == 0
    assert np.isfinite(result.abundances.values).all()


def test_a_long_pass_over_many_endmembers_is_announced(cube, monkeypatch):
    values, wavelengths = cube
    monkeypatch.setattr("selfdict.scene.maps._LONG", 0.0)
    with pytest.warns(InputWarning):
        unmix(values, 30, wavelengths=wavelengths, method="spa")
    unmix(values, 29, wavelengths=wavelengths, method="spa")


def test_warnings_name_the_line_that_called(cube):
    values, wavelengths = cube
    few = values[:, :, :4]
    with pytest.warns(InputWarning) as caught:
        unmix(few, 6, wavelengths=wavelengths[:4], method="snpa")
    assert {each.filename for each in caught} == {__file__}


def test_bands_that_are_not_the_last_axis_are_a_fault(cube):
    values, _ = cube
    assert "axes" in " ".join(unmix(np.moveaxis(values, -1, 0), 3).fit.faults)
