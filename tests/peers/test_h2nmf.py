import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import naive_peers
from selfdict import h2nmf, thread_limit
from selfdict._validation import as_matrix
from selfdict.peers.h2nmf import clusters_of
from selfdict.peers.leaves import Leaf, LeafColumns, gram


def pixels(seed=0, m=15, n=400, r=5, noise=0.01):
    rng = np.random.default_rng(seed)
    M = rng.random((m, r)) @ rng.dirichlet(np.full(r, 0.5), n).T * rng.uniform(0.3, 1, n)
    return np.maximum(M + noise * rng.standard_normal(M.shape), 0)


def assert_same(clusters, expected):
    for field in dataclasses.fields(clusters):
        np.testing.assert_array_equal(getattr(clusters, field.name), getattr(expected, field.name))


@pytest.fixture(params=[False, True], ids=["exact", "rough"])
def cluster(request):
    """H2NMF of small data as they are, and as if they were large."""
    return lambda M, k: clusters_of(as_matrix(M), k, single_precision=request.param)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "n", "k"), [(15, 400, 40), (60, 30, 20)])
def test_equals_trying_every_leaf(cluster, m, n, k, seed, order, dtype):
    M = np.asarray(pixels(seed, m, n), dtype=dtype, order=order)
    labels, indices, splits = naive_peers.h2nmf(M, k)
    clusters = cluster(M, k)
    np.testing.assert_array_equal(clusters.labels, labels)
    np.testing.assert_array_equal(clusters.indices, indices)
    np.testing.assert_array_equal(clusters.tree, splits)
    np.testing.assert_array_equal(clusters.sizes, np.bincount(labels))


def test_negative_entries_count_as_zero():
    M = pixels() - 0.1
    assert (M < 0).any()
    assert_same(h2nmf(M, 25), h2nmf(np.maximum(M, 0), 25))


def test_scale_does_not_matter(cluster):
    """The squares of 2⁻⁹⁰ are zero in single precision."""
    M = pixels()
    assert_same(cluster(2.0**-90 * M, 25), cluster(M, 25))


def test_an_error_in_one_thread_stops_all(monkeypatch):
    tried = []

    def divide(leaf, original=Leaf.divide):
        tried.append(leaf)
        if len(tried) > 5:
            raise KeyboardInterrupt
        original(leaf)

    monkeypatch.setattr(Leaf, "divide", divide)
    with thread_limit(3), pytest.raises(KeyboardInterrupt):
        h2nmf(pixels(n=3000), 50)
    assert len(tried) <= 5 + 2 * 3


@pytest.mark.parametrize(
    ("n", "dtype", "single_precision"),
    [
        (1, float, False),
        (2049, float, False),
        (9000, np.float32, False),
        (270_000, float, False),
        (1, np.float32, True),
        (2049, np.float32, True),
    ],
)
def test_gram_by_slices(n, dtype, single_precision):
    A = np.random.default_rng(0).uniform(1, 1.01, (5, n)).astype(dtype)
    expected = A.astype(float) @ A.T.astype(float)
    found = gram(LeafColumns(A.T, np.arange(n), single_precision))
    np.testing.assert_allclose(found, expected, rtol=1e-10 if single_precision else 1e-12)


def test_duplicates_stay_together(cluster):
    M = np.repeat(pixels(n=5), 40, axis=1)
    clusters = cluster(M, 50)
    assert clusters.sizes.tolist() == [40] * 5
    assert clusters.tree.size == 4
    np.testing.assert_array_equal(clusters.indices % 40, 0)


def test_multiples_of_one_column_are_one_cluster(cluster):
    M = np.outer([1.0, 2.0, 4.0], np.arange(1.0, 9.0))
    clusters = cluster(M, 3)
    assert clusters.sizes.tolist() == [8]
    assert cluster([[1.0, 2.0, 3.0]], 3).sizes.tolist() == [3]


def test_two_orthogonal_groups_of_equal_size(cluster):
    """The leading eigenvalue is double."""
    clusters = cluster(np.repeat(np.eye(2), 3, axis=1), 2)
    assert len(set(clusters.labels[:3])) == len(set(clusters.labels[3:])) == 1
    assert clusters.labels[0] != clusters.labels[3]


def test_zero_columns(cluster):
    assert cluster(np.zeros((3, 5)), 2).sizes.tolist() == [5]
    M = np.hstack([pixels(n=50), np.zeros((15, 20))])
    clusters = cluster(M, 10)
    assert clusters.sizes.sum() == 70
    assert len(set(clusters.labels[50:])) == 1


def test_one_pixel():
    clusters = h2nmf([[3.0], [1.0]], 1)
    assert (clusters.labels, clusters.indices, clusters.sizes) == ([0], [0], [1])
    assert clusters.tree.size == 0


_INTERRUPTED = """
import random, signal, sys
import numpy as np
from selfdict import h2nmf, thread_limit

def interrupt(number, frame):
    raise KeyboardInterrupt

M = np.random.default_rng(0).random((10, 600))
signal.signal(signal.SIGALRM, interrupt)
sys.setswitchinterval(1e-6)
random.seed(0)
seen = 0
with thread_limit(8):
    h2nmf(M, 200)
    while seen < 100:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.001, 0.05))
            h2nmf(M, 200)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            seen += 1
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no timers on Windows")
def test_interruption_at_any_moment():
    subprocess.run([sys.executable, "-c", _INTERRUPTED], check=True, timeout=120)
