"""MRSA, relative error and index recovery."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls as scipy_nnls

from selfdict.metrics import index_recovery, match, mrsa, relative_error, spectral_angles


@given(st.integers(0, 1000))
def test_mrsa_ignores_order_scale_and_offset_of_spectra(seed):
    rng = np.random.default_rng(seed)
    W = rng.random((20, 4))
    V = (W * rng.uniform(0.1, 5, 4) + rng.normal(size=4))[:, rng.permutation(4)]
    assert mrsa(V, W) == pytest.approx(0, abs=1e-5)


def test_mrsa_by_hand():
    assert spectral_angles([[1.0], [0.0], [-1.0]], [[1.0], [-2.0], [1.0]])[0, 0] == pytest.approx(
        50
    )  # orthogonal
    assert mrsa([[1.0], [0.0]], [[0.0], [1.0]]) == pytest.approx(
        100
    )  # opposite once the mean is gone
    assert mrsa([[1.0], [1.0]], [[0.0], [1.0]]) == pytest.approx(
        50
    )  # a flat spectrum has no direction


def test_matching_is_optimal_not_greedy_and_takes_different_numbers():
    rng = np.random.default_rng(0)
    W, V = rng.random((10, 3)), rng.random((10, 5))
    angles = spectral_angles(W, V)
    from itertools import permutations

    best = min(angles[range(3), list(p)].mean() for p in permutations(range(5), 3))
    assert mrsa(W, V) == pytest.approx(best)
    rows, columns = match(W, V)
    assert angles[rows, columns].mean() == pytest.approx(best)


def test_relative_error_equals_scipys():
    rng = np.random.default_rng(0)
    M = rng.random((8, 30))
    K = [3, 7, 20]
    expected = np.sqrt(sum(scipy_nnls(M[:, K], m)[1] ** 2 for m in M.T)) / np.linalg.norm(M)
    assert relative_error(M, K) == pytest.approx(expected, rel=1e-9)
    assert relative_error(M, M[:, K]) == pytest.approx(expected, rel=1e-9)
    assert relative_error(M, K, np.zeros((3, 30))) == pytest.approx(1.0)
    assert relative_error(np.zeros((2, 3)), [0]) == 0.0


def test_index_recovery():
    assert index_recovery([5, 1, 2], [1, 2, 3, 4]) == 0.5
    assert index_recovery([1], [1]) == 1.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: mrsa(np.ones((2, 1)), np.ones((3, 1))),
            ValueError,
            "same number of rows, got 2 and 3",
        ),
        (lambda: mrsa([[np.nan]], [[1.0]]), ValueError, "NaN"),
        (lambda: relative_error(np.eye(2), [0.5]), TypeError, "column indices"),
        (lambda: index_recovery([1], []), ValueError, "must not be empty"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
