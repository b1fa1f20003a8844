"""What holds for every estimator: scikit-learn's own checks, fitted attributes, scores, seeds."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import selfdict
from selfdict import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY, InputError
from selfdict.datasets import make_mixtures

PEERS = [SPA, SNPA, XRAY, VCA, H2NMF]


@parametrize_with_checks([Estimator() for Estimator in PEERS])
@pytest.mark.filterwarnings("ignore:X seems to be centred")  # which the checks do
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def X():
    return make_mixtures(12, 80, 4, noise=0.01, random_state=0)[0].T


@pytest.mark.parametrize("Estimator", PEERS)
def test_fitted_attributes(Estimator, X):
    model = Estimator(4, random_state=3).fit(X)
    function = getattr(selfdict, Estimator.__name__.lower())
    selected = function(X.T, 4, random_state=3) if Estimator is VCA else function(X.T, 4)
    np.testing.assert_array_equal(
        model.indices_, selected.indices if Estimator is H2NMF else selected
    )
    np.testing.assert_array_equal(model.components_, X[model.indices_])
    H = np.array([nnls(model.components_.T, x)[0] for x in X])
    np.testing.assert_allclose(model.transform(X), H, atol=1e-9)
    np.testing.assert_array_equal(clone(model).fit_transform(X), model.transform(X))
    np.testing.assert_allclose(model.inverse_transform(H), H @ model.components_)
    expected = np.linalg.norm(X - H @ model.components_) / np.linalg.norm(X)
    assert model.reconstruction_err_ == pytest.approx(expected, rel=1e-9)
    assert model.n_features_in_ == 12
    name = Estimator.__name__.lower()
    assert model.get_feature_names_out().tolist() == [f"{name}{k}" for k in range(4)]


def test_h2nmf_keeps_its_clusters(X):
    model = H2NMF(5).fit(X)
    np.testing.assert_array_equal(model.labels_, model.clusters_.labels)
    np.testing.assert_array_equal(model.labels_[model.indices_], range(5))


@pytest.mark.parametrize("Estimator", PEERS)
def test_invalid_input(Estimator, X):
    with pytest.raises(InputError):
        Estimator(81).fit(X)
    with pytest.raises(ValueError, match="n_components"):  # by scikit-learn
        Estimator(0).fit(X)
    with pytest.raises(InputError):
        Estimator(3).fit(np.ones((10, 4)))
    with pytest.raises(InputError):
        Estimator(2).fit(X).inverse_transform(np.ones((1, 3)))


@pytest.mark.parametrize("Estimator", [FGNSR, *PEERS])
def test_score_is_minus_the_relative_error(Estimator, X):
    model = Estimator(3).fit(X[:50])
    H = model.transform(X[50:])
    error = np.linalg.norm(X[50:] - H @ model.components_) / np.linalg.norm(X[50:])
    assert model.score(X[50:]) == pytest.approx(-error, rel=1e-9)
    assert model.score(X[:50]) == pytest.approx(-model.reconstruction_err_, rel=1e-9)


def test_score_in_single_precision_and_of_zeros(X):
    model = SPA(4).fit(X)
    assert model.score(X.astype(np.float32)) == pytest.approx(model.score(X), rel=1e-4)
    assert model.score(np.zeros((3, 12))) == 0.0


def test_generators_give_new_weights_each_time(X):
    np.testing.assert_array_equal(VCA(4).fit(X).indices_, VCA(4, random_state=0).fit(X).indices_)
    first = FGNSR(3).fit(X).solution_.problem.p
    np.testing.assert_array_equal(first, FGNSR(3, random_state=None).fit(X).solution_.problem.p)
    np.testing.assert_array_equal(first, FGNSR(3, random_state=0).fit(X).solution_.problem.p)
    other = FGNSR(3, random_state=np.random.default_rng()).fit(X).solution_.problem.p
    assert (first != other).any()
