"""Angles, relative error, index recovery and the error of abundances."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls as scipy_nnls

from selfdict.metrics import (
    abundance_rmse,
    index_recovery,
    match,
    mrsa,
    relative_error,
    spectral_angle,
)


@given(st.integers(0, 1000))
def test_mrsa_ignores_order_scale_and_offset_of_spectra(seed):
    rng = np.random.default_rng(seed)
    W = rng.random((20, 4))
    order = rng.permutation(4)
    V = (W * rng.uniform(0.1, 5, 4) + rng.normal(size=4))[:, order]
    assert mrsa(V, W) == pytest.approx(0, abs=1e-5)
    np.testing.assert_array_equal(match(V, W), (range(4), order))


def test_mrsa_by_hand():
    orthogonal = mrsa([[1.0], [0.0], [-1.0]], [[1.0], [-2.0], [1.0]])
    opposite_without_mean = mrsa([[1.0], [0.0]], [[0.0], [1.0]])
    flat = mrsa([[1.0], [1.0]], [[0.0], [1.0]])
    assert orthogonal == pytest.approx(50)
    assert opposite_without_mean == pytest.approx(100)
    assert flat == pytest.approx(50)  # it has no direction


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 5.0])
def test_mrsa_of_two_flat_spectra(value):
    flat = np.full((50, 1), value)
    assert mrsa(flat, flat) == pytest.approx(50)


def angle_by_half_angles(a, b):
    """Return the angle between two vectors in radians by Kahan's formula."""
    a = a / np.linalg.norm(a)
    b = b / np.linalg.norm(b)
    return 2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))


@pytest.mark.parametrize("r_true", [1, 2, 3, 5])
def test_spectral_angle_against_all_matchings(r_true):
    rng = np.random.default_rng(r_true)
    A = rng.random((12, 3))
    B = rng.normal(size=(12, r_true))
    few, many = sorted((A, B), key=lambda V: V.shape[1])
    expected = min(
        np.mean([angle_by_half_angles(few[:, i], many[:, j]) for i, j in enumerate(order)])
        for order in permutations(range(many.shape[1]), few.shape[1])
    )
    assert spectral_angle(A, B) == pytest.approx(expected)
    assert spectral_angle(A, B, degrees=True) == pytest.approx(180 / np.pi * expected)
    assert spectral_angle(B, A) == pytest.approx(expected)


@pytest.mark.parametrize("r_true", [1, 2, 4])
def test_abundance_rmse_against_all_matchings(r_true):
    rng = np.random.default_rng(r_true)
    A = rng.random((3, 40))
    B = rng.random((r_true, 40))
    few, many = sorted((A, B), key=len)
    expected = min(
        np.linalg.norm(few - many[list(order)]) / np.sqrt(few.size)
        for order in permutations(range(len(many)), len(few))
    )
    assert abundance_rmse(A, B) == pytest.approx(expected)
    assert abundance_rmse(B, A) == pytest.approx(expected)
    assert abundance_rmse(A, A[::-1]) == 0.0


def test_relative_error_equals_scipys():
    rng = np.random.default_rng(0)
    M = rng.random((8, 30))
    K = [3, 7, 20]
    expected = np.sqrt(sum(scipy_nnls(M[:, K], m)[1] ** 2 for m in M.T)) / np.linalg.norm(M)
    assert relative_error(M, K) == pytest.approx(expected, rel=1e-9)
    assert relative_error(M, M[:, K]) == pytest.approx(expected, rel=1e-9)
    assert relative_error(M, K, np.zeros((3, 30))) == pytest.approx(1.0)
    assert relative_error(np.zeros((2, 3)), [0]) == 0.0
    assert relative_error(np.zeros((2, 3)), np.eye(2), np.ones((2, 3))) == np.inf


def test_index_recovery():
    assert index_recovery([5, 1, 2], [1, 2, 3, 4]) == 0.5
    assert index_recovery([1], [1]) == 1.0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: mrsa(np.ones((2, 1)), np.ones((3, 1))), ValueError),
        (lambda: mrsa([[np.nan]], [[1.0]]), ValueError),
        (lambda: spectral_angle(np.ones((2, 1)), np.ones((3, 1))), ValueError),
        (lambda: spectral_angle(np.eye(2), [[1.0, 0.0], [1.0, 0.0]]), ValueError),
        (lambda: spectral_angle(np.ones(3), np.ones(3)), ValueError),
        (lambda: abundance_rmse(np.ones((2, 4)), np.ones((2, 5))), ValueError),
        (lambda: abundance_rmse([[0.5, np.nan]], [[0.5, 0.5]]), ValueError),
        (lambda: relative_error(np.eye(2), [0.5]), TypeError),
        (lambda: index_recovery([1], []), ValueError),
    ],
)
def test_invalid_input(call, error):
    with pytest.raises(error):
        call()
