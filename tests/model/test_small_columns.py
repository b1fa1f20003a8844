"""Columns that are far smaller than others count as much as these, or are refused."""

import numpy as np
import pytest

from selfdict import FGNSR, InputError, Problem, working_set
from selfdict.datasets import make_mixtures

MIXED = np.array([[0.5, 0.3, 0.2, 0.4, 0.1, 0.6, 0.7], [0.5, 0.7, 0.8, 0.6, 0.9, 0.4, 0.3]])


def two_small_columns(small, large, dtype):
    """Return two pure columns of one size, and mixtures of another."""
    M = np.zeros((2, 9), dtype)
    M[0, 0] = M[1, 1] = small
    M[:, 2:] = large * MIXED
    return M


@pytest.mark.parametrize("small", [2.0**-25, 2.0**-38])
def test_single_precision(small):
    M = two_small_columns(small, 2.0**38, np.float32)
    mu = 2.0**76 * 1e-2
    found = working_set(M, mu, tol=1e-6)
    exact = working_set(M.astype(np.float64), mu, tol=1e-9)
    assert found.dual_bound <= exact.objective * (1 + 1e-9)
    assert found.objective == pytest.approx(exact.objective, rel=1e-5)


@pytest.mark.parametrize("exponents", [(95, -95), (0, -95)])
def test_double_precision(exponents):
    large, small = (2.0**exponent for exponent in exponents)
    ordinary = working_set(two_small_columns(2.0**-30, 1.0, np.float64), 1e-2, tol=1e-9)
    M = two_small_columns(small, large, np.float64)
    mu = large**2 * 1e-2
    found = working_set(M, mu, tol=1e-9)
    assert found.dual_bound / large**2 <= ordinary.objective * (1 + 1e-9)
    assert found.objective / large**2 == pytest.approx(ordinary.objective, rel=1e-6)


def test_subnormal_columns_are_refused():
    M = make_mixtures(20, 200, 3, noise=0.01, random_state=0)[0].astype(np.float32)
    M[:, 7] = 0
    M[3, 7] = 1e-42
    with pytest.raises(InputError):
        Problem(M, 0.1)
    with pytest.raises(InputError):
        FGNSR(3).fit(M.T)
    M[:, 7] = 0
    assert FGNSR(3).fit(M.T).gap_ < 1e-2


def test_small_weights_and_atoms_are_refused():
    M = make_mixtures(5, 20, 3, random_state=0)[0]
    with pytest.raises(InputError):
        Problem(M, 0.1, w=np.r_[1.0, 1e-300, np.ones(18)])
    with pytest.raises(InputError):
        Problem(M, 0.1, D=M[:, :3] * [1.0, 1.0, 1e-200])
    assert Problem(M, 0.1, w=np.r_[0.0, np.ones(19)]).w[0] == 0
