"""What solvers declare is what they do: every feature and every pair, tried with each of them."""

from dataclasses import fields, replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from cubic import CubicProblem
from feasible import assert_feasible
from selfdict import (
    FGNSR,
    Candidates,
    Conic,
    FastGradient,
    Feature,
    Huber,
    InputError,
    Problem,
    Solution,
    Solver,
    Status,
    UnsupportedError,
    Weighted,
    WorkingSet,
    certify,
    conic,
    fast_gradient,
    working_set,
)
from selfdict.datasets import make_mixtures

SOLVERS = dict(Solver.registered)
ROWS, COLUMNS = 6, 12
TARGETS = {Feature.RESIDUAL_TARGET, Feature.TRACE_TARGET}
LOSSES = {Feature.WEIGHTED_LOSS, Feature.GENERAL_LOSS}
PENALTIES = {Feature.SMOOTH, Feature.GENERAL_PENALTY, Feature.CONSTRAINT}
# no problem has both
IMPOSSIBLE = [
    {Feature.SPARSE, Feature.DICTIONARY},
    {Feature.SPARSE, Feature.WEIGHTED_LOSS},
    {Feature.SPARSE, Feature.GENERAL_LOSS},
    {Feature.GENERAL_LOSS, Feature.CONSTRAINT},
]

SINGLES = [frozenset({feature}) for feature in Feature]
# a problem has one loss; and one penalty, which is steered to one target, or a bound instead
PAIRS = [
    frozenset(pair)
    for pair in combinations(Feature, 2)
    if not any(set(pair) <= each for each in (TARGETS | {Feature.CONSTRAINT}, LOSSES, PENALTIES))
    and set(pair) not in [*IMPOSSIBLE, {Feature.SPARSE, Feature.GPU}]
]
ASKED = [frozenset(), *SINGLES, *PAIRS]
WITHOUT_GPU = [asked for asked in ASKED if Feature.GPU not in asked]


def names(asked):
    """Return what a combination of features is called in the list of tests."""
    return " and ".join(feature.name for feature in Feature if feature in asked) or "nothing"


def problem_with(asked):
    """Return a small problem that asks for these features and for no others."""
    M = make_mixtures(ROWS, COLUMNS, 3, noise=0.05, random_state=0)[0]
    options = {}
    if Feature.DICTIONARY in asked:
        options["D"] = 2 * M[:, ::2] + 0.01
    if Feature.SAMPLE_WEIGHT in asked:
        options["sample_weight"] = np.linspace(0.5, 2.0, COLUMNS)
    if Feature.WEIGHTED_LOSS in asked:
        options["loss"] = Weighted(np.linspace(0.5, 2.0, ROWS), np.linspace(2.0, 0.5, COLUMNS))
    if Feature.GENERAL_LOSS in asked:
        options["loss"] = Huber(0.1)
    if Feature.RESIDUAL_TARGET in asked:
        options["target"] = ("residual", 1.0)
    if Feature.TRACE_TARGET in asked:
        options["target"] = ("trace", 1.5)
    if Feature.CONSTRAINT in asked:
        options["epsilon"] = 1.0
    else:
        options["mu"] = 0.1
    if Feature.SPARSE in asked:
        M = sp.csc_array(np.where(M > 0.3, M, 0.0))
    if Feature.SMOOTH in asked:
        options["smooth"] = 0.05
    if Feature.GENERAL_PENALTY in asked:
        return CubicProblem(M, **options)
    return Problem(M, **options)


def solver_for(name, asked):
    """Return the solver; one that can use a GPU is told to if asked."""
    solver = SOLVERS[name]()
    if has_setting(name, "max_iter"):
        solver = replace(solver, max_iter=20_000)
    if Feature.GPU in asked and has_setting(name, "device"):
        solver = replace(solver, device="cuda")
    return solver


def has_setting(name, setting):
    return any(field.name == setting for field in fields(SOLVERS[name]))


def is_declared(name, asked):
    return asked <= SOLVERS[name].takes


def assert_on_target(solution, problem):
    """The residual or the trace is what the problem asks for; a bound on the residual is active."""
    loss, s, M = problem.loss, problem.s, problem.M
    kind, value = problem.target or ("residual", problem.epsilon)
    if value is None:
        return
    attained = solution.diagonal.sum()
    if kind == "residual":
        R = np.asarray(M - problem.atoms @ solution.toarray())
        attained = np.sqrt(2 * loss.total(R, s))
    assert attained == pytest.approx(value, rel=2e-3)


