import numpy as np
import pytest

import naive_select
from selfdict import suggest_rank
from selfdict.datasets import make_mixtures
from selfdict.select import elbow, hysime


@pytest.mark.parametrize("r", [2, 3, 5, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hysime_finds_the_number_of_endmembers(r, dtype):
    M = make_mixtures(30, 2000, r, noise=0.002, random_state=r)[0].astype(dtype)
    assert hysime(M) == r
    assert suggest_rank(M) == r


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.003, 0.03, 0.2])
def test_hysime_same_as_one_regression_a_row(seed, noise):
    M = make_mixtures(15, 300, 5, noise=noise, random_state=seed)[0]
    M = M + 0.01 * np.random.default_rng(seed).standard_normal(M.shape)
    assert hysime(M) == naive_select.hysime(M)


def test_hysime_does_not_depend_on_the_unit():
    M = make_mixtures(20, 500, 4, noise=0.01, random_state=0)[0]
    assert hysime(1e6 * M) == hysime(M) == hysime(1e-6 * M)
    assert hysime(np.zeros((3, 5))) == 0


def test_elbow():
    assert elbow([1.0, 0.5, 0.1, 0.09, 0.08, 0.07]) == 3
    assert elbow([0.3]) == 1
    assert elbow([0.3, 0.3, 0.3]) == 1
    assert elbow([0.3, 0.2, 0.1]) == 1  # a straight line has none
    for errors in ([], [[0.1]], [0.1, np.nan]):
        with pytest.raises(ValueError, match="vector of finite numbers"):
            elbow(errors)


@pytest.mark.parametrize("r", [3, 5])
def test_elbow_of_spa(r):
    M = make_mixtures(30, 400, r, noise=0.002, random_state=0)[0]
    assert suggest_rank(M, r_max=12, method="elbow") == r


def test_limits():
    M = make_mixtures(30, 400, 6, noise=0.002, random_state=0)[0]
    assert suggest_rank(M, r_max=2) == 2
    assert suggest_rank([[1.0, 2.0]], method="elbow") == 1
    assert suggest_rank(np.zeros((2, 3))) == 1
    with pytest.raises(ValueError, match="'hysime' or 'elbow', got 'knee'"):
        suggest_rank(M, method="knee")
    with pytest.raises(ValueError, match="r_max"):
        suggest_rank(M, r_max=0)
