"""Data that the estimators warn about, time limits of FGNSR, and what must not be warned about."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from selfdict import FGNSR, SNPA, SPA, XRAY, InputWarning, Problem, mu_heuristic
from selfdict.datasets import make_mixtures
from selfdict.reductions.automatic import choose_by_samples, choose_candidates


@pytest.fixture(scope="module")
def X():
    return make_mixtures(20, 120, 4, noise=0.01, random_state=0)[0].T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Estimator", [FGNSR, SPA])
def test_centred_data_raises_a_warning(X, Estimator, dtype):
    """Also far from zero in single precision, and beside a constant feature."""
    centred = StandardScaler().fit_transform((1000 + X).astype(dtype))
    with_constant = centred.copy()
    with_constant[:, 0] = 3.0
    for data in (centred, with_constant):
        with pytest.warns(InputWarning) as caught:
            Estimator(3).fit(data)
        assert caught[0].filename == __file__  # where the user can change it


def noisy_data(seed, noise, share_of_dark_features):
    """Return nonnegative mixtures with noise; some features hold nothing else."""
    X = make_mixtures(40, 400, 4, random_state=seed)[0].T
    X[:, : int(40 * share_of_dark_features)] = 0.0
    return X + noise * np.random.default_rng(seed).normal(size=X.shape)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("dark", [0.0, 0.5, 0.9])
def test_noisy_nonnegative_data_raises_no_warning(seed, noise, dark):
    """Warnings are errors here. The noise reaches a multiple of the data."""
    X = noisy_data(seed, noise, dark)
    assert X.min() < 0 or noise < 0.1
    SPA(3).fit(X)
    make_pipeline(StandardScaler(with_mean=False), SPA(3)).fit(X)
    make_pipeline(MaxAbsScaler(), SPA(3)).fit(X)


def test_removing_each_spectrum_mean_raises_no_warning(X):
    """Each spectrum minus its own mean is a linear map: the origin stays where it is."""
    SPA(3).fit(X - X.mean(axis=1, keepdims=True))


CORNERS = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]])


@pytest.mark.parametrize("Estimator", [FGNSR, SNPA, XRAY])
def test_more_components_than_features(Estimator):
    """Four extreme rays in three dimensions are found, but abundances are not unique."""
    mixtures = np.random.default_rng(0).dirichlet(np.ones(4), 30) @ CORNERS
    X = np.vstack([CORNERS, mixtures])
    with pytest.warns(InputWarning):
        model = Estimator(4).fit(X)
    assert set(model.indices_.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("method", ["fit", "fit_transform"])
@pytest.mark.parametrize("Estimator", [FGNSR, SNPA])
def test_warnings_name_the_line_that_called(Estimator, method, in_pipeline):
    """Also where scikit-learn calls the estimator."""
    X = np.vstack([CORNERS, CORNERS[[0]] + CORNERS[[1]]])
    model = Estimator(4)
    if in_pipeline:
        model = make_pipeline(MaxAbsScaler(), model)
    with pytest.warns(InputWarning) as caught:
        getattr(model, method)(X)
    assert [each.filename for each in caught] == [__file__]


def test_components_that_depend_on_each_other():
    """The same in a space of five dimensions, of which the data use three."""
    lifted = CORNERS @ np.random.default_rng(1).random((3, 5))
    with pytest.warns(InputWarning):
        SNPA(4).fit(lifted)
    SNPA(3).fit(lifted)


@pytest.fixture(scope="module")
def many():
    return make_mixtures(80, 1500, 40, noise=0.05, random_state=0)[0].T


@pytest.mark.parametrize("endmembers", ["pixels", "average"])
def test_time_limits_hold_for_the_selection_and_the_groups(many, endmembers):
    with pytest.warns(ConvergenceWarning) as caught:
        model = FGNSR(40, candidates=300, max_seconds=0.2, endmembers=endmembers).fit(many)

    assert len(set(model.indices_.tolist())) == 40
    messages = " ".join(str(warning.message) for warning in caught)
    assert model.skipped_
    for what in model.skipped_:
        assert what in messages
    assert [group[0] for group in model.groups_] == model.indices_.tolist()


def test_no_time_to_fit_all_points_for_the_penalty(many):
    """The sum over a sample stands for the sum over all points."""
    with pytest.warns(ConvergenceWarning):
        model = FGNSR(40, candidates=None, max_seconds=0).fit(many)
    assert "the penalty was chosen by a sample of the points" in model.skipped_
    assert model.mu_ == pytest.approx(mu_heuristic(many.T, 40), rel=0.3)


def test_all_points_are_candidates_within_the_time_limit():
    """80 features and 1500 points take little time, but not as little as that."""
    assert choose_candidates(1500, 80, 6, max_seconds=10).n_clusters is None
    assert choose_candidates(1500, 80, 6, max_seconds=0.01).n_clusters == 500
    # about 1.5 s for six materials of Indian Pines, and four times as much for forty
    assert choose_candidates(21_025, 200, 6, max_seconds=5).n_clusters is None
    assert choose_candidates(21_025, 200, 40, max_seconds=5).n_clusters == 500
    assert choose_candidates(21_025, 200, 40).n_clusters is None


def test_samples_tell_how_long_many_points_take():
    M = make_mixtures(6, 45_000, 3, noise=0.01, random_state=0)[0]
    # typically these take a tenth of a second
    assert "by samples" not in choose_by_samples(Problem(M), 3).reason
    choice = choose_by_samples(Problem(M), 3, max_seconds=1.0)
    assert "by samples" in choice.reason
    assert choose_by_samples(Problem(M), 3, max_seconds=0.03).n_clusters == 500
    few = Problem(M[:, :4000])
    assert "by samples" not in choose_by_samples(few, 3, max_seconds=0.1).reason


def test_no_time_for_groups_at_all(many):
    with pytest.warns(ConvergenceWarning):
        model = FGNSR(40, candidates=300, max_seconds=0, endmembers="average").fit(many)
    assert "components are single points, not averages over groups" in model.skipped_
    np.testing.assert_array_equal(model.components_, many[model.indices_])
    assert model.group_counts_.tolist() == [1] * 40
    assert (model.spread_ == 0).all()


def test_no_limit_skips_nothing(X):
    assert FGNSR(3).fit(X).skipped_ == ()
    assert FGNSR(3, max_seconds=600).fit(X).skipped_ == ()
