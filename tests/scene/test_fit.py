"""Noise per band, the verdict on the fit, and what is not explained, on scenes of known faults."""

from dataclasses import replace

import numpy as np
import pytest

from selfdict.datasets import make_scene
from selfdict.scene import build_library, build_scene, preflight, unmix
from selfdict.scene.facts import Fit

NOISE = 0.01


@pytest.fixture(scope="module")
def scene():
    truth = make_scene((40, 40), 100, 4, noise=NOISE, n_outliers=0, border=0, random_state=0)
    return truth.scene.drop_vars("good_band")


def in_water(scene):
    wavelength = scene.wavelength.values
    first = (wavelength >= 1340) & (wavelength <= 1445)
    second = (wavelength >= 1790) & (wavelength <= 1955)
    return first | second


@pytest.fixture(scope="module")
def wet(scene):
    """The scene with nothing but noise in water vapour."""
    bands = in_water(scene)
    values = scene.values.copy()
    values[bands] = np.random.default_rng(0).uniform(0, 1.5, values[bands].shape)
    return scene.copy(data=values)


def test_the_noise_of_each_band_is_that_which_was_added(scene):
    rng = np.random.default_rng(0)
    rising = np.linspace(0.001, 0.05, scene.sizes["band"])
    noise = rising[:, None, None] * rng.standard_normal(scene.shape)
    clean = make_scene((40, 40), 100, 4, noise=0, n_outliers=0, border=0, random_state=0).scene
    look = preflight(clean.drop_vars("good_band") + noise, keep_bands=True)
    ratio = look.noise / rising
    assert np.median(ratio) == pytest.approx(1, abs=0.1)
    assert (ratio > 0.6).all()


def test_clean_bands_in_water_vapour_are_used():
    clean = make_scene((40, 40), 100, 4, noise=0, n_outliers=0, border=0, random_state=0).scene
    scene = clean.drop_vars("good_band")
    levels = scene.values.mean(axis=(1, 2), keepdims=True)
    noise = 0.002 * levels * np.random.default_rng(0).standard_normal(scene.shape)
    assert preflight(scene.copy(data=scene.values + noise)).used.all()


def test_noise_in_water_vapour_is_named_and_left_out(wet):
    look = preflight(wet)
    np.testing.assert_array_equal(~look.used, in_water(wet))
    (sentence,) = look.sentences
    assert "left out: 46–50, 67–74 (1355–1439, 1800–1948 nm)" in sentence
    clean = unmix(wet.isel(band=~in_water(wet)), 4)
    result = unmix(wet, 4)
    assert result.relative_error == pytest.approx(clean.relative_error, rel=1e-3)
    assert result.fit.is_sound
    # It is said where the verdict is.
    assert "46–50, 67–74" in " ".join(result.fit.sentences)


def test_noise_that_is_kept_is_the_headline(wet):
    kept = unmix(wet, 4, keep_bands=True)
    assert kept.relative_error > 0.3
    assert kept.fit.is_poor
    assert "46–50, 67–74" in kept.fit.faults[0]
    # without wavelengths nothing is left out, and it is said all the same
    unnamed = unmix(wet.drop_vars("wavelength"), 4)
    assert unnamed.fit.is_poor
    assert "46–50, 67–74" in unnamed.fit.faults[0]


def test_a_good_fit_and_too_few_materials(scene):
    fit = unmix(scene, 4).fit
    assert fit.is_sound
    assert fit.noise == pytest.approx(NOISE, rel=0.2)
    assert unmix(scene, 1).fit.is_poor


def test_faulty_files(scene):
    axes = np.ascontiguousarray(scene.values.transpose(1, 2, 0))
    holes = scene.values.copy()
    holes[20:50, 10:20, 10:20] = -9999  # in some bands, which no declaration explains
    for values, kind in ((axes, "axes"), (holes, "range")):
        result = unmix(build_scene(values), 4)
        assert kind in [finding.kind for finding in result.preflight.findings if finding.is_fault]
        assert not result.fit.is_sound
        assert result.fit.headline != Fit(0.01, 0.01, 4).headline


