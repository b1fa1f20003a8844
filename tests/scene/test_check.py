"""The check over all pixels, block by block, against solvers and certificates for all at once."""

import numpy as np
import pytest

from selfdict import Huber, InputError, Squared, certify, working_set
from selfdict.datasets import make_scene
from selfdict.scene import matrix, unmix
from selfdict.scene.check import Dictionary


@pytest.fixture(scope="module")
def case():
    truth = make_scene(
        (30, 24), n_bands=30, n_endmembers=4, noise=0.005, n_outliers=2, random_state=1
    )
    result = unmix(truth.scene, 4, candidates=40, check=True, loss=Squared(), random_state=0)
    M = matrix(truth.scene, drop_bad_bands=True).astype(np.float64)
    flat = np.ravel_multi_index(result.solution_pixels.T, truth.scene.shape[1:])
    good = truth.scene.good_band.values
    D = truth.scene.values.reshape(30, -1)[good][:, flat].astype(np.float64)
    return result, M, D


def test_the_optimum_lies_between_the_bound_and_the_objective(case):
    result, M, D = case
    best = working_set(M, result.solution.mu, D=D, p=result.solution.problem.p, tol=1e-6)
    check = result.check
    assert check.dual_bound <= best.objective * (1 + 1e-6)
    assert best.objective <= check.objective * (1 + 1e-6)
    assert check.gap == pytest.approx((check.objective - check.dual_bound) / check.objective)
    assert 0 < check.gap < 0.2


def test_gates_fitted_to_all_pixels_close_the_gap(case):
    result, M, D = case
    best = working_set(M, result.solution.mu, D=D, p=result.solution.problem.p, tol=1e-6)
    dictionary = Dictionary.of(D, best)
    check = dictionary.verdict(dictionary.sums(M[:, :100]) + dictionary.sums(M[:, 100:]))
    assert check.objective == pytest.approx(best.objective, rel=1e-6)
    assert check.dual_bound == pytest.approx(certify(best).dual_bound, rel=1e-6)
    assert check.gap < 1e-5


def test_pixels_and_atoms_of_zeros(case):
    result, M, D = case
    dictionary = Dictionary.of(D, result.solution)
    padded = np.column_stack([M, np.zeros((len(M), 3))])
    np.testing.assert_allclose(dictionary.sums(padded), dictionary.sums(M), rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"method": "spa"}, {"candidates": None}, {"loss": Huber(0.1)}],
)
def test_what_cannot_be_checked(options):
    scene = make_scene((10, 10), n_bands=10, n_endmembers=2, random_state=0).scene
    with pytest.raises(InputError, match="check=True needs"):
        unmix(scene, 2, check=True, **options)
