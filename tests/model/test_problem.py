"""A problem is checked when it is made, cannot be changed, and says what it is."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp

from selfdict import (
    Conic,
    FastGradient,
    Huber,
    InputError,
    Problem,
    Solution,
    Weighted,
    WorkingSet,
    certify,
)
from selfdict.model.problem import jitter
from selfdict.model.solution import relative_gap

M = np.random.default_rng(0).random((4, 6))
D = np.random.default_rng(1).random((4, 3))


@pytest.mark.parametrize("name", ["M", "mu", "w", "something_new"])
def test_problems_are_immutable(name):
    problem = Problem(M, 0.1)
    with pytest.raises(FrozenInstanceError):
        setattr(problem, name, 1.0)
    with pytest.raises(FrozenInstanceError):
        delattr(problem, name)
    assert problem.mu == 0.1


def test_changed_copies_leave_the_original_alone():
    problem = Problem(M, 0.1, target=("trace", 2.0), loss=Weighted(np.full(4, 4.0)))
    np.testing.assert_allclose(problem.squared_form.M, M / 2)
    other = problem.with_mu(0.2)
    assert (other.mu, other.target) == (0.2, None)
    assert (problem.mu, problem.target) == (0.1, ("trace", 2.0))
    assert other.M is problem.M
    # what was computed from the old data is not kept
    doubled = problem.changed(M=2 * M)
    np.testing.assert_allclose(doubled.squared_form.M, M)
    np.testing.assert_allclose(problem.squared_form.M, M / 2)


def test_defaults():
    problem = Problem(M, 0.1)
    np.testing.assert_allclose(problem.w, np.abs(M).sum(axis=0))
    assert problem.v is problem.w
    np.testing.assert_array_equal(problem.p, np.ones(6))
    np.testing.assert_array_equal(problem.s, np.ones(6))
    assert problem.sample_weight is None
    assert problem.reduced_from is None
    assert problem.root is problem
    assert problem.atoms is problem.M
    assert (problem.n_points, problem.n_atoms) == (6, 6)
    with_atoms = Problem(M, 0.1, D=D, random_state=0)
    np.testing.assert_allclose(with_atoms.v, np.abs(D).sum(axis=0))
    np.testing.assert_allclose(with_atoms.p, jitter(3, 0))
    assert (np.abs(jitter(1000, 0) - 1) <= 0.005).all()
    assert (jitter(3, 0) != jitter(3, 1)).any()
    assert (with_atoms.n_points, with_atoms.n_atoms) == (6, 3)
    assert with_atoms.atoms is with_atoms.D


@pytest.mark.parametrize(
    ("given", "kept"), [(np.float32, np.float32), (np.float64, np.float64), (int, np.float32)]
)
def test_data_keep_their_precision(given, kept):
    problem = Problem((10 * M).astype(given), 0.1, D=D, sample_weight=np.ones(6))
    assert problem.M.dtype == kept
    assert WorkingSet().solve(problem).coef.dtype == kept


def test_repr():
    problem = Problem(M, 0.1, D=D, sample_weight=np.ones(6), target=("trace", 2), loss=Huber(0.5))
    assert repr(problem) == (
        "Problem(4×6, float64, D 4×3, mu=0.1, target=('trace', 2.0), "
        "with sample_weight, loss Huber)"
    )
    assert repr(Problem(sp.csc_array(M))) == "Problem(4×6, float64, sparse)"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (dict(M=M[0]), InputError),
        (dict(M=M[:, :0]), InputError),
        (dict(M=np.where(M > 0.5, np.nan, M)), InputError),
        (dict(M=M * 1j), TypeError),
        (dict(mu=-0.1), InputError),
        (dict(mu=np.nan), InputError),
        (dict(mu="auto"), TypeError),
        (dict(mu=0.1, epsilon=0.2), InputError),
        (dict(mu=None, epsilon=-1), InputError),
        (dict(mu=None, epsilon=0.5, target=("residual", 1.0)), InputError),
        (dict(D=D[1:]), InputError),
        (dict(D=sp.csc_array(D)), TypeError),
        (dict(w=np.ones(5)), InputError),
        (dict(w=-np.ones(6)), InputError),
        (dict(p=np.zeros(6)), InputError),
        (dict(p=np.ones(6), D=D), InputError),
        (dict(sample_weight=np.ones(4)), InputError),
        (dict(sample_weight=-np.ones(6)), InputError),
        (dict(loss="huber"), TypeError),
        (dict(loss=Weighted(np.ones(3))), InputError),
        (dict(loss=Weighted(None, np.ones(4))), InputError),
        (dict(target="trace"), InputError),
        (dict(target=("norm", 1.0)), InputError),
        (dict(target=("trace", 0.0)), InputError),
        (dict(target=("trace", 2.0), mu=0), InputError),
        (dict(smooth=-1.0), InputError),
        (dict(smooth=np.nan), InputError),
        (dict(smooth=np.inf), InputError),
        (dict(smooth=1e-300), InputError),
        (dict(smooth=0.1, mu=None, epsilon=0.1), InputError),
    ],
)
def test_invalid_input(given, error):
    with pytest.raises(error):
        Problem(**{"M": M, "mu": 0.1, **given})


@pytest.mark.parametrize("solver", [WorkingSet(), FastGradient(), Conic()])
def test_problems_without_penalty_cannot_be_solved(solver):
    with pytest.raises(InputError):
        solver.solve(Problem(M))


def test_solutions_keep_their_problem():
    problem = Problem(M, 0.1, target=("trace", 1.5), sample_weight=np.linspace(1, 2, 6))
    solution = WorkingSet().solve(problem)
    assert solution.problem.M is problem.M
    assert solution.problem.mu == solution.mu != problem.mu
    assert solution.problem.target is None
    assert solution.problem.sample_weight is problem.sample_weight
    again = solution.for_problem(Problem(M, 0.5))
    assert again.mu == 0.5
    assert again.gap == np.inf
    with pytest.raises(FrozenInstanceError):
        solution.objective = 0.0


def test_relative_gap():
    assert relative_gap(2.0, -np.inf) == np.inf
    assert relative_gap(np.nan, np.nan) == np.inf
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(2.0, 2.0) == 0.0
    with pytest.raises(ArithmeticError):
        relative_gap(2.0, 2.1)
    assert relative_gap(0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    "options",
    [
        {"sample_weight": np.array([1e300, 1, 1, 1])},
        {"sample_weight": np.array([1e-300, 1, 1, 1])},
        {"sample_weight": np.full(4, 1e300)},
        {"p": np.array([1e300, 1, 1, 1])},
        {"p": np.array([1e-300, 1, 1, 1])},
        {"w": np.full(4, 1e300)},
        {"w": np.full(4, 1e-200)},
        {"M": np.full((3, 4), 2.0**500)},
        {"M": np.full((3, 4), 2.0**-520)},
        {"D": np.full((3, 2), 1e-310)},
        {"mu": 1e308},
        {"mu": 1e-305},
        {"D": np.full((3, 2), 1e-100), "M": np.full((3, 4), 1e100)},
        {"M": np.full((3, 4), 1e140), "sample_weight": np.full(4, 1e25)},
        {"M": np.full((3, 4), 1e-140), "sample_weight": np.full(4, 1e-25)},
        {"loss": Weighted(band_variance=np.full(3, 1e-200))},
        {"loss": Weighted(pixel_variance=np.full(4, 1e200))},
        {"loss": Huber(1e-200)},
        {"loss": Huber(1e200)},
    ],
)
def test_values_out_of_the_range_in_which_bounds_are_proofs_are_refused(options):
    options = {"M": np.ones((3, 4)), "mu": 0.1} | options
    with pytest.raises(InputError):
        Problem(**options)


@pytest.mark.parametrize("factor", [1e-25, 1e25])
@pytest.mark.parametrize("name", ["sample_weight", "p", "w"])
def test_weights_far_from_one_give_finite_certificates(name, factor):
    M = np.random.default_rng(0).random((4, 6))
    problem = Problem(M, 0.1, **{name: np.array([factor, 1, 1, 1, 1, 1])})
    for X in (np.zeros((6, 6)), np.eye(6)):
        solution = certify(Solution.from_matrix(X, problem))
        assert np.isfinite([solution.objective, solution.dual_bound, solution.gap]).all()
