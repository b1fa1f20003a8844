import numpy as np
import pytest

from selfdict.kernels.product import gemm_address, product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("a", "k", "b"), [(3, 5, 4), (1, 5, 4), (3, 1, 4), (3, 5, 1), (1, 1, 1), (3, 0, 4)])
@pytest.mark.parametrize("order", ["rows", "columns", "slices", "transposed slices"])
def test_is_the_product_however_factors_are_stored(dtype, a, k, b, order):
    def stored(shape):
        values = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)
        if order == "rows":
            return values
        if order == "columns":
            return np.asfortranarray(values)
        if order == "slices":
            return np.pad(values, ((0, 2), (1, 3)))[:-2, 1:-3]
        return np.pad(values.T, ((0, 2), (1, 3)))[:-2, 1:-3].T

    A, B = stored((a, k)), stored((k, b))
    room = np.full((a, b + 2), np.nan, dtype=dtype)
    product(gemm_address(dtype), A, B, room[:, 1:-1])
    np.testing.assert_allclose(room[:, 1:-1], A @ B, rtol=1e-5 if dtype == np.float32 else 1e-13, atol=1e-6)
    assert np.isnan(room[:, [0, -1]]).all()
