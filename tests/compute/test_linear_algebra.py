"""Rotations and leading directions by the smaller side of a matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from selfdict.compute.linear_algebra import (
    leading_directions,
    onto_common_span,
    onto_span,
    smaller_moments,
)
from selfdict.datasets import make_mixtures

M = make_mixtures(60, 40, 4, noise=0.01, random_state=0)[0]
SHAPES = {"many features": M, "many points": M.T, "square": M[:40]}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_rotation_keeps_products(data):
    rotated = onto_span(data)
    assert rotated.shape == (min(data.shape), data.shape[1])
    np.testing.assert_allclose(rotated.T @ rotated, data.T @ data, rtol=1e-12)


def test_two_matrices_are_rotated_alike():
    D = np.random.default_rng(0).random((60, 15))
    A, B = onto_common_span(M, D)
    assert len(A) == len(B) == 55
    np.testing.assert_allclose(A.T @ B, M.T @ D, rtol=1e-12)
    same, atoms = onto_common_span(M, np.hstack([D, D]))
    assert same is M
    assert atoms.shape == (60, 30)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_eigenvalues_of_the_smaller_moments(data, sparse):
    moments = smaller_moments(sp.csc_array(data) if sparse else data)
    assert moments.shape == (min(data.shape),) * 2
    values = np.linalg.svd(data, compute_uv=False)
    np.testing.assert_allclose(np.linalg.eigvalsh(moments)[::-1], values**2, atol=1e-12 * 40**2)


@pytest.mark.parametrize("max_eigenvectors", [10, 2000])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("q", [4, 38])
def test_directions_hold_as_much_as_q_can(data, sparse, max_eigenvectors, q):
    values = np.linalg.svd(data, compute_uv=False)
    basis = leading_directions(sp.csc_array(data) if sparse else data, q, max_eigenvectors)
    np.testing.assert_allclose(basis.T @ basis, np.eye(q), atol=1e-12)
    held = np.linalg.norm(basis.T @ data) ** 2
    assert held == pytest.approx((values[:q] ** 2).sum(), rel=1e-6)


@pytest.mark.parametrize("max_eigenvectors", [10, 2000])
def test_more_directions_than_points(max_eigenvectors):
    basis = leading_directions(M, 50, max_eigenvectors)
    np.testing.assert_allclose(basis.T @ basis, np.eye(50), atol=1e-12)
    assert np.linalg.norm(basis.T @ M) == pytest.approx(np.linalg.norm(M), rel=1e-12)


def test_directions_of_equal_points():
    basis = leading_directions(np.ones((60, 40)), 3)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.abs(basis[:, 0]), 60**-0.5)
