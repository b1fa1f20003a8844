"""Few points of many features: products of features with one another are never formed."""

import tracemalloc

import numpy as np
import pytest

import selfdict
from selfdict import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY, FastGradient, Problem, WorkingSet
from selfdict.compute.linear_algebra import onto_span
from selfdict.datasets import make_mixtures
from selfdict.peers.greedy import Fit
from selfdict.readout.bounds import rank_limit
from selfdict.scene import advise_rank, unmix

M, _, PURE = make_mixtures(3000, 60, 4, noise=0.02, random_state=0)
MU = selfdict.mu_heuristic(M, 4)


def fitted(M, **settings):
    return FGNSR(4, **settings).fit(M.T)


def cube(M):
    """Return the points as an image (y, x, band)."""
    return M.T.reshape(5, -1, len(M))


# What is to be done to data M with points as columns.
TASKS = {
    "fgnsr": fitted,
    "average": lambda M: fitted(M, endmembers="average"),
    "candidates": lambda M: fitted(M, candidates=20),
    "dictionary": lambda M: fitted(M, dictionary=M.T[:30]),
    "dictionary, spa": lambda M: fitted(M, dictionary=M.T[:30], denoise=False, postprocess="spa"),
    "prove": lambda M: fitted(M).prove(),
    "select": lambda M: fitted(M).select(3),
    "shares": lambda M: fitted(M).shares(M.T, return_std=True),
    "spa": lambda M: SPA(4).fit(M.T),
    "snpa": lambda M: SNPA(4).fit(M.T),
    "xray": lambda M: XRAY(4).fit(M.T),
    "vca": lambda M: VCA(4).fit(M.T),
    "h2nmf": lambda M: H2NMF(4).fit(M.T),
    "nnls": lambda M: selfdict.nnls(M[:, :4], M),
    "fcls": lambda M: selfdict.fcls(M[:, :4], M),
    "mu of a dictionary": lambda M: selfdict.mu_heuristic(M, 4, D=M[:, :30]),
    "gradient": lambda M: FastGradient(max_iter=20).solve(Problem(M, MU)),
    "certify": lambda M: selfdict.certify(WorkingSet().solve(Problem(M, MU))),
    "unmix": lambda M: unmix(cube(M), 4),
    "advise": lambda M: advise_rank(cube(M), 5),
}


@pytest.mark.filterwarnings("ignore")  # the small data has few features for some methods
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_memory_is_a_multiple_of_the_data(task):
    """Products of all features would take 50 times as much as the data."""
    task(M[:200])  # compile the kernels
    tracemalloc.start()
    try:
        task(M)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * M.nbytes


def test_rotated_data_gives_the_same():
    R = onto_span(M)
    w = np.abs(M).sum(axis=0)
    whole = WorkingSet(tol=1e-6).solve(Problem(M, MU))
    rotated = WorkingSet(tol=1e-6).solve(Problem(R, MU, w=w))
    assert whole.objective == pytest.approx(rotated.objective, rel=1e-6)
    np.testing.assert_array_equal(whole.support, rotated.support)
    np.testing.assert_array_equal(selfdict.spa(M, 4), selfdict.spa(R, 4))
    # the limit has room for rounding, which grows with the features
    assert rank_limit(M, 4) == pytest.approx(rank_limit(R, 4), rel=1e-6)


@pytest.mark.parametrize("q", [20, 3000])
def test_errors_of_choices_are_those_of_the_rotated_data(q):
    R = onto_span(M)
    sizes = np.linspace(1, 2, 60)
    for K in ([0, 1, 2], PURE):
        square = Fit.of(M, sizes, M, q).square(np.array(K))
        assert square == pytest.approx(Fit.of(R, sizes, R, min(q, 60)).square(np.array(K)))


def test_a_dictionary_outside_the_span_of_few_points():
    """Atoms count with their whole length, not with what the points see of it alone."""
    rng = np.random.default_rng(0)
    spectra = rng.random((3000, 4))
    points = spectra @ rng.dirichlet(np.ones(4), 10).T
    atoms = np.hstack([spectra, rng.random((3000, 20))])
    model = FGNSR(4, dictionary=atoms.T).fit(points.T)
    assert sorted(model.indices_.tolist()) == [0, 1, 2, 3]


def test_clusters_of_few_points_follow_the_labels():
    rng = np.random.default_rng(0)
    centres = rng.random((3000, 3)) * (rng.random((3000, 3)) < 0.4)
    labels = rng.integers(3, size=90)
    points = centres[:, labels] * rng.uniform(0.5, 2, 90) + 0.01 * rng.random((3000, 90))
    found = selfdict.h2nmf(points, 3)
    pairs = set(zip(labels.tolist(), found.labels.tolist(), strict=True))
    assert len(pairs) == 3
