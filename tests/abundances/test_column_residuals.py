import numpy as np
import pytest

from selfdict.abundances import column_residuals


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residuals_keep_their_digits_where_the_fit_is_almost_exact(dtype):
    rng = np.random.default_rng(0)
    U, H = rng.integers(0, 9, (12, 3)).astype(dtype), rng.integers(0, 9, (3, 700)).astype(dtype)
    M = U @ H  # exact: small integers
    M[5] += 2.0**-10
    for block in (None, 1, 100):
        np.testing.assert_array_equal(
            column_residuals(U, M, H, block=block), np.full(700, 2.0**-10)
        )


def test_bad_input():
    U, M, H = np.ones((3, 2)), np.ones((3, 5)), np.ones((2, 5))
    with pytest.raises(ValueError, match=r"H must have shape \(2, 5\), got \(2, 4\)"):
        column_residuals(U, M, H[:, :4])
    M[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        column_residuals(U, M, H)
