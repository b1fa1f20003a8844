"""Smaller problems and the way back: what is lifted is feasible, and judged by the whole data."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from feasible import assert_feasible
from selfdict import (
    Candidates,
    Conic,
    Denoising,
    FastGradient,
    Huber,
    InputError,
    Problem,
    Solution,
    UnsupportedError,
    Weighted,
    WorkingSet,
    certify,
    h2nmf,
    lift,
    working_set,
)
from selfdict.datasets import make_mixtures
from selfdict.reductions.steps import denoise

MU = 0.1
ROWS, COLUMNS = 8, 40

STEPS = {
    "scaled candidates": Candidates(12),
    "candidates": Candidates(12, "residual"),
    "denoising": Denoising(3),
}
every_step = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())


def data(dtype=np.float64):
    """Mixtures, one of the points zero, and one that is there twice."""
    M = make_mixtures(ROWS, COLUMNS, 3, noise=0.03, random_state=0)[0]
    M[:, 5] = 0.0
    M[:, 9] = M[:, 8]
    return M.astype(dtype)


def dictionary():
    D = 3 * make_mixtures(ROWS, 10, 3, noise=0.05, random_state=1)[0]
    D[:, 2] = 0.0
    return D


def variances():
    return Weighted(np.linspace(0.5, 2.0, ROWS), np.linspace(2.0, 0.5, COLUMNS))


WEIGHTS = np.linspace(0.0, 2.0, COLUMNS)
PROBLEMS = {
    "plain": {},
    "sample weights": {"sample_weight": WEIGHTS},
    "weights of the diagonal": {"p": np.linspace(0.9, 1.1, COLUMNS)},
    "weights of the set": {"w": np.linspace(0.5, 2.0, COLUMNS)},
    "a dictionary": {"D": dictionary()},
    "a dictionary and sample weights": {"D": dictionary(), "sample_weight": WEIGHTS},
    "squares of the gates": {"smooth": 0.05},
    "known variances": {"loss": variances()},
    "known variances and sample weights": {"loss": variances(), "sample_weight": WEIGHTS},
}
every_problem = pytest.mark.parametrize("options", PROBLEMS.values(), ids=PROBLEMS.keys())


def reduced(problem, *steps):
    for step in steps:
        problem = step.reduce(problem)
    return problem


def assert_same_problem(lifted, problem):
    """The solution is one of the data as they were, at the final penalty."""
    assert lifted.problem.reduced_from is None
    for name in ("M", "D", "w", "v", "sample_weight", "loss", "smooth"):
        assert getattr(lifted.problem, name) is getattr(problem, name)
    assert lifted.problem.target is None


def assert_lifted(lifted, problem):
    """The solution is feasible for the problem, and its numbers are those of the problem."""
    assert_same_problem(lifted, problem)
    assert_feasible(lifted)
    whole = certify(lifted)
    assert lifted.objective == pytest.approx(whole.objective, rel=1e-10)
    best = WorkingSet(tol=1e-8).solve(lifted.problem)
    assert best.gap <= 1e-8
    assert lifted.objective >= best.objective * (1 - 1e-7)
    for bound in (lifted.dual_bound, whole.dual_bound):
        assert bound <= best.objective * (1 + 1e-9)
    assert np.isfinite(whole.gap)


@every_problem
@every_step
def test_lifted_solutions_are_feasible_points_of_the_whole_problem(step, options):
    problem = Problem(data(), MU, **options)
    small = step.reduce(problem)
    solution = WorkingSet(tol=1e-8).solve(small)
    assert_feasible(solution)
    lifted = lift(solution)
    assert lifted.mu == MU
    np.testing.assert_array_equal(lifted.problem.p, problem.p)
    assert_lifted(lifted, problem)
    again = step.lift(solution)
    np.testing.assert_array_equal(again.coef, lifted.coef)
    assert again.objective == lifted.objective


CHAINS = {
    f"{first}, then {second}": (STEPS[first], STEPS[second])
    for first, second in permutations(STEPS, 2)
}


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "sample weights",
        "a dictionary and sample weights",
        "known variances and sample weights",
    ],
)
@pytest.mark.parametrize("steps", CHAINS.values(), ids=CHAINS.keys())
def test_two_steps_are_lifted_one_after_the_other(steps, name):
    first, second = steps
    options = PROBLEMS[name]
    problem = Problem(data(), MU, **options)
    small = reduced(problem, first, second)
    assert small.root is problem
    solution = WorkingSet(tol=1e-8).solve(small)
    lifted = lift(solution)
    assert_lifted(lifted, problem)
    between = second.lift(solution)
    assert between.problem.reduced_from.step is first
    assert_feasible(between)
    np.testing.assert_array_equal(first.lift(between).coef, lifted.coef)


@every_step
def test_solutions_of_every_solver_can_be_lifted(step):
    problem = Problem(data(), MU, sample_weight=WEIGHTS)
    for solver in (FastGradient(max_iter=200), Conic()):
        assert_lifted(lift(solver.solve(step.reduce(problem))), problem)


@every_step
def test_single_precision_is_kept(step):
    problem = Problem(data(np.float32), MU)
    lifted = lift(WorkingSet(tol=1e-5).solve(step.reduce(problem)))
    assert lifted.coef.dtype == lifted.diagonal.dtype == np.float32
    assert_feasible(lifted)
    assert lifted.objective == pytest.approx(certify(lifted).objective, rel=1e-6)


@every_step
def test_lifting_keeps_gates_and_fits_columns_anew(step):
    problem = Problem(data(), MU)
    small = step.reduce(problem)
    solution = WorkingSet(tol=1e-8).solve(small)
    lifted = lift(solution)
    assert lifted.dual_bound == -np.inf  # nothing is proven about the whole problem yet
    expected = np.zeros(COLUMNS)
    expected[step.columns_of(small.reduced_from)] = solution.diagonal
    np.testing.assert_allclose(lifted.diagonal, expected, rtol=1e-12)
    # no other X with these gates has a lower objective
    rng = np.random.default_rng(0)
    X = lifted.toarray()
    w = problem.w
    limit = np.zeros_like(X)
    np.divide(expected[:, None] * w, w[:, None], out=limit, where=w[:, None] > 0)
    for _ in range(20):
        other = np.clip(X + 0.01 * rng.normal(size=X.shape), 0.0, limit)
        np.fill_diagonal(other, lifted.diagonal)
        point = certify(Solution.from_matrix(other, lifted.problem))
        assert point.objective >= lifted.objective * (1 - 1e-9)


def test_a_target_of_the_reduced_problem_gives_the_penalty_of_the_lifted_one():
    problem = Problem(data(), MU, target=("trace", 2.0))
    solution = WorkingSet().solve(Candidates(12).reduce(problem))
    assert solution.mu != MU
    lifted = lift(solution)
    assert lifted.mu == solution.mu
    assert lifted.diagonal.sum() == pytest.approx(2.0, rel=2e-3)
    assert_lifted(lifted, problem)


@every_step
def test_a_penalty_and_weights_of_the_diagonal_may_come_later(step):
    small = step.reduce(Problem(data()))
    assert small.mu is None
    p = np.linspace(0.9, 1.1, small.n_atoms)
    lifted = lift(WorkingSet(tol=1e-6).solve(small.changed(mu=MU, p=p)))
    assert lifted.mu == MU
    assert set(p) <= set(lifted.problem.p)
    assert lifted.objective == pytest.approx(certify(lifted).objective, rel=1e-10)


def test_lifting_a_whole_solution_changes_nothing():
    for solution in (
        working_set(data(), MU),
        working_set(data(), MU, D=dictionary()),
        Solution.from_matrix(np.eye(3), Problem(np.eye(3))),
    ):
        assert lift(solution) is solution


@every_step
def test_steps_lift_only_what_they_reduced(step):
    problem = Problem(data(), MU)
    with pytest.raises(InputError):
        step.lift(WorkingSet().solve(problem))
    for other in STEPS.values():
        if type(other) is type(step):
            continue
        solution = WorkingSet().solve(other.reduce(problem))
        with pytest.raises(InputError):
            step.lift(solution)


@pytest.mark.parametrize("options", [{"epsilon": 2.0}, {"mu": 0.1, "target": ("residual", 2.0)}])
def test_solutions_of_the_constrained_model_cannot_be_lifted(options):
    solution = Conic().solve(Candidates(20).reduce(Problem(data(), **options)))
    with pytest.raises(UnsupportedError):
        lift(solution)


@every_step
def test_general_losses_are_refused(step):
    problem = Problem(data(), MU, loss=Huber(0.1))
    solution = FastGradient(max_iter=20).solve(step.reduce(problem))
    with pytest.raises(UnsupportedError):
        step.lift(solution)


@every_step
def test_sparse_data_is_refused(step):
    M = data()
    problem = Problem(sp.csc_array(np.where(M > 0.3, M, 0.0)), MU)
    with pytest.raises(UnsupportedError):
        step.reduce(problem)


# candidates


@pytest.mark.parametrize("options", [{}, {"sample_weight": WEIGHTS}], ids=["plain", "weighted"])
def test_scaled_weighting_is_the_authors_program(options):
    """They scale each representative by the root of its cluster's size, with all weights one."""
    problem = Problem(data(), MU, **options)
    small = Candidates(12, "scaled").reduce(problem)
    clusters = small.reduced_from.memory
    counts = (clusters.sizes > 0) & (problem.w[clusters.indices] > 0)
    theirs = Problem(
        problem.M[:, clusters.indices] * np.sqrt(clusters.sizes), MU, w=counts.astype(float)
    )
    ours = WorkingSet(tol=1e-9).solve(small)
    scaled = WorkingSet(tol=1e-9).solve(theirs)
    assert ours.objective == pytest.approx(scaled.objective, rel=1e-8)
    np.testing.assert_allclose(ours.diagonal, scaled.diagonal, atol=1e-4)
    assert ours.objective == pytest.approx(Conic().solve(theirs).objective, rel=1e-6)


