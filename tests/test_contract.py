"""What scripts outside the package rely on: names, parameters and attributes that stay."""

import inspect

import numpy as np
import pytest

import selfdict
from selfdict import datasets, metrics

PARAMETERS = {
    "FGNSR": "n_components candidates endmembers mu postprocess random_state smooth solver target",
    "Problem": "M mu D w p sample_weight loss target smooth random_state",
    "WorkingSet": "tol max_seconds device",
    "project_omega": "X w rows upper out",
    "fast_gradient": "M mu p w max_iter tol target X0 callback",
    "working_set": "M mu p w tol max_seconds",
    "conic": "M mu epsilon",
    "vca": "M r random_state",
    "mu_heuristic": "M r p",
    "select_indices": "solution r method",
}
SOLUTION = "support coef diagonal objective dual_bound gap mu weights n_iter status history problem"


@pytest.fixture(scope="module")
def midpoints():
    return datasets.make_midpoints(m=12, r=4, noise=0.01, alpha=None, random_state=0)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    found = inspect.signature(getattr(selfdict, name)).parameters
    assert set(PARAMETERS[name].split()) <= set(found)


@pytest.mark.parametrize("name", ["working_set", "fast_gradient", "conic"])
def test_a_solver_returns_a_solution(name, midpoints):
    M, _, _ = midpoints
    mu = selfdict.mu_heuristic(M, 4)
    solution = selfdict.certify(getattr(selfdict, name)(M, mu=mu))
    for attribute in SOLUTION.split():
        assert hasattr(solution, attribute), attribute
    assert np.array_equal(solution.weights, np.abs(M).sum(axis=0))
    assert len(selfdict.select_indices(solution, 4)) == 4


@pytest.mark.parametrize("name", ["FGNSR", "SPA", "SNPA", "XRAY", "VCA", "H2NMF"])
def test_an_estimator(name, midpoints):
    M, _, K = midpoints
    model = getattr(selfdict, name)(4, random_state=0).fit(M.T)
    assert np.array_equal(model.components_, M.T[model.indices_])
    assert model.transform(M.T).shape == (M.shape[1], 4)
    assert model.inverse_transform(model.transform(M.T)).shape == M.T.shape
    assert 0 <= model.reconstruction_err_ < 1
    if name == "FGNSR":
        assert metrics.index_recovery(model.indices_, K) == 1
        assert np.allclose(model.shares(M.T).sum(axis=1), 1)
        assert model.brightness(M.T).shape == (M.shape[1],)
        assert model.gap_ == model.solution_.gap
        assert model.mu_ > 0
        assert len(model.groups_) == 4
        assert len(model.select(3)) == 3
        proof = model.prove()
        assert proof.enough >= proof.limit
        assert proof.needed.shape == (4,)
        assert proof.closed.shape == (M.shape[1],)


@pytest.mark.parametrize("kind", ["shares", "unit", "nnls", "fcls"])
def test_unmix(kind):
    truth = datasets.make_scene(shape=(12, 12), n_bands=30, n_endmembers=3, random_state=0)
    result = selfdict.unmix(truth.scene, 3, endmembers="pixels", abundances=kind, prove=False)
    assert result.abundances.shape == (3, 12, 12)
    assert result.endmembers.shape[0] == 3
    assert result.indices.shape == (3,)
    assert (result.brightness is not None) == (kind == "shares")
