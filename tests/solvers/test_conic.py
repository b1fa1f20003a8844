"""The exact models, and Theorem 2 of the paper."""

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


def test_constrained_model_is_feasible_certified_and_finds_the_pure_columns():
    M, _, indices = make_midpoints(20, 5, noise=0.1, random_state=0)
    solution = conic(M, epsilon=0.1)
    X = solution.toarray()
    assert np.linalg.norm(M - M @ X) <= 0.1 + 1e-6
    np.testing.assert_allclose(naive.project_omega(X, np.abs(M).sum(axis=0)), X, atol=1e-9)
    assert solution.gap <= 1e-5
    assert set(np.argsort(-solution.diagonal)[:5]) == set(indices)


def raise_diagonal(X):
    """The transformation in the proof of Theorem 2, with a factor that keeps the residual.

    That factor is (1 − X_ij)/(1 − X_ii).

    Where the largest entry of row i is off the diagonal, column i becomes the mixture of itself and
    e_i that has that entry on the diagonal: its residual only shrinks.
    """
    X = X.copy()
    for i in range(len(X)):
        top = X[i].max()
        if top > X[i, i]:
            X[:, i] *= (1 - top) / (1 - X[i, i])
            X[i, i] = top
    return X


def residual(M, X):
    return np.linalg.norm(M - M @ X, axis=0).sum()


@pytest.mark.parametrize("seed", range(4))
def test_theorem_2(seed):
    M, _, _ = make_midpoints(8, 4, noise=0.2, random_state=seed)
    M /= M.sum(axis=0)
    epsilon = 0.15
    l1inf, trace = (conic(M, epsilon=epsilon, model=model) for model in ("l1inf", "trace"))
    assert l1inf.objective == pytest.approx(trace.objective, rel=1e-6)
    X = raise_diagonal(l1inf.toarray())
    assert (np.diagonal(X)[:, None] + 1e-7 >= X).all()
    assert residual(M, X) <= epsilon * (1 + 1e-6)
    assert np.trace(X) == pytest.approx(trace.objective, rel=1e-6)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        dict(mu=1.0, model="trace"),
        dict(epsilon=1.0, model="trace", sample_weight=np.ones(2)),
        dict(epsilon=1.0, model="trace", D=np.eye(2)),
        dict(epsilon=1.0, model="l1inf", loss=Weighted(np.ones(2))),
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


def test_too_many_points_are_refused():
    with pytest.raises(InputError):
        conic(np.ones((2, 301)), mu=1.0)


def test_zero_columns_have_zero_coefficients():
    M = np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 0.5]])
    X = conic(M, mu=0.05).toarray()
    assert not X[1].any()
    assert not X[:, 1].any()
