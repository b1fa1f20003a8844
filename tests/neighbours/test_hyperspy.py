"""HyperSpy: our estimators are algorithms of ``decomposition``, also lazy and with masks."""

import numpy as np
import pytest

from selfdict import FGNSR, SPA

pytestmark = pytest.mark.filterwarnings("ignore")  # those of HyperSpy and of what it uses


@pytest.fixture
def signal(neighbour, cube):
    return neighbour("hyperspy.api").signals.Signal1D(cube[0].copy())


@pytest.mark.parametrize("estimator", [FGNSR(4), SPA(4)], ids=["FGNSR", "SPA"])
def test_decomposition(signal, cube, estimator):
    signal.decomposition(algorithm=estimator, print_info=False)
    X = cube[0].reshape(-1, 30)
    results = signal.learning_results
    np.testing.assert_allclose(results.factors, estimator.components_.T)
    # HyperSpy keeps its points in another order of memory, which changes how sums are rounded.
    np.testing.assert_allclose(results.loadings, estimator.transform(X), atol=1e-12)
    assert signal.get_decomposition_loadings().data.shape == (4, 10, 12)
    assert signal.get_decomposition_factors().data.shape == (4, 30)
    model = signal.get_decomposition_model().data
    assert np.linalg.norm(model - cube[0]) / np.linalg.norm(cube[0]) < 0.02


@pytest.mark.parametrize("lazy", [False, True])
def test_masked_places_are_left_out(signal, cube, lazy):
    data = cube[0].copy()
    data[0] = 100.0  # a row that would be chosen otherwise
    signal.data[:] = data
    if lazy:
        signal = signal.as_lazy()
    mask = np.zeros((12, 10), dtype=bool)  # HyperSpy counts columns first
    mask[:, 0] = True
    signal.decomposition(algorithm=FGNSR(4), navigation_mask=mask, print_info=False)
    expected = FGNSR(4).fit(data[1:].reshape(-1, 30))
    factors = np.asarray(signal.learning_results.factors)
    np.testing.assert_allclose(
        factors[:, np.lexsort(factors)],
        expected.components_.T[:, np.lexsort(expected.components_.T)],
    )
    loadings = np.asarray(signal.learning_results.loadings).reshape(10, 12, 4)
    assert np.isnan(loadings[0]).all()
    assert np.isfinite(loadings[1:]).all()
