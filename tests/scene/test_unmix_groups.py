"""Averages, shares and proofs of scenes."""

from dataclasses import replace

import numpy as np
import pytest

from selfdict import FGNSR, SPA, FastGradient, Huber, UnsupportedError, shares
from selfdict.datasets import make_scene
from selfdict.methods import FGNSRMethod
from selfdict.scene import matrix, unmix


@pytest.fixture(scope="module")
def truth():
    truth = make_scene(shape=(24, 20), n_endmembers=3, noise=0.02, n_outliers=0, random_state=0)
    # No band is marked as bad or known to be in water vapour, so that all are used.
    return replace(truth, scene=truth.scene.drop_vars(["good_band", "wavelength"]))


@pytest.fixture(scope="module")
def result(truth):
    return unmix(truth.scene, 3, candidates=None, prove=True, random_state=0)


def test_endmembers_are_averages_with_their_spread(truth, result):
    assert result.parameters["endmembers"] == "average"
    assert result.parameters["abundances"] == "shares"
    assert result.gap == result.solution.gap <= 1e-3
    assert min(truth.abundances[:, row, column].max() for row, column in result.pixels) > 0.9
    assert result.spread.shape == result.endmembers.shape
    for k, group in enumerate(result.groups):
        assert tuple(group[0]) == tuple(result.pixels[k])
        assert result.counts[k] <= len(group)
    flat = [group @ [20, 1] for group in result.groups]
    np.testing.assert_array_equal(result.indices, [positions[0] for positions in flat])
    assert np.unique(np.concatenate(flat)).size == sum(map(len, flat))


def test_maps_are_shares(truth, result):
    total = result.abundances.sum("endmember").values
    np.testing.assert_allclose(total[result.valid.values], 1.0, rtol=1e-6)
    expected = shares(result.endmembers.values.T, matrix(truth.scene))
    found = result.abundances.values[:, result.valid.values]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_the_map_of_errors_is_that_of_the_estimator(truth, result):
    M = matrix(truth.scene)
    model = FGNSR(3, endmembers="average", random_state=0).fit(M.T)
    np.testing.assert_allclose(model.components_, result.endmembers.values, rtol=1e-6)
    expected = model.shares(M.T, return_std=True)[1]
    found = result.uncertainty.values[:, result.valid.values]
    np.testing.assert_allclose(found, expected.T, rtol=1e-2, atol=1e-5)
    assert np.isnan(result.uncertainty.values[:, ~result.valid.values]).all()


def test_the_error_of_pixels_can_be_compared(truth, result):
    M = matrix(truth.scene)
    pixels = FGNSR(3, random_state=0).fit(M.T)
    assert result.pixel_error == pytest.approx(pixels.reconstruction_err_, rel=1e-5)
    average = FGNSR(3, endmembers="average", random_state=0).fit(M.T)
    plain = unmix(truth.scene, 3, candidates=None, abundances="nnls", random_state=0)
    assert plain.relative_error == pytest.approx(average.reconstruction_err_, rel=1e-5)
    for abundances in ("shares", "unit", "nnls", "fcls"):
        other = unmix(truth.scene, 3, method="spa", abundances=abundances)
        expected = SPA(3).fit(M.T).reconstruction_err_
        assert other.pixel_error == pytest.approx(expected, rel=1e-5)
        errors = other.uncertainty.values[:, other.valid.values]
        assert np.isfinite(errors).all()
        assert 0 < np.median(errors) < 0.2


def test_weights_of_groups_are_sums_of_the_diagonal(truth, result):
    diagonal = result.solution.diagonal
    assert len(diagonal) == len(result.solution_pixels)
    position = {tuple(pixel): k for k, pixel in enumerate(result.solution_pixels.tolist())}
    for weight, group in zip(result.group_weights, result.groups, strict=True):
        rows = [position[tuple(pixel)] for pixel in group.tolist()]
        assert weight == pytest.approx(diagonal[rows].sum())
    assert result.group_weights.sum() <= diagonal.sum() * (1 + 1e-6)


def test_the_residual_is_that_of_the_coefficients_shown(truth, result):
    M = matrix(truth.scene)
    valid = result.valid.values
    H = result.abundances.values[:, valid] * result.brightness.values[valid]
    rest = np.linalg.norm(M - result.illumination.spectra @ H, axis=0)
    expected = rest / np.linalg.norm(M, axis=0)
    np.testing.assert_allclose(result.residual.values[valid], expected, rtol=1e-3)
    assert np.isnan(result.brightness.values[~valid]).all()
    # shares of unit-length spectra leave the sums free, as coefficients do
    plain = unmix(truth.scene, 3, candidates=None, abundances="nnls", random_state=0)
    unit = unmix(truth.scene, 3, candidates=None, abundances="unit", random_state=0)
    assert plain.brightness is None
    assert unit.relative_error == pytest.approx(plain.relative_error, rel=1e-6)
    np.testing.assert_allclose(unit.residual.values, plain.residual.values, rtol=1e-4)
    assert plain.relative_error <= result.relative_error


def test_the_proof_is_about_the_groups_shown(truth, result):
    assert len(result.proof.needed) == 3
    assert result.proof.enough < 0.2
    assert result.proof.limit <= result.relative_error * (1 + 1e-6)
    assert not result.proof.closed[result.proof.solution.support].any()
    # or about the representatives
    result = unmix(truth.scene, 3, candidates=60, prove=True, random_state=0)
    assert result.proof.complete
    assert result.proof.closed.shape == (60,)
    assert len(result.group_weights) == 3


def test_maps_of_alike_endmembers_are_added_up(truth, tmp_path):
    for maps in (None, tmp_path / "maps"):
        found = unmix(truth.scene, 5, endmembers="pixels", candidates=60, maps=maps)
        assert replace(found, alike=()).added_up().identical(found.abundances)
        result = replace(found, alike=((0, 3), (1, 2, 4)))
        values = found.abundances.values
        totals = np.nansum(values, axis=(1, 2))
        merged = result.added_up()
        heaviest = sorted(max(alike, key=lambda k: totals[k]) for alike in result.alike)
        np.testing.assert_array_equal(merged.endmember, np.array(heaviest) + 1)
        order = np.argsort([max(alike, key=lambda k: totals[k]) for alike in result.alike])
        expected = np.stack([values[list(alike)].sum(axis=0) for alike in result.alike])
        np.testing.assert_allclose(merged.values, expected[order], rtol=1e-6)


def test_a_proof_that_was_not_asked_for_has_a_time_limit(truth, monkeypatch):
    limits = []
    prove = FGNSRMethod.prove

    def noted(self, *, max_seconds):
        limits.append(max_seconds)
        return prove(self, max_seconds=max_seconds)

    monkeypatch.setattr(FGNSRMethod, "prove", noted)
    for wanted in ("auto", True):
        unmix(truth.scene, 3, candidates=60, prove=wanted, random_state=0)
    assert limits[0] >= 3.0
    assert limits[1] is None


def test_no_proof_where_none_is_possible(truth):
    plain = unmix(truth.scene, 3, method="spa", prove="auto", uncertainty=False)
    assert plain.proof is None
    assert plain.uncertainty is None
    solver = FastGradient(tol=0, max_iter=20)
    other_loss = unmix(truth.scene, 3, candidates=20, loss=Huber(0.1), solver=solver, prove="auto")
    assert other_loss.proof is None
    with pytest.raises(UnsupportedError):
        unmix(truth.scene, 3, candidates=20, loss=Huber(0.1), solver=solver, prove=True)
