import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_peers
from selfdict import InputError, spa


def separable(rng, m=12, n=60, r=5, noise=1e-3):
    """Mixtures of r columns, these at random places."""
    W = rng.random((m, r))
    M = W @ rng.dirichlet(np.ones(r), n).T
    K = rng.choice(n, r, replace=False)
    M[:, K] = W
    return np.maximum(M + noise * rng.standard_normal(M.shape), 0), K


@given(
    st.integers(0, 10**6),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([0, 1e-9, 1e-3, 0.5]),
)
def test_equals_explicit_residuals(seed, dtype, noise):
    M, _ = separable(np.random.default_rng(seed), noise=noise)
    M = M.astype(dtype)
    assert spa(M, 5).tolist() == naive_peers.spa(M, 5)


def test_cancellation():
    """Residuals of 1e-12 of the data, 1e-24 squared: far below the rounding of the subtraction."""
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    M = Q @ np.diag([1, 1e-2, 1e-6, 1e-9, 1e-12, 0, 0, 0]) @ rng.random((8, 500))
    assert spa(M, 5).tolist() == naive_peers.spa(M, 5)


def test_ties_go_to_the_larger_norm_then_to_the_first():
    e = np.eye(3)
    M = np.column_stack([2 * e[0], e[1], e[1] + e[0], e[1] * (1 + 1e-8), e[1] + e[0]])
    assert spa(M, 2).tolist() == [0, 2]


def test_duplicates_give_the_first():
    column = np.random.default_rng(0).random(50)
    M = np.tile(column[:, None], (1, 999))
    assert spa(M, 1).tolist() == [0]
    assert spa(M.astype(np.float32), 1).tolist() == [0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_of_low_rank_are_refused_or_give_fewer(dtype):
    rng = np.random.default_rng(0)
    M = (rng.random((30, 3)) @ rng.random((3, 200))).astype(dtype)

    with pytest.raises(InputError):
        spa(M, 5)
    assert spa(M, 5, allow_fewer=True).tolist() == spa(M, 3).tolist()
