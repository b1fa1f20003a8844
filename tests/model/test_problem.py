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
    PseudoHuber,
    Solution,
    UnsupportedError,
    Weighted,
    WorkingSet,
    certify,
)
from selfdict.model.problem import jitter
from selfdict.model.solution import relative_gap

M = np.random.default_rng(0).random((4, 6))
D = np.random.default_rng(1).random((4, 3))


@pytest.mark.parametrize("name", ["M", "mu", "w", "target", "loss", "something_new"])
def test_it_cannot_be_changed(name):
    problem = Problem(M, 0.1)
    with pytest.raises(FrozenInstanceError):
        setattr(problem, name, 1.0)
    with pytest.raises(FrozenInstanceError):
        delattr(problem, name)
    assert problem.mu == 0.1


def test_a_changed_copy_leaves_the_original_as_it_was():
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


def test_what_is_not_given():
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
    assert (with_atoms.n_points, with_atoms.n_atoms) == (6, 3)
    assert with_atoms.atoms is with_atoms.D


@pytest.mark.parametrize(
    ("given", "kept"), [(np.float32, np.float32), (np.float64, np.float64), (int, np.float32)]
)
def test_data_keep_their_precision(given, kept):
    problem = Problem((10 * M).astype(given), 0.1, D=D, sample_weight=np.ones(6))
    assert problem.M.dtype == kept
    assert WorkingSet().solve(problem).coef.dtype == kept


def test_it_says_what_it_is():
    assert repr(Problem(M)) == "Problem(4×6, float64)"
    assert repr(Problem(M, 0.1)) == "Problem(4×6, float64, mu=0.1)"
    assert repr(Problem(M, epsilon=0.1)) == "Problem(4×6, float64, epsilon=0.1)"
    assert repr(Problem(M.astype(np.float32), 1)) == "Problem(4×6, float32, mu=1.0)"
    assert (
        repr(Problem(sp.csc_array(M), 0.1, sample_weight=np.ones(6)))
        == "Problem(4×6, float64, sparse, mu=0.1, with sample_weight)"
    )
    assert (
        repr(Problem(M, 0.1, D=D, target=("trace", 2), loss=Huber(0.5)))
        == "Problem(4×6, float64, D 4×3, mu=0.1, target=('trace', 2.0), loss Huber)"
    )


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict(M=M[0]), InputError, r"M must have 2 dimensions .* shape \(6,\)"),
        (dict(M=M[:, :0]), InputError, r"M must not be empty, got shape \(4, 0\)"),
        (dict(M=np.where(M > 0.5, np.nan, M)), InputError, "M contains NaN or infinity"),
        (dict(M=M * 1j), TypeError, "M must hold real numbers, got dtype complex128"),
        (dict(mu=-0.1), InputError, r"mu must be finite and ≥ 0, got -0.1"),
        (dict(mu=np.nan), InputError, r"mu must be finite and ≥ 0, got nan"),
        (dict(mu="auto"), TypeError, "mu must be a real number, got 'auto'"),
        (dict(mu=0.1, epsilon=0.2), InputError, "give either mu or epsilon, got mu=0.1 and eps"),
        (dict(mu=None, epsilon=-1), InputError, "epsilon must be finite and ≥ 0, got -1"),
        (dict(D=D[1:]), InputError, r"D must have the 4 rows of M, got shape \(3, 3\)"),
        (dict(D=sp.csc_array(D)), TypeError, "D is sparse, which this does not take"),
        (dict(w=np.ones(5)), InputError, r"w must have shape \(6,\), got \(5,\)"),
        (dict(w=-np.ones(6)), InputError, "w must not be negative, got -1.0"),
        (dict(p=np.zeros(6)), InputError, "p must be positive, got 0.0 as its smallest entry"),
        (dict(p=np.ones(6), D=D), InputError, r"p must have shape \(3,\), got \(6,\)"),
        (dict(sample_weight=np.ones(4)), InputError, r"sample_weight must have shape \(6,\)"),
        (dict(sample_weight=-np.ones(6)), InputError, "sample_weight must not be negative"),
        (dict(loss="huber"), TypeError, 'loss must be "squared" or a loss such as'),
        (dict(loss=Weighted(np.ones(3))), InputError, r"band_variance must have shape \(4,\)"),
        (dict(loss=Weighted(None, np.ones(4))), InputError, r"pixel_variance must have shape"),
        (dict(target="trace"), InputError, "target must be None, .* got 'trace'"),
        (dict(target=("norm", 1.0)), InputError, "target must be None, .* got"),
        (dict(target=("trace", 0.0)), InputError, "target trace must be finite and > 0, got 0.0"),
        (dict(target=("trace", 2.0), mu=0), InputError, "mu must be > 0 when it is steered"),
    ],
)
def test_what_does_not_fit_is_one_clear_sentence(given, error, message):
    with pytest.raises(error, match=message):
        Problem(**{"M": M, "mu": 0.1, **given})


@pytest.mark.parametrize("solver", [WorkingSet(), FastGradient(), Conic()])
def test_a_solver_asks_for_the_penalty(solver):
    with pytest.raises(InputError, match="the problem has no penalty yet: give mu, for example"):
        solver.solve(Problem(M))


@pytest.mark.parametrize("solver", [WorkingSet(), FastGradient()])
def test_a_bound_in_place_of_the_penalty_is_for_the_exact_solver(solver):
    with pytest.raises(UnsupportedError, match=r"does not take epsilon, model \(4\); use conic"):
        solver.solve(Problem(M, epsilon=0.1))


def test_a_solution_knows_the_problem_it_solves():
    problem = Problem(M, 0.1, target=("trace", 1.5), sample_weight=np.linspace(1, 2, 6))
    solution = WorkingSet().solve(problem)
    assert solution.problem.M is problem.M
    assert solution.problem.mu == solution.mu != problem.mu
    assert solution.problem.target is None
    assert solution.problem.sample_weight is problem.sample_weight
    assert solution.weights is problem.w
    again = solution.for_problem(Problem(M, 0.5))
    assert again.mu == 0.5
    assert again.gap == np.inf
    with pytest.raises(FrozenInstanceError):
        solution.objective = 0.0


def test_a_solution_of_points_is_none_of_atoms():
    point = Solution.from_matrix(np.eye(6), Problem(M, 0.1))
    with pytest.raises(InputError, match="belongs to 6 points, D has 3 atoms"):
        point.for_problem(Problem(M, 0.1, D=D))


def test_the_gap_is_infinite_without_a_bound_and_zero_where_nothing_is_left():
    assert relative_gap(2.0, -np.inf) == np.inf
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
        {"mu": 1e308},
        {"mu": 1e-305},
        {"D": np.full((3, 2), 1e-100), "M": np.full((3, 4), 1e100)},
        {"M": np.full((3, 4), 1e140), "sample_weight": np.full(4, 1e25)},
        {"M": np.full((3, 4), 1e-140), "sample_weight": np.full(4, 1e-25)},
        {"loss": Weighted(band_variance=np.full(3, 1e-200))},
        {"loss": Weighted(pixel_variance=np.full(4, 1e200))},
        {"loss": Huber(1e-200)},
        {"loss": PseudoHuber(1e200)},
    ],
)
def test_what_leaves_the_range_in_which_bounds_are_proofs_is_refused(options):
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