def test_weightings_differ():
    problem = Problem(data(), MU)
    scaled, residual = (
        WorkingSet(tol=1e-6).solve(Candidates(12, weighting).reduce(problem))
        for weighting in ("scaled", "residual")
    )
    np.testing.assert_array_equal(scaled.problem.sample_weight, residual.problem.sample_weight)
    assert scaled.objective != pytest.approx(residual.objective, rel=1e-3)
    with_atoms = Problem(data(), MU, D=dictionary())
    scaled, residual = (
        Candidates(12, weighting).reduce(with_atoms) for weighting in ("scaled", "residual")
    )
    np.testing.assert_array_equal(scaled.w, residual.w)


def test_sizes_are_the_weights_of_all_points_of_a_cluster():
    problem = Problem(data(), MU, sample_weight=WEIGHTS)
    clusters = Candidates(12).reduce(problem).reduced_from.memory
    for k in range(clusters.indices.size):
        own = WEIGHTS[clusters.labels == k].sum()
        assert clusters.sizes[k] == pytest.approx(own)
    known = Candidates(12).reduce(Problem(data(), MU, loss=variances()))
    np.testing.assert_array_equal(
        known.loss.pixel_variance, variances().pixel_variance[known.reduced_from.memory.indices]
    )
    plain = Candidates(12).reduce(Problem(data(), MU))
    np.testing.assert_array_equal(plain.sample_weight, h2nmf(data(), 12).sizes)


