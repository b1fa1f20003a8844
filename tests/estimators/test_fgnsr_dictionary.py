"""FGNSR with a dictionary: conventions, every way to read atoms out of gates, what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

from selfdict import FGNSR, FastGradient, InputError, Weighted, certify, select_indices, working_set
from selfdict.reductions.steps import denoise


@pytest.fixture(scope="module")
def mixtures():
    """Mixtures of four atoms of forty, none of them pure; each atom has a near-duplicate."""
    rng = np.random.default_rng(0)
    atoms = rng.random((20, 25)) ** 2
    atoms = np.vstack([atoms, atoms + 0.05 * rng.random(atoms.shape)])
    K = np.array([3, 8, 12, 17])
    H = rng.dirichlet(2 * np.ones(4), 400)
    return H @ atoms[K] + 0.002 * rng.normal(size=(400, 25)), atoms, K


@pytest.mark.parametrize("solver", ["working_set", FastGradient(tol=0, max_iter=200)])
@pytest.mark.parametrize("postprocess", ["auto", "diagonal", "spa", "clusters", "exchange"])
def test_finds_the_atoms(mixtures, solver, postprocess):
    X, atoms, K = mixtures
    model = FGNSR(4, dictionary=atoms, solver=solver, postprocess=postprocess, random_state=0).fit(
        X
    )
    np.testing.assert_array_equal(model.components_, atoms[model.indices_])
    assert len(set(model.indices_)) == 4
    if postprocess in ("auto", "exchange"):
        assert set(model.indices_) == set(K)
    elif solver == "working_set":  # the gates of 200 iterations are rough
        # the near-duplicate may stand for an atom
        assert set(model.indices_ % 20) <= set(K)


def test_conventions_of_scikit_learn(mixtures):
    X, atoms, _ = mixtures
    model = clone(FGNSR(4, dictionary=atoms, random_state=0))
    H = model.fit_transform(X)
    assert H.shape == (400, 4)
    np.testing.assert_allclose(model.transform(X), H, rtol=1e-9)
    error = np.linalg.norm(model.inverse_transform(H) - X) / np.linalg.norm(X)
    assert error == pytest.approx(model.reconstruction_err_, rel=1e-6)
    assert model.solution_.diagonal.shape == (40,)
    assert model.gap_ <= 1e-3
    assert model.get_feature_names_out().size == 4
    assert len(set(model.select(6))) == 6
    with pytest.raises(InputError):
        model.select(41)


def test_float32_and_lists(mixtures):
    X, atoms, K = mixtures
    model = FGNSR(4, dictionary=atoms.tolist(), random_state=0).fit(X.astype(np.float32))
    assert model.solution_.problem.D.dtype == np.float64
    assert model.components_.dtype == np.float32
    assert set(model.indices_) == set(K)


def test_denoising_distinguishes_similar_atoms(mixtures):
    """The widest gates are the true atoms; little is left of the others that noise opens."""
    X, atoms, K = mixtures
    X = X + 0.01 * np.random.default_rng(1).normal(size=X.shape)
    model = FGNSR(4, dictionary=atoms, postprocess="diagonal", random_state=0).fit(X)
    assert set(model.indices_) == set(K)
    denoised = denoise(X.T, 4)
    assert model.mu_ == denoised.mu
    np.testing.assert_array_equal(model.solution_.problem.M, denoised.data)
    np.testing.assert_array_equal(model.solution_.problem.D, atoms.T)
    assert certify(model.solution_).gap == pytest.approx(model.gap_, abs=1e-9)
    noisy = FGNSR(4, dictionary=atoms, denoise=False, random_state=0).fit(X)
    wrong, wrong_before = (np.delete(each.solution_.diagonal, K).sum() for each in (model, noisy))
    assert wrong < 0.5 * wrong_before


def test_what_is_not_denoised(mixtures):
    X, atoms, _ = mixtures
    plain = FGNSR(4, dictionary=atoms, denoise=False, random_state=0).fit(X)
    for options in (
        dict(target=("trace", plain.solution_.diagonal.sum())),
        dict(loss=Weighted(np.full(25, 4e-6))),
    ):
        solution = FGNSR(4, dictionary=atoms, random_state=0, **options).fit(X).solution_
        np.testing.assert_array_equal(solution.problem.M, X.T)
        np.testing.assert_array_equal(solution.problem.D, atoms.T)
        assert certify(solution).gap < 0.01
    points = FGNSR(3, random_state=0).fit(X)  # its own points, as they are
    np.testing.assert_array_equal(points.solution_.problem.M, X.T)


def test_groups_hold_similar_atoms(mixtures):
    X, atoms, _ = mixtures
    model = FGNSR(4, dictionary=atoms, mu=0.05, random_state=0).fit(X)
    assert sum(len(members) for members in model.groups_) > 4
    for first, members in zip(model.indices_, model.groups_, strict=True):
        assert members[0] == first
        assert set(members % 20) == {first}


def test_fewer_points_than_components(mixtures):
    """A dictionary gives more components than there are points, if they need them."""
    X, atoms, _ = mixtures
    model = FGNSR(3, dictionary=atoms, random_state=0).fit(X[:2])
    assert model.components_.shape == (3, 25)


def test_search_of_a_large_dictionary(mixtures):
    """Not all of more than 1,000 atoms are candidates of the first search."""
    X, atoms, K = mixtures
    atoms = np.vstack([atoms, np.random.default_rng(0).random((1000, atoms.shape[1]))])
    solution = working_set(X.T, 0.01, D=atoms.T)
    assert set(select_indices(solution, 4)) == set(K)


@pytest.mark.parametrize(
    "options",
    [
        dict(dictionary=np.ones((5, 24))),
        dict(dictionary=np.ones((3, 25))),
        dict(dictionary=np.full((5, 25), np.nan)),
        dict(dictionary=np.ones(25)),
        dict(dictionary=np.zeros((5, 25))),
        dict(dictionary=np.eye(25), endmembers="average"),
    ],
)
def test_invalid_input(mixtures, options):
    with pytest.raises(InputError):
        FGNSR(4, **options).fit(mixtures[0])