def never(*arguments, **options):
    pytest.fail("work started on a problem that should have been refused")


@pytest.mark.parametrize("asked", ASKED, ids=names)
def test_features_of_problems(asked):
    problem = problem_with(asked)
    assert solver_for("working_set", asked).asked(problem) == asked
    there = problem.changed(_tensor_device="cuda:0")  # as if M had come from there
    assert WorkingSet().asked(there) == asked | {Feature.GPU}


@pytest.mark.parametrize("asked", IMPOSSIBLE, ids=names)
def test_combinations_that_no_solver_takes_are_no_problem(asked):
    with pytest.raises(UnsupportedError):
        problem_with(asked)


def test_sparse_data_on_a_gpu_are_refused():
    problem = problem_with({Feature.SPARSE})
    with pytest.raises(InputError):
        WorkingSet(device="cuda").solve(problem)
    with pytest.raises(InputError):
        certify(WorkingSet().solve(problem), device="cuda")


@pytest.mark.parametrize("asked", WITHOUT_GPU, ids=names)
@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_take_what_they_declare_and_refuse_the_rest_before_work_starts(
    name, asked, monkeypatch
):
    problem = problem_with(asked)
    solver = solver_for(name, asked)
    if not is_declared(name, asked):
        monkeypatch.setattr(SOLVERS[name], "_solve", never)
        with pytest.raises(UnsupportedError) as caught:
            solver.solve(problem)
        advice = str(caught.value).partition(";")[2]
        for other in SOLVERS:  # those that would take it are named
            assert (f" {other}" in advice) == is_declared(other, asked)
        assert ("toarray" in advice) == (Feature.SPARSE in asked)
        return
    solution = solver.solve(problem)
    assert isinstance(solution, Solution)
    assert solution.status in (Status.CONVERGED, Status.EXACT)
    assert np.isfinite(solution.objective)
    assert np.isfinite(solution.gap)
    assert solution.dual_bound <= solution.objective * (1 + 1e-9)
    assert_feasible(solution)
    assert_on_target(solution, problem)
    assert solution.problem.smooth == problem.smooth


REFUSED = {
    "a loss for squares alone": dict(solver="working_set", loss=Huber(0.1)),
    "a loss for an exact solver": dict(solver="conic", loss=Huber(0.1)),
    "a trace for an exact solver": dict(solver="conic", target=("trace", 2.0)),
    "too many candidates for an exact solver": dict(solver="conic", candidates=350),
}


@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED.keys())
def test_estimator_refuses_before_clustering(options, monkeypatch):
    monkeypatch.setattr("selfdict.reductions.steps.h2nmf", never)
    X = make_mixtures(6, 400, 3, noise=0.05, random_state=0)[0].T
    for candidates in (5, Candidates(5, "residual")):
        with pytest.raises(UnsupportedError):
            FGNSR(2, **{"candidates": candidates, **options}).fit(X)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (lambda: WorkingSet(tol=-1), InputError),
        (lambda: WorkingSet(tol=np.nan), InputError),
        (lambda: WorkingSet(tol="small"), TypeError),
        (lambda: WorkingSet().solve(np.eye(3)), TypeError),
        (lambda: WorkingSet(max_seconds=-1), InputError),
        (lambda: FastGradient(tol=-1), InputError),
        (lambda: FastGradient(max_iter=-1), InputError),
        (lambda: FastGradient(max_iter=1.5), TypeError),
        (lambda: FastGradient(max_seconds=-1), InputError),
        (lambda: FastGradient(target_every=0), InputError),
        (lambda: replace(WorkingSet(), tol=-1), InputError),
        (lambda: WorkingSet(device="tpu").solve(problem_with({})), InputError),
    ],
)
def test_invalid_settings_are_refused(settings, error):
    with pytest.raises(error):
        settings()


@pytest.mark.parametrize(
    ("function", "solver"),
    [
        (partial(working_set, tol=1e-6), WorkingSet(tol=1e-6)),
        (partial(fast_gradient, max_iter=50, tol=0), FastGradient(max_iter=50, tol=0)),
        (conic, Conic()),
    ],
)
def test_functions_are_the_solvers_with_a_problem_of_the_same_arguments(function, solver):
    M = problem_with({}).M
    arguments = dict(mu=0.1, sample_weight=np.linspace(0.5, 2.0, COLUMNS), random_state=0)
    one = function(M, **arguments)
    other = solver.solve(Problem(M, **arguments))
    np.testing.assert_array_equal(one.coef, other.coef)
    assert (one.objective, one.dual_bound) == (other.objective, other.dual_bound)
