"""Squared norms of columns, and the selection of the largest residual."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfdict.kernels.columns import (
    possibly_larger,
    squared_norms,
    subtract_squares,
    surely_largest,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (4, 20000), (9, 5)])
def test_squared_norms(dtype, order, shape):
    M = np.asarray(np.random.default_rng(0).standard_normal(shape), dtype=dtype, order=order)
    expected = [float(m @ m) for m in M.T.astype(np.float64)]
    np.testing.assert_allclose(squared_norms(M), expected, rtol=1e-13)
    np.testing.assert_allclose(squared_norms(M[::-1, ::-2]), expected[::-2], rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subtract_squares(dtype):
    rng = np.random.default_rng(0)
    residuals, slack, rounding = rng.random(20), rng.random(20), rng.random(20)
    change = rng.standard_normal(20).astype(dtype)
    residuals[3] = -np.inf
    wide = change.astype(np.float64)
    expected = residuals - wide**2, slack + (np.abs(wide) + rounding) ** 2 - wide**2
    subtract_squares(residuals, slack, change, rounding)
    np.testing.assert_allclose(residuals, expected[0], rtol=1e-15)
    np.testing.assert_allclose(slack, expected[1], rtol=1e-13)


@given(st.integers(0, 10**6))
def test_the_largest_is_among_the_candidates(seed):
    rng = np.random.default_rng(seed)
    exact, slack = rng.random(20), 0.3 * rng.random(20)
    known = exact + slack * rng.uniform(-1, 1, 20)
    known[5] = -np.inf
    lower = surely_largest(known, slack)
    assert lower == max(0.0, *(known - slack))
    columns = possibly_larger(known, slack, lower).tolist()
    assert columns == [
        j for j in range(20) if known[j] + slack[j] >= lower and known[j] + slack[j] > 0
    ]
    exact[5] = -np.inf
    assert np.argmax(exact) in columns


def test_no_candidate():
    gone = np.full(4, -np.inf)
    assert surely_largest(gone, np.ones(4)) == 0.0
    assert possibly_larger(gone, np.ones(4), 0.0).size == 0
    assert possibly_larger(np.zeros(4), np.zeros(4), 0.0).size == 0
