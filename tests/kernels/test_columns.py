"""Squared norms of columns, and their update."""

import numpy as np
import pytest

from selfdict.kernels.columns import squared_norms, subtract_squares


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
