"""Squared norms of columns, their update, and products."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from selfdict.kernels.columns import products_and_norms, squared_norms


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (4, 20000), (9, 5)])
def test_squared_norms(dtype, order, shape):
    M = np.asarray(np.random.default_rng(0).standard_normal(shape), dtype=dtype, order=order)
    expected = [float(m @ m) for m in M.T.astype(np.float64)]
    np.testing.assert_allclose(squared_norms(M), expected, rtol=1e-13)
    np.testing.assert_allclose(squared_norms(M[::-1, ::-2]), expected[::-2], rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F", "sparse"])
@pytest.mark.parametrize("m", [1, 4, 11])
def test_products_and_norms(dtype, order, m):
    rng = np.random.default_rng(m)
    P = rng.standard_normal((3, m))
    M = rng.standard_normal((m, 50)).astype(dtype)
    given = csc_array(M) if order == "sparse" else np.asarray(M, order=order)
    products, norms = products_and_norms(P, given, 7, 40)
    wide = M[:, 7:40].astype(np.float64)
    np.testing.assert_allclose(products, P @ wide, atol=1e-13)
    np.testing.assert_allclose(norms, (wide**2).sum(axis=0), rtol=1e-13)
    weights = rng.random(m)
    products, norms = products_and_norms(P, given, 7, 40, weights)
    np.testing.assert_allclose(products, P @ wide, atol=1e-13)
    np.testing.assert_allclose(norms, ((weights[:, None] * wide) ** 2).sum(axis=0), rtol=1e-12)