@pytest.mark.parametrize("n_clusters", [COLUMNS, COLUMNS + 1, 10 * COLUMNS])
def test_more_clusters_than_points_change_nothing(n_clusters):
    M = make_mixtures(ROWS, COLUMNS, 3, noise=0.03, random_state=0)[0]
    problem = Problem(M, MU)
    small = Candidates(n_clusters, "residual").reduce(problem)
    assert sorted(small.reduced_from.memory.indices) == list(range(COLUMNS))
    np.testing.assert_array_equal(small.sample_weight, np.ones(COLUMNS))
    lifted = lift(WorkingSet(tol=1e-8).solve(small))
    best = WorkingSet(tol=1e-8).solve(problem)
    assert lifted.objective == pytest.approx(best.objective, rel=1e-7)
    assert_lifted(lift(WorkingSet(tol=1e-8).solve(Candidates(n_clusters).reduce(problem))), problem)


@pytest.mark.parametrize(
    "call", [lambda problem: Candidates(5, "equal"), lambda problem: Candidates(0).reduce(problem)]
)
def test_invalid_settings_are_refused(call):
    with pytest.raises(InputError):
        call(Problem(data(), MU))


# denoising


@pytest.fixture
def noisy():
    rng = np.random.default_rng(0)
    clean = rng.random((30, 3)) @ rng.random((3, 200))
    return clean, clean + 0.05 * rng.standard_normal(clean.shape)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("wide", [True, False])
def test_denoised_data_are_the_truncated_svd(noisy, dtype, rtol, wide):
    M = (noisy[1] if wide else noisy[1][:, :12]).astype(dtype)
    U, values, V = np.linalg.svd(M.astype(np.float64), full_matrices=False)
    data, variance, _ = denoise(M, 3)
    assert data.dtype == dtype
    np.testing.assert_allclose(data, (U[:, :3] * values[:3]) @ V[:3], rtol=rtol, atol=rtol)
    m, n = M.shape
    assert variance == pytest.approx((values[3:] ** 2).sum() / ((m - 3) * (n - 3)), rel=rtol)


def test_noise_is_removed_and_its_variance_estimated(noisy):
    clean, M = noisy
    data, variance, mu = denoise(M, 3)
    assert variance == pytest.approx(0.05**2, rel=0.05)
    left = np.linalg.norm(data - clean) ** 2
    # in the rows and in the columns of rank 3
    assert left == pytest.approx(3 * (30 + 200 - 3) * variance, rel=0.1)
    assert mu == pytest.approx(3 * variance, rel=0.05)


def test_without_noise_nothing_changes_and_the_penalty_stays_positive(noisy):
    clean = noisy[0]
    data, variance, mu = denoise(clean, 3)
    np.testing.assert_allclose(data, clean, rtol=1e-10)
    assert variance < 1e-12 < mu
    whole = denoise(clean[:, :2], 2)  # no direction left for noise
    np.testing.assert_allclose(whole.data, clean[:, :2], rtol=1e-10)
    assert whole.variance == pytest.approx(0.0, abs=1e-12)
    assert denoise(np.zeros((4, 5)), 2).mu == 0.0
