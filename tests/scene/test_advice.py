"""The number of materials that is recommended: right where it is known, and with its reason."""

import numpy as np
import pytest

from selfdict import InputError
from selfdict.datasets import make_scene
from selfdict.scene import advise_rank, build_scene, unmix

SETTINGS = {"candidates": 40, "random_state": 0}


@pytest.mark.parametrize("r", [2, 5])
def test_the_truth_is_recommended(r):
    truth = make_scene((24, 24), 40, r, noise=0.005, random_state=r)
    result = unmix(truth.scene, "auto", uncertainty=False, **SETTINGS)
    advice = result.rank_advice
    assert advice.r == len(result.pixels) == r
    assert advice.n_alone == len(truth.outliers)
    # Noise alone decided: nothing was tried.
    assert advice.errors.size == 0
    assert advice.reason.startswith(f"{r} materials: with any more directions only noise is")


@pytest.fixture(scope="module")
def varied():
    """Return a scene of four materials whose spectra vary."""
    return make_scene(
        (24, 24), 30, 4, noise=0.002, variability=0.05, n_outliers=0, random_state=4
    ).scene


@pytest.fixture(scope="module")
def advice(varied):
    return advise_rank(varied, **SETTINGS)


def test_spectra_that_vary_do_not_count_twice(advice):
    assert advice.hysime > 6
    assert advice.r == advice.elbow == 4
    first, before, after = advice.pixel_errors[[0, 3, 4]]
    assert before - after < 0.05 * first
    assert advice.sentences[0] == (
        f"4 materials: 5 would lower the error of pure pixels from {100 * before:.3g} % to "
        f"{100 * after:.3g} %, by less than a twentieth of the {100 * first:.3g} % that one leaves"
    )
    assert advice.sentences[1] == (
        f"HySime counts {advice.hysime} directions above the noise ({100 * advice.noise:.3g} %): "
        "more than materials if their spectra vary"
    )


def test_errors_are_those_of_unmix(varied, advice):
    assert (advice.limits[: advice.errors.size] <= advice.pixel_errors).all()
    for r in (1, 3):
        result = unmix(varied, r, uncertainty=False, **SETTINGS)
        assert result.relative_error == advice.errors[r - 1]
        assert result.pixel_error == advice.pixel_errors[r - 1]


def test_auto_is_the_same_recommendation(varied, advice):
    result = unmix(varied, "auto", uncertainty=False, **SETTINGS)
    assert result.rank_advice.reason == advice.reason
    assert result.relative_error == advice.errors[3]
    assert result.parameters["r"] == 4
    assert result.seconds["rank"] > 0


def test_the_defaults_are_those_of_unmix():
    scene = make_scene((16, 16), 20, 2, n_outliers=0, random_state=0).scene
    advice = advise_rank(scene, random_state=0)
    assert advice.errors[1] == unmix(scene, 2, random_state=0).relative_error


@pytest.mark.parametrize("method", ["spa", "vca"])
def test_other_methods_and_blocks(varied, method, monkeypatch):
    whole = advise_rank(varied, method=method, random_state=0)
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 20_000)
    parts = advise_rank(varied, method=method, random_state=0)
    assert parts.r == whole.r
    np.testing.assert_allclose(parts.errors, whole.errors, rtol=1e-6)
    result = unmix(varied, 2, method=method, random_state=0)
    assert result.relative_error == pytest.approx(parts.errors[1], rel=1e-6)


def test_many_pixels_are_tried_on_representatives(varied, monkeypatch):
    monkeypatch.setattr("selfdict.scene.advice._MOST_CANDIDATES", 100)
    monkeypatch.setattr("selfdict.scene.advice.N_CLUSTERS", 40)
    advice = advise_rank(varied, 2, random_state=0)
    assert advice.n_candidates == 40
    assert advice.sentences[-1] == (
        "the errors are those of 40 candidates: all pixels would take long for each number of "
        "materials"
    )
    result = unmix(varied, 2, uncertainty=False, **SETTINGS)
    assert result.relative_error == advice.errors[1]
    # With other methods every pixel is tried.
    assert advise_rank(varied, 2, method="spa").n_candidates is None


def test_a_limit(varied):
    advice = advise_rank(varied, 2, method="spa")
    assert advice.r == 2
    assert advice.reason == "2 materials: the most that were tried"
    with pytest.raises(InputError, match="r_max must lie between 1"):
        advise_rank(varied, 0)
    with pytest.raises(TypeError, match="no setting colour"):
        advise_rank(varied, colour="red")


def test_few_pixels_and_exact_data():
    rng = np.random.default_rng(0)
    scene = build_scene(rng.random((12, 4, 4)))
    advice = advise_rank(scene, method="spa")
    assert advice.hysime is None
    assert 1 <= advice.r <= 12
    spectra = rng.random((12, 2))
    shares = rng.dirichlet(np.ones(2), (20, 20))
    shares[0, :2] = np.eye(2)
    exact = build_scene(np.einsum("bk,yxk->byx", spectra, shares))
    assert unmix(exact, "auto", method="spa").rank_advice.r == 2
    same = build_scene(np.tile(rng.random((12, 1, 1)), (1, 6, 6)))
    assert advise_rank(same, method="spa").r == 1


def test_a_scene_without_data():
    with pytest.raises(InputError, match="no valid pixel"):
        unmix(build_scene(np.zeros((5, 6, 7))), "auto")
    with pytest.raises((InputError, TypeError)):
        unmix(build_scene(np.ones((5, 6, 7))), "many")
