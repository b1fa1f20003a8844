"""A library at the bands of a sensor: exact averages, and what it does not cover."""

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad

from selfdict import InputError
from selfdict.scene import build_library, resample_library
from selfdict.scene.metadata import notes_of

FINE = np.arange(400.0, 2501.0)  # 1 nm, as of a field spectrometer


def sensor(wavelength, fwhm=None):
    coords = {"wavelength": ("band", np.asarray(wavelength, dtype=float))}
    if fwhm is not None:
        coords["fwhm"] = ("band", np.broadcast_to(fwhm, len(wavelength)).astype(float))
    return xr.DataArray(np.zeros(len(wavelength)), dims="band", coords=coords)


def dip(wavelength, centre=2200.0, sigma=8.0):
    """A narrow absorption feature of depth 0.5."""
    return 1 - 0.5 * np.exp(-0.5 * ((wavelength - centre) / sigma) ** 2)


def test_a_narrow_feature_becomes_as_shallow_as_theory_says():
    """A Gaussian under a Gaussian response is a Gaussian: widths add in quadrature."""
    library = build_library([dip(FINE)], ["clay"], FINE)
    centres = np.arange(2100.0, 2300.0, 7.0)
    for width in (6.0, 12.0, 30.0):
        resampled = resample_library(library, sensor(centres, width))[0].values[0]
        # Samples at a distance of 1 nm count as 1 nm wide.
        variance = 8.0**2 + (width**2 - 1) / (8 * np.log(2))
        depth = 0.5 * 8.0 / np.sqrt(variance)
        expected = 1 - depth * np.exp(-0.5 * (centres - 2200) ** 2 / variance)
        np.testing.assert_allclose(resampled, expected, atol=1e-3)
    # Interpolation keeps the depth, whatever the width of the bands.
    assert resample_library(library, sensor([2200.0]))[0].item() == pytest.approx(0.5)
    assert resample_library(library, sensor([2200.0], 30.0))[0].item() > 0.7


def test_averages_are_the_integrals_of_the_lines_between_samples():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(400, 900, 40))
    y = rng.random(40)
    library = build_library([y], ["rough"], x, fwhm=np.zeros(40))
    centres = np.array([500.0, 612.3, 700.0])
    values = resample_library(library, sensor(centres, 80.0))[0].values[0]
    sigma = 80.0 / np.sqrt(8 * np.log(2))
    for centre, value in zip(centres, values):

        def weighted(w, centre=centre):
            return np.interp(w, x, y) * np.exp(-0.5 * ((w - centre) / sigma) ** 2)

        inside = x[(x > centre - 5 * sigma) & (x < centre + 5 * sigma)]
        low = max(x[0], centre - 5 * sigma)
        high = min(x[-1], centre + 5 * sigma)
        total = quad(weighted, low, high, points=inside, limit=500)[0]
        mass = quad(
            lambda w, c=centre: np.exp(-0.5 * ((w - c) / sigma) ** 2), low, high, points=[centre]
        )[0]
        assert value == pytest.approx(total / mass, abs=2e-5)


def test_a_library_as_wide_as_the_sensor_is_not_smoothed_again():
    centres = np.arange(2100.0, 2300.0, 10.0)
    for fwhm in (None, np.full(20, 10.0)):
        library = build_library([dip(centres)], ["clay"], centres, fwhm=fwhm)
        resampled, _ = resample_library(library, sensor(centres, 10.0))
        np.testing.assert_array_equal(resampled.values[0], dip(centres))
        assert notes_of(resampled) == []
    # Measured with 8 nm and wanted with 10 nm: 6 nm are left.
    library = build_library([dip(FINE)], ["clay"], FINE, fwhm=np.full(len(FINE), 8.0))
    found = resample_library(library, sensor([2200.0], 10.0))[0].item()
    sharp = build_library([dip(FINE)], ["clay"], FINE, fwhm=np.zeros(len(FINE)))
    assert found == pytest.approx(resample_library(sharp, sensor([2200.0], 6.0))[0].item())


def test_bands_that_are_not_covered_are_left_out_and_named():
    spectra = np.array([dip(FINE), dip(FINE, 900.0)])
    spectra[:, (FINE > 1345) & (FINE < 1455)] = -1.23e34
    library = build_library(spectra, ["a", "b"], FINE)
    centres = np.arange(380.0, 2521.0, 10.0)
    resampled, is_covered = resample_library(library, sensor(centres, 10.0))
    covered = resampled["wavelength"].values
    # At the ends of the range half of a response has no values.
    assert covered.min() == 410
    assert covered.max() == 2490
    assert not ((covered > 1340) & (covered < 1460)).any()
    np.testing.assert_array_equal(centres[is_covered], covered)
    (note,) = notes_of(resampled)
    assert note.startswith("19 of 215")
    assert note.endswith(": 380–400, 1340–1460, 2500–2520 nm")
    assert np.isfinite(resampled.values).all()


def test_spectra_of_other_ranges_are_left_out_and_counted():
    """A thermal spectrum in a folder must not cost the bands of all others."""
    wavelength = np.vstack([FINE] * 11 + [np.linspace(2400, 15000, len(FINE))])
    spectra = np.vstack([dip(FINE)] * 12)
    names = [f"m{k}" for k in range(12)]
    resampled, is_covered = resample_library(
        build_library(spectra, names, wavelength), sensor(np.arange(450.0, 2450.0, 10.0), 10.0)
    )
    assert is_covered.all()
    assert resampled["name"].values.tolist() == names[:11]
    assert notes_of(resampled)[0].startswith("1 of 12 spectra")


def test_spectra_that_share_no_range_are_refused():
    wavelength = np.vstack([FINE, FINE + 2101.0, FINE + 4202.0])
    library = build_library(np.vstack([dip(FINE)] * 3), ["short", "longer", "long"], wavelength)
    for centres in (np.linspace(500, 6600, 100), [8000.0, 9000.0]):
        with pytest.raises(InputError):
            resample_library(library, sensor(centres))


def test_each_spectrum_has_wavelengths_of_its_own():
    wavelength = np.array([[400.0, 500.0, 600.0], [450.0, 550.0, np.nan]])
    values = np.array([[0.1, 0.2, 0.3], [0.5, 0.6, 9.0]])
    library = build_library(values, ["three", "two"], wavelength)
    matched = resample_library(library, sensor([500.0, 540.0]))[0]
    np.testing.assert_allclose(matched.values, [[0.2, 0.24], [0.55, 0.59]])


def test_shapes_are_checked():
    for wrong in ({"wavelength": [1.0, 2.0]}, {"material": ["c"]}):
        with pytest.raises(InputError):
            build_library(np.ones((2, 3)), ["a", "b"], **wrong)
