import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_abundances
import naive_peers
from selfdict.kernels.rank_two import (
    add_deflated,
    correlate,
    deflate,
    extreme_pair,
    leading_eigenpairs,
    shares,
)


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_deflate(spread):
    """The error of the product in single precision is that of the spread, not of the size."""
    rng = np.random.default_rng(0)
    rows = (
        np.outer(rng.uniform(1, 2, 500), rng.random(30)) + spread * rng.standard_normal((500, 30))
    ).astype(np.float32)
    R, G = np.empty_like(rows), np.ones((30, 30))
    u, v = np.zeros((2, 30))
    deflate(rows, R, u, v)
    add_deflated(R.T @ R, u, v, G)
    rows = rows.astype(np.float64)
    np.testing.assert_allclose(
        G, rows.T @ rows + 1, atol=500 * 1e-6 * spread**2 + 1e-12 * (rows**2).sum(), rtol=0
    )


@given(st.integers(0, 10**6))
def test_extreme_pair_is_spa(seed):
    Z = np.random.default_rng(seed).standard_normal((2, 20)).round(1)
    assert list(extreme_pair(Z, 1e-6)) == naive_peers.spa(Z, 2)


@given(st.integers(0, 10**6))
def test_shares_are_those_of_nonnegative_least_squares(seed):
    rng = np.random.default_rng(seed)
    W = rng.random((5, 2))
    A = np.hstack([W, rng.random((5, 20)), np.zeros((5, 1))])
    x = np.empty(23)
    mix = rng.random((2, 2))
    shares(W.T @ W, mix, np.linalg.solve(mix, W.T @ A), x)
    for share, a in zip(x, A.T):
        h = naive_abundances.nnls(W, a)
        np.testing.assert_allclose(share, h[0] / (h[0] + h[1] + 1e-16), atol=1e-9)


def test_shares_for_a_dictionary_of_rank_one():
    x = np.empty(2)
    W = np.array([[1.0, 2.0], [1.0, 2.0]])
    shares(W.T @ W, np.eye(2), W.T @ np.eye(2), x)
    assert set(x) <= {0.0, 1.0}


def assert_leading_eigenpairs(G):
    values, vectors = leading_eigenpairs(G)
    expected = np.linalg.eigvalsh(G)[::-1][:2]
    scale = max(expected[0], 1e-300)
    np.testing.assert_allclose(values[: len(expected)] / scale, expected / scale, atol=1e-13)
    live = values > 1e-12 * scale
    np.testing.assert_allclose(
        G @ vectors[:, live] / scale, vectors[:, live] * values[live] / scale, atol=1e-13
    )
    np.testing.assert_allclose(
        vectors[:, live].T @ vectors[:, live], np.eye(live.sum()), atol=1e-12
    )


@given(
    st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 60), st.sampled_from([0.0, 0.3, 3.0])
)
def test_leading_eigenpairs(seed, m, k, decay):
    rng = np.random.default_rng(seed)
    A = rng.random((m, k)) * np.exp(-decay * np.arange(k))
    assert_leading_eigenpairs(A @ A.T)


@pytest.mark.parametrize(
    "G",
    [
        np.zeros((3, 3)),
        np.eye(6),
        np.diag([2.0, 2.0, 1.0, 0.0]),
        np.diag([2.0, 1.0, 1.0, 1.0]),
        np.ones((4, 4)),
        np.array([[5.0]]),
        np.diag(np.linspace(1, 1.001, 150)),  # no gap: the dense way
    ],
)
def test_leading_eigenpairs_without_a_gap(G):
    assert_leading_eigenpairs(G)


def test_correlate():
    """A constant row has no direction."""
    rng = np.random.default_rng(0)
    rows, direction, out = rng.random((5, 7)), rng.standard_normal(7), np.empty(5)
    rows[3] = 0.25
    direction -= direction.mean()
    correlate(rows, direction, out)
    out /= np.linalg.norm(direction)
    expected = [np.corrcoef(row, direction)[0, 1] if np.ptp(row) > 0 else -np.inf for row in rows]
    np.testing.assert_allclose(out, expected, rtol=1e-12)
