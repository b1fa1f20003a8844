"""The generated matrices are what section 4.1 says they are."""

import numpy as np
import pytest

from selfdict import InputError
from selfdict.datasets import make_midpoints, make_mixtures


def test_midpoints_of_the_paper():
    M, W, indices = make_midpoints(noise=0.3, random_state=0)
    assert M.shape == (50, 55)
    np.testing.assert_array_equal(M[:, indices], W)
    np.testing.assert_allclose(W.sum(axis=0), 1)
    clean = make_midpoints(noise=0.0, random_state=0)[0]
    assert np.linalg.norm(M - clean) == pytest.approx(0.3)
    others = np.setdiff1d(np.arange(55), indices)
    middle = {tuple(np.round((W[:, a] + W[:, b]) / 2, 12)) for a in range(10) for b in range(a)}
    assert {tuple(np.round(column, 12)) for column in clean[:, others].T} == middle
    outward = (M - clean)[:, others]
    away = clean[:, others] - W.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(outward, away * (0.3 / np.linalg.norm(away)), atol=1e-12)


def test_scaled_midpoints_stretch_by_at_most_alpha():
    M, _, indices = make_midpoints(alpha=4, random_state=0)
    sums = np.delete(M, indices, axis=1).sum(axis=0)
    assert sums.min() >= 0.25
    assert sums.max() <= 4
    assert sums.std() > 0.5


def test_mixtures_hold_their_pure_points_and_their_noise():
    M, H, indices = make_mixtures(40, 200, 5, random_state=0)
    np.testing.assert_allclose(M, M[:, indices] @ H, atol=1e-12)
    np.testing.assert_allclose(H.sum(axis=0), 1)
    noisy = make_mixtures(40, 200, 5, noise=0.05, random_state=0)[0]
    assert np.linalg.norm(noisy - M) / np.linalg.norm(M) == pytest.approx(0.05, rel=0.05)
    np.testing.assert_array_equal(make_mixtures(40, 200, 5, noise=0.05, random_state=0)[0], noisy)


@pytest.mark.parametrize(
    "call",
    [
        lambda: make_midpoints(r=1),
        lambda: make_midpoints(noise=-1.0),
        lambda: make_midpoints(alpha=0.5),
        lambda: make_mixtures(3, 4, 5),
    ],
)
def test_invalid_input(call):
    with pytest.raises(InputError):
        call()