def test_much_noise_is_no_fault_of_the_model():
    noisy = np.random.default_rng(0).random((50, 30, 30))
    fit = unmix(build_scene(noisy), 2).fit
    assert fit.error > 0.3
    assert not fit.is_poor
    assert not fit.is_sound


@pytest.fixture(scope="module")
def with_targets(scene):
    """The scene with two sheets of a material that it does not hold, and a damaged pixel."""
    values = scene.values.copy()
    wavelength = scene.wavelength.values
    sheet = 0.1 + 0.5 * (np.abs(wavelength - 900) < 150)
    values[:, 5:9, 6:10] = sheet[:, None, None]
    values[:, 30:32, 20:22] = 0.5 * values[:, 30:32, 20:22] + 0.5 * sheet[:, None, None]
    values[:, 20, 35] = values[::-1, 20, 35]
    rng = np.random.default_rng(1)
    changed = scene.copy(data=values + 0.002 * rng.standard_normal(values.shape))
    return changed, sheet


@pytest.fixture(scope="module")
def incomplete(with_targets):
    """A library without the material of the sheets."""
    changed, _ = with_targets
    mask = np.zeros(changed.shape[1:], dtype=bool)
    mask[5:9, 6:10] = True
    found = unmix(changed, 4, mask=mask, endmembers="pixels").endmembers
    return build_library(found.values, list("abcd"), found.wavelength.values)


def as_set(pixels):
    return {tuple(pixel) for pixel in pixels.tolist()}


def test_unexplained_patches(with_targets, incomplete):
    changed, sheet = with_targets
    result = unmix(changed, 4, library=incomplete)
    first, second = result.unexplained[:2]
    assert as_set(first.pixels) == {(row, column) for row in range(5, 9) for column in range(6, 10)}
    assert as_set(second.pixels) == {(30, 20), (30, 21), (31, 20), (31, 21)}
    assert first.share > second.share
    used = sheet[np.isin(changed.wavelength.values, result.endmembers.wavelength.values)]
    np.testing.assert_allclose(first.spectrum, used, atol=0.01)
    # as good as a run with this material among the endmembers
    more = build_library(
        np.vstack([incomplete.values, used]), list("abcde"), incomplete.wavelength.values
    )
    better = unmix(changed, 5, library=more, abundances="nnls").relative_error
    assert better <= first.error * 1.001
    assert first.error < 1.2 * better < result.relative_error


def test_a_selection_that_was_cut_short_is_the_headline(scene):
    fit = unmix(scene, 4).fit
    cut = replace(fit, error=0.3, skipped=("columns were chosen without a fit",))
    assert cut.is_poor
    assert "time limit" in cut.headline
    assert not any("Likely causes" in sentence for sentence in cut.sentences)
    assert "Likely causes" in replace(cut, skipped=()).sentences[-1]


def test_pixels_without_data_in_the_used_bands_are_counted(scene):
    values = scene.copy(deep=True)
    good = np.arange(scene.sizes["band"]) > 2
    values = values.assign_coords(good_band=("band", good))
    values[3:, 10:12, 10:15] = 0
    result = unmix(values, 4)
    assert any("10 further pixels" in note for note in result.notes)


def test_a_single_pixel_counts_if_it_holds_much_of_the_error(with_targets, incomplete):
    values = with_targets[0].copy()
    values[:, 20, 3] = np.abs(np.sin(np.arange(len(values)) ** 2))
    patches = unmix(values, 4, library=incomplete).unexplained
    assert {(20, 3)} in [as_set(patch.pixels) for patch in patches]


def test_blocks_give_the_same_patches(with_targets, incomplete, monkeypatch, tmp_path):
    changed, _ = with_targets
    expected = unmix(changed, 4, library=incomplete)
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 2**16)
    result = unmix(changed.chunk(y=7), 4, library=incomplete, maps=tmp_path / "maps")
    assert len(result.unexplained) == len(expected.unexplained) > 0
    for found, patch in zip(result.unexplained, expected.unexplained):
        np.testing.assert_array_equal(found.pixels, patch.pixels)
