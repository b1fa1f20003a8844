"""Sparse data: the results of dense data without making it dense, or one clear sentence."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from selfdict import (
    FGNSR,
    SPA,
    VCA,
    XRAY,
    InputError,
    Problem,
    certify,
    conic,
    fcls,
    mu_heuristic,
    nnls,
    snpa,
    spa,
    vca,
    working_set,
    xray,
)
from selfdict.abundances import column_residuals
from selfdict.compute.linear_algebra import in_leading_directions
from selfdict.kernels.columns import column_norms, squared_norms
from selfdict.metrics import relative_error


def counts(m, n, r, seed, density=0.3):
    """Points with few features: r sparse corners, and mixtures of at most two of them."""
    rng = np.random.default_rng(seed)
    W = sp.random_array(
        (m, r), density=density, rng=rng, data_sampler=lambda size: 1 + rng.random(size)
    ).toarray()
    W[np.arange(r) % m, np.arange(r)] += 1.0
    H = np.zeros((r, n))
    H[:, :r] = np.eye(r)
    for j in range(r, n):
        H[rng.choice(r, 2, replace=False), j] = rng.random(2)
    N = sp.random_array((m, n), density=0.05, rng=rng).toarray()
    return sp.csc_array(W @ H + 0.1 * N)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_agree_with_dense_data(seed, dtype):
    M = counts(20, 30, 4, seed).astype(dtype)
    A = M.toarray()
    U = A[:, :3]
    for function in (spa, xray, snpa):
        np.testing.assert_array_equal(function(M, 4), function(A, 4))
    np.testing.assert_allclose(squared_norms(M), squared_norms(A), rtol=1e-6)
    np.testing.assert_allclose(column_norms(M), column_norms(A), rtol=1e-6)
    for solve in (nnls, fcls):
        H = solve(U, M)
        np.testing.assert_allclose(H, solve(U, A), atol=1e-6)
        assert H.dtype == dtype
    H = nnls(U, A)
    np.testing.assert_allclose(
        column_residuals(U, M, H), column_residuals(U, A, H), rtol=1e-9, atol=1e-12
    )
    assert relative_error(M, [0, 1]) == pytest.approx(relative_error(A, [0, 1]), rel=1e-6)
    assert mu_heuristic(M, 4) == pytest.approx(mu_heuristic(A, 4), rel=1e-6)
    sparse, dense = (in_leading_directions(data, 5)[0] for data in (M, A))
    np.testing.assert_allclose(np.abs(sparse), np.abs(dense), atol=1e-4)


def test_more_components_than_exact_rays_are_refused():
    """In the cone of the chosen columns products cancel, and the residual is taken itself."""
    M = sp.csc_array(
        np.hstack([np.eye(5), 0.5 * np.eye(5)[:, [1, 2]] + 0.5 * np.eye(5)[:, [2, 4]]])
    )
    for function in (spa, xray, snpa):
        assert sorted(function(M, 5)) == [0, 1, 2, 3, 4]
        with pytest.raises(InputError):
            function(M, 6)


@pytest.mark.parametrize("weighted", [False, True])
def test_working_set_is_exact_and_certified(weighted):
    A = counts(25, 40, 4, 0).toarray()
    A[:, [7, 12]] = 0.0  # zero columns
    M = sp.csc_array(A)
    s = np.random.default_rng(0).uniform(0.5, 2, 40) if weighted else None
    solution = working_set(M, 0.3, sample_weight=s, tol=1e-7)
    exact = conic(A, mu=0.3, sample_weight=s)
    assert solution.gap <= 1e-7
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6)
    again = certify(solution)
    same = Problem(A, 0.3, w=solution.problem.w, sample_weight=s)
    dense = certify(solution.for_problem(same))
    assert again.dual_bound == pytest.approx(dense.dual_bound, rel=1e-9)
    assert again.objective == pytest.approx(dense.objective, rel=1e-9)


def test_samples_of_columns_and_likely_rows(monkeypatch):
    """What many points go through, with few."""
    monkeypatch.setattr("selfdict.solvers.search.SMALL", 60)
    M = counts(30, 200, 5, 1)
    mu = mu_heuristic(M, 5)
    solution = working_set(M, mu, tol=1e-6)
    assert solution.gap <= 1e-6
    assert solution.objective == pytest.approx(
        working_set(M.toarray(), mu, tol=1e-6).objective, rel=1e-5
    )


def test_nothing_is_made_dense():
    """20,000 features: the dense matrix would take 96 MB."""
    rng = np.random.default_rng(0)
    M = sp.csc_array(sp.random_array((20_000, 600), density=2e-3, rng=rng))
    tracemalloc.start()
    try:
        spa(M, 5), xray(M, 3)
        working_set(M, 0.5 * mu_heuristic(M, 3), tol=1e-2)
        FGNSR(3, random_state=0).fit(M.T)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.7 * M.shape[0] * M.shape[1] * 8


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("model", [SPA(3), XRAY(3), FGNSR(3, random_state=0)])
def test_estimators_take_sparse_rows(kind, model):
    X = counts(20, 50, 3, 2).T
    sparse, dense = model.fit(kind(X)).indices_.copy(), None
    H, error = model.transform(kind(X)), model.reconstruction_err_
    assert isinstance(model.components_, np.ndarray)
    if isinstance(model, FGNSR):
        model.set_params(postprocess="diagonal")  # which "auto" means for sparse data
    dense = model.fit(X.toarray())
    np.testing.assert_array_equal(sparse, dense.indices_)
    np.testing.assert_allclose(H, dense.transform(X.toarray()), atol=1e-8)
    assert error == pytest.approx(dense.reconstruction_err_, rel=1e-8)


def test_other_selections_of_sparse_points():
    X = counts(20, 50, 3, 2).T
    model = FGNSR(3, postprocess="exchange", random_state=0).fit(X)
    assert len(set(model.indices_)) == 3
    assert len(set(model.select(5))) == 5


def test_sparse_data_is_refused_where_dense_data_is_needed():
    M = counts(6, 12, 2, 0)
    with pytest.raises(TypeError):
        vca(M, 2)

    for model in (VCA(2), FGNSR(2, candidates=5), FGNSR(2, solver="conic")):
        with pytest.raises(TypeError):
            model.fit(M.T)


@pytest.mark.parametrize(
    ("M", "error"),
    [
        (sp.csc_array([[1.0, np.nan]]), ValueError),
        (sp.csc_array(np.ones((2, 3), dtype=complex)), TypeError),
        (sp.csc_array((0, 3)), ValueError),
    ],
)
def test_invalid_sparse_input(M, error):
    with pytest.raises(error):
        spa(M, 1)


def test_duplicate_entries_are_added_up_and_integers_become_float32():
    twice = sp.coo_array(([1, 2, 3], ([0, 0, 1], [0, 0, 1])), shape=(2, 2)).tocsr()
    assert nnls(np.eye(2, dtype=np.float32), twice).tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert nnls(np.eye(2, dtype=np.float32), twice).dtype == np.float32
