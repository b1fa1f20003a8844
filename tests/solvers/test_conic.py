"""Models (4) and (6) solved exactly."""

import numpy as np
import pytest

import naive
import reference
from selfdict import InputError, Status, Weighted, conic
from selfdict.datasets import make_midpoints


@pytest.mark.parametrize("case", reference.CASES)
def test_penalised_model_reaches_the_authors_optimum(case):
    data = reference.load(case)
    solution = conic(data["M"], mu=float(data["mu_final"]), p=data["p"], w=data["w"])
    assert solution.objective == pytest.approx(float(data["fopt"]), rel=1e-6)
    assert solution.gap <= 1e-6
    assert solution.status is Status.EXACT


def test_a_program_that_is_out_of_reach_of_the_finest_tolerance_is_solved():
    M = [[2.27, 2.11, 2.29, 2.11], [0.735, 0.826, 0.782, 0.844], [0.998, 0.961, 1.018, 1.199]]
    solution = conic(M, mu=float(np.square(M).sum()))
    assert solution.gap <= 1e-6


def test_constrained_model_is_feasible_certified_and_finds_the_pure_columns():
    M, _, indices = make_midpoints(20, 5, noise=0.1, random_state=0)
    solution = conic(M, epsilon=0.1)
    X = solution.toarray()
    assert np.linalg.norm(M - M @ X) <= 0.1 + 1e-6
    np.testing.assert_allclose(naive.project_omega(X, np.abs(M).sum(axis=0)), X, atol=1e-9)
    assert solution.gap <= 1e-5
    assert set(np.argsort(-solution.diagonal)[:5]) == set(indices)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        dict(mu=1.0, epsilon=1.0),
        dict(epsilon=0.1, D=np.array([[1.0], [0.0]])),  # no residual is as small as that
    ],
)
def test_invalid_models_are_refused(arguments):
    with pytest.raises(InputError):
        conic(np.eye(2), **arguments)


@pytest.mark.parametrize("dictionary", [False, True])
def test_constrained_and_penalised_models_meet(dictionary):
    """Model (4) with sample weights and variances meets model (6) at the same residual."""
    rng = np.random.default_rng(0)
    M = rng.random((5, 8))
    s = rng.uniform(0.2, 2, 8)
    loss = Weighted(rng.uniform(0.5, 2, 5))
    D = None
    if dictionary:
        D = rng.random((5, 6))
    penalised = conic(M, mu=0.05, D=D, sample_weight=s, loss=loss)
    R = M - (M if D is None else D) @ penalised.toarray()
    epsilon = float(np.sqrt(2 * loss.total(R, s)))
    constrained = conic(M, epsilon=epsilon, D=D, sample_weight=s, loss=loss)
    assert constrained.objective == pytest.approx(penalised.diagonal.sum(), rel=1e-4)
    assert 0 <= constrained.gap <= 1e-4
