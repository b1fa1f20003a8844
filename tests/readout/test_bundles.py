"""Bundles hold what they should, and their abundances are nearer to the truth."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from selfdict import (
    FGNSR,
    FastGradient,
    InputError,
    Problem,
    Solution,
    Weighted,
    bundles,
    h2nmf,
    mu_heuristic,
    nnls,
    select_indices,
    working_set,
)
from selfdict.datasets import make_mixtures, make_scene
from selfdict.metrics import match, mean_removed_angles


def varied_scene(seed, variability):
    truth = make_scene(
        (24, 24),
        40,
        4,
        n_outliers=0,
        border=0,
        variability=variability,
        noise=0.005,
        random_state=seed,
    )
    return np.maximum(truth.scene.values.reshape(40, -1), 0), truth


@pytest.mark.parametrize("seed", range(3))
def test_members_show_one_material_and_abundances_come_nearer_to_the_truth(seed):
    M, truth = varied_scene(seed, 0.05)
    shares = truth.abundances.reshape(4, -1)
    solution = working_set(M, mu_heuristic(M, 4), random_state=0)
    K = select_indices(solution, 4, method="clusters")
    found = bundles(solution, K)
    rows, materials = match(M[:, K], truth.endmembers.T)
    for k, material in zip(rows, materials, strict=True):
        assert found.members[k].size >= 5
        assert shares[material, found.members[k]].min() > 0.8

    def error(H):
        return np.sqrt(np.mean((H[rows] / H.sum(axis=0) - shares[materials]) ** 2))

    assert error(found.abundances(M)) < 0.5 * error(nnls(M[:, K], M))


def test_each_bundle_reaches_as_far_as_its_own_neighbour_allows():
    M = np.array([[1.0, 0.9, 0.0, 0.2], [0.0, 0.1, 0.0, 0.0], [0.0, 0.0, 1.0, 0.8]])
    # the first two are near each other, the third far
    found = bundles(Solution.from_matrix(np.eye(4), Problem(M)), [0, 1, 2])
    assert [members.tolist() for members in found.members] == [[0], [1], [2, 3]]


def small_problem(seed):
    rng = np.random.default_rng(seed)
    M = make_mixtures(40, 60, 4, noise=0.03, concentration=0.2, random_state=rng)[0]
    solution = working_set(M, 0.3 * mu_heuristic(M, 4), random_state=0)
    return M, solution, rng.choice(60, 4, replace=False)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
@settings(max_examples=25, deadline=None)
def test_bundles_are_apart_near_and_never_fit_worse(seed, radius):
    M, solution, K = small_problem(seed)
    found, wider = bundles(solution, K, radius=radius), bundles(solution, K, radius=1.0)
    everyone = np.concatenate(found.members)
    assert np.unique(everyone).size == everyone.size
    assert set(everyone) <= set(solution.support) | set(K)
    P = M / M.sum(axis=0)
    for k, members in enumerate(found.members):
        assert members[0] == K[k]
        assert set(members) <= set(wider.members[k])
        np.testing.assert_array_equal(found.spectra[k], M[:, members])
        np.testing.assert_array_equal(found.diagonal[k], solution.diagonal[members])
        assert (np.diff(found.diagonal[k][1:]) <= 0).all()
        apart = min(np.abs(P[:, K[k]] - P[:, j]).sum() for j in K if j != K[k])
        assert all(np.abs(P[:, K[k]] - P[:, j]).sum() < radius * apart + 1e-12 for j in members[1:])

    def residual(U):
        return np.linalg.norm(M - U @ nnls(U, M))

    single, whole = residual(M[:, K]), residual(np.hstack(found.spectra))
    assert residual(np.hstack(wider.spectra)) <= whole * (1 + 1e-9)
    assert whole <= single * (1 + 1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_abundances_are_the_sums_over_the_members(seed):
    M, solution, K = small_problem(seed)
    found = bundles(solution, K)
    U = np.hstack(found.spectra)
    ends = np.cumsum([members.size for members in found.members])[:-1]
    H = np.stack([scipy.optimize.nnls(U, m)[0] for m in M.T], axis=1)
    expected = np.stack([part.sum(axis=0) for part in np.split(H, ends)])
    np.testing.assert_allclose(found.abundances(M), expected, atol=1e-6)
    np.testing.assert_allclose(found.abundances(M, sum_to_one=True).sum(axis=0), 1)
    alone = bundles(solution, K, radius=0)
    np.testing.assert_allclose(alone.abundances(M), nnls(M[:, K], M), atol=1e-9)


def test_the_spread_is_that_of_the_members():
    M, solution, K = small_problem(1)
    found = bundles(solution, K, radius=1.0)
    k = int(np.argmax([members.size for members in found.members]))
    columns = M[:, found.members[k]]
    assert columns.shape[1] > 1
    np.testing.assert_allclose(found.mean[:, k], columns.mean(axis=1))
    np.testing.assert_allclose(found.std[:, k], columns.std(axis=1))
    np.testing.assert_array_equal(found.lower[:, k], columns.min(axis=1))
    np.testing.assert_array_equal(found.upper[:, k], columns.max(axis=1))
    np.testing.assert_allclose(found.angles[k], mean_removed_angles(M[:, [K[k]]], columns)[0])
    assert found.angles[k][0] < 1e-5


def test_one_bundle_takes_the_whole_support_and_a_stranger_has_no_weight():
    M = np.array([[1.0, 0.9, 0.0, 0.5], [0.0, 0.1, 1.0, 0.5]], dtype=np.float32)
    problem = Problem(M, 0.1)
    solution = Solution.from_matrix(np.diag([0.2, 0.5, 0.7, 0.0]), problem)
    found = bundles(solution, [3])
    assert found.members[0].tolist() == [3, 2, 1, 0]
    assert found.diagonal[0].tolist() == [0.0, 0.7, 0.5, 0.2]
    assert found.abundances(M).dtype == np.float32
    nothing = bundles(Solution.from_matrix(np.zeros((4, 4)), problem), [0, 2])
    assert [members.tolist() for members in nothing.members] == [[0], [2]]


def test_bundles_of_a_fit_at_two_ranks():
    M, _ = varied_scene(0, 0.05)
    model = FGNSR(4, candidates=100, postprocess="clusters", random_state=0).fit(M.T)
    clusters = h2nmf(M, 100)
    found = model.bundles()
    assert [members[0] for members in found.members] == model.indices_.tolist()
    assert set(np.concatenate(found.members)) <= set(clusters.indices)
    diagonal = np.zeros(M.shape[1])
    diagonal[clusters.indices] = model.solution_.diagonal
    by_hand = bundles(Solution.from_matrix(np.diag(diagonal), Problem(M)), model.indices_)
    for one, other in zip(found.members, by_hand.members, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [members[0] for members in model.bundles(3).members] == model.select(3).tolist()
    assert all(members.size == 1 for members in model.bundles(radius=0).members)


def test_bundles_of_dictionary_atoms():
    M, _ = varied_scene(0, 0.05)
    atoms = M[:, ::3].T
    model = FGNSR(4, dictionary=atoms, candidates=50, postprocess="clusters", random_state=0).fit(
        M.T
    )
    found = model.bundles()
    assert [members[0] for members in found.members] == model.indices_.tolist()
    assert sum(members.size for members in found.members) > 4
    for members, spectra in zip(found.members, found.spectra, strict=True):
        np.testing.assert_array_equal(spectra, atoms[members].T)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (dict(indices=[0, 5]), InputError, "distinct"),
        (dict(radius=-0.1), InputError, "radius"),
        (dict(radius=1.5), InputError, "radius"),
    ],
)
def test_invalid_input(changes, error, message):
    solution = Solution.from_matrix(np.diag([0.5, 0.5, 0.5]), Problem(np.eye(3), 0.1))
    with pytest.raises(error, match=message):
        bundles(**{"solution": solution, "indices": [0, 1], **changes})


# what was read out of weighted or sparse data


def assert_rows_of(found, X):
    for members, spectra in zip(found.members, found.spectra, strict=True):
        np.testing.assert_array_equal(spectra, X[members].T)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"candidates": 40},
        {"compress": 6},
        {"denoise": 4},
        {"solver": FastGradient(tol=0, max_iter=50)},
        {"loss": Weighted(np.linspace(0.5, 2.0, 40))},
    ],
    ids=["plain", "candidates", "compressed", "denoised", "Algorithm 1", "known variances"],
)
def test_spectra_of_weighted_points_are_the_points_as_they_were_given(options):
    M, _ = varied_scene(0, 0.05)
    X = M[:, ::3].T
    s = np.random.default_rng(0).uniform(0.1, 4.0, len(X))
    model = FGNSR(4, random_state=0, **options).fit(X, sample_weight=s)
    np.testing.assert_array_equal(model.components_, X[model.indices_])
    for found in (model.bundles(), model.bundles(3), model.bundles(radius=1.0)):
        assert_rows_of(found, X)
    assert [members[0] for members in model.bundles().members] == model.indices_.tolist()


def test_abundances_of_bundles_after_a_sparse_fit():
    M, _ = varied_scene(0, 0.05)
    bright = np.median(M)
    X = sp.csr_array(np.where(bright < M, M, 0.0)[:, ::3].T.astype(np.float64))
    for options in ({}, {"compress": 6}):
        model = FGNSR(4, random_state=0, **options).fit(X)
        found = model.bundles()
        assert all(isinstance(spectra, np.ndarray) for spectra in found.spectra)
        assert_rows_of(found, X.toarray())
        H = found.abundances(X.T)
        assert H.shape == (4, X.shape[0])
        np.testing.assert_allclose(H, found.abundances(X.toarray().T), atol=1e-9)
        alone = model.bundles(radius=0).abundances(X.T)
        np.testing.assert_allclose(alone, model.transform(X).T, atol=1e-9)
        sums = found.abundances(X.T, sum_to_one=True).sum(axis=0)
        np.testing.assert_allclose(sums, 1.0, atol=1e-9)
