"""The smooth model, μ pᵀt + ½ν Σ t_i²: every solver against Clarabel, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from array_blocks import ArrayBlocks
from selfdict import (
    FGNSR,
    Candidates,
    Conic,
    FastGradient,
    InputError,
    Problem,
    Solution,
    Status,
    Weighted,
    WorkingSet,
    certify,
    lift,
    mu_heuristic,
    working_set,
)
from selfdict.datasets import make_mixtures
from selfdict.solvers.block_search import solve_blocks


def alike(n, m=12):
    """Mixtures in which every point has a near-duplicate."""
    M = np.maximum(make_mixtures(m, n, 4, noise=0.02, random_state=0)[0], 0.0)
    M[:, 1::2] = M[:, : 2 * (n // 2) : 2]
    M[:, 1::2] *= 1 + 1e-3 * np.random.default_rng(0).random(M[:, 1::2].shape)
    return M, mu_heuristic(M, 4)


MODELS = {
    "weights": {"sample_weight": np.linspace(0.2, 2.0, 30), "p": np.linspace(0.5, 1.5, 30)},
    "variances": {"loss": Weighted(band_variance=np.linspace(1, 3, 12))},
    "own w": {"w": np.linspace(1.0, 2.0, 30)},
    "dictionary": {"D": 2 * alike(20)[0]},
}


@pytest.mark.parametrize("ratio", [1e-3, 1e-2, 0.1, 1.0, 10.0, 1e2, 1e3])
def test_the_working_set_finds_the_optimum_of_the_interior_point_method(ratio):
    M, mu = alike(30)
    problem = Problem(M, mu, smooth=ratio * mu)
    exact = Conic().solve(problem)
    solution = WorkingSet(tol=1e-9).solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(exact.objective, rel=1e-7)
    t = solution.diagonal
    R = M - M @ solution.toarray()
    by_hand = 0.5 * np.sum(R**2) + mu * t.sum() + 0.5 * ratio * mu * t @ t
    assert solution.objective == pytest.approx(by_hand, rel=1e-12)
    # the square has one minimiser: gates agree, too
    np.testing.assert_allclose(t, exact.diagonal, atol=2e-4 / np.sqrt(ratio))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("mu_factor", [1.0, 0.0], ids=["mu", "no mu"])
def test_all_solvers_agree(name, mu_factor):
    M, mu = alike(30)
    problem = Problem(M, mu_factor * mu, smooth=mu, **MODELS[name])
    exact = Conic().solve(problem)
    assert WorkingSet(tol=1e-9).solve(problem).objective == pytest.approx(exact.objective, rel=1e-7)
    slow = FastGradient(max_iter=5000).solve(problem)
    assert slow.objective == pytest.approx(exact.objective, rel=2e-3)


def test_smooth_of_zero_is_the_plain_model():
    M, mu = alike(200)
    plain = WorkingSet(tol=1e-6).solve(Problem(M, mu))
    zero = WorkingSet(tol=1e-6).solve(Problem(M, mu, smooth=0.0))
    np.testing.assert_array_equal(zero.coef, plain.coef)
    assert (zero.objective, zero.dual_bound) == (plain.objective, plain.dual_bound)
    little = WorkingSet(tol=1e-6).solve(Problem(M, mu, smooth=1e-9 * mu))
    assert little.objective == pytest.approx(plain.objective, rel=1e-6)


def test_near_duplicates_share_their_weight():
    M, mu = alike(100)
    one = WorkingSet(tol=1e-8).solve(Problem(M, mu))
    shared = WorkingSet(tol=1e-8).solve(Problem(M, mu, smooth=mu))
    assert len(shared.support) > len(one.support)
    pairs = shared.diagonal.reshape(-1, 2)
    open_pairs = pairs[pairs.max(axis=1) > 0.05]
    assert (open_pairs.min(axis=1) > 0.5 * open_pairs.max(axis=1)).all()


def test_targets_change_mu_but_not_smooth():
    M, mu = alike(200)
    problem = Problem(M, mu, smooth=mu, target=("trace", 2.0))
    solution = WorkingSet(tol=1e-5).solve(problem)
    assert solution.diagonal.sum() == pytest.approx(2.0, rel=1e-3)
    assert solution.problem.smooth == mu
    assert solution.mu != mu
    assert certify(solution).gap <= 1e-5


def test_blocks_reach_the_optimum_of_memory():
    M, mu = alike(300)
    expected = WorkingSet(tol=1e-4).solve(Problem(M, mu, smooth=0.7 * mu))
    found = solve_blocks(ArrayBlocks(M, 70), 4, mu=mu, smooth=0.7, tol=1e-3, sample_size=60)
    assert found.gap <= 1e-3
    assert found.objective == pytest.approx(expected.objective, rel=1e-3)
    assert found.dual_bound <= expected.objective


def test_samples_likely_rows_and_bounds_lead_to_the_optimum():
    M, mu = alike(5000, m=40)
    solution = WorkingSet(tol=1e-5).solve(Problem(M, mu, smooth=mu))
    assert solution.gap <= 1e-5
    assert certify(solution).gap <= 1.01e-5


def test_reductions_keep_smooth():
    M, mu = alike(200)
    small = Candidates(40, weighting="residual").reduce(Problem(M, mu, smooth=mu))
    solution = lift(WorkingSet().solve(small))
    assert solution.problem.smooth == mu
    whole = WorkingSet().solve(solution.problem)
    assert certify(solution).dual_bound <= whole.objective
    assert solution.objective >= whole.dual_bound


def test_estimator_takes_smooth_relative_to_mu():
    M, _ = alike(200)
    model = FGNSR(4, smooth=0.5).fit(M.T)
    assert model.solution_.problem.smooth == pytest.approx(0.5 * model.mu_)
    assert model.gap_ <= 1e-3
    assert len(model.solution_.support) > len(FGNSR(4).fit(M.T).solution_.support)


@pytest.mark.parametrize(
    "options",
    [
        {"mu": 0.1, "smooth": -1.0},
        {"mu": 0.1, "smooth": np.nan},
        {"mu": 0.1, "smooth": np.inf},
        {"mu": 0.1, "smooth": 1e-300},
        {"epsilon": 0.1, "smooth": 0.1},
    ],
)
def test_invalid_weights_are_refused(options):
    with pytest.raises(InputError):
        Problem(np.eye(2), **options)


def in_memory(problem):
    return WorkingSet(tol=1e-9).solve(problem)


def in_blocks(problem):
    ratio = problem.smooth / problem.mu
    blocks = ArrayBlocks(problem.M, 3)
    return solve_blocks(
        blocks, 1, mu=problem.mu, smooth=ratio, p=lambda n: problem.p, tol=1e-9, sample_size=4
    )


def on_a_device(problem):
    """Search on a device; without a GPU the compiled code solves the columns."""
    tensor = pytest.importorskip("on_device").tensor
    options = {"sample_weight": problem.sample_weight, "smooth": problem.smooth}
    if problem.D is not None:
        options["D"] = tensor(problem.D)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("selfdict.solvers.search.runs_triton", lambda device: device is not None)
        patch.setattr("selfdict.gpu.bounded_fit._MOST_ATOMS", 0)
        patch.setattr("selfdict.columns.device.FEWEST_PAIRS", 0)  # bounds on scores
        return working_set(tensor(problem.M), problem.mu, tol=1e-9, **options)


def by_gradients(problem):
    return FastGradient(max_iter=50).solve(problem)


def exactly(problem):
    return Conic().solve(problem)


@st.composite
def smooth_problems(draw, plain):
    """Draw a problem and a generator; ``plain``: a penalty, no dictionary and no weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    M = rng.normal(size=(m, n)) if draw(st.booleans()) else rng.random((m, n))
    arguments = {"smooth": 10.0 ** draw(st.floats(-4, 2))}
    if not plain and draw(st.booleans()):
        arguments["D"] = rng.random((m, draw(st.integers(1, 6))))
    if not plain and draw(st.booleans()):
        arguments["sample_weight"] = rng.uniform(0, 2, n)
    if draw(st.booleans()):
        M = np.asfortranarray(M.astype(np.float32))
    penalties = [1e-3, 0.1, 1.0]
    if not plain:
        penalties.append(0.0)
    return Problem(M, draw(st.sampled_from(penalties)), **arguments), rng


def random_point(problem, rng):
    """Return random gates, and entries below them."""
    gates = np.where(problem.v > 0, rng.random(problem.n_atoms), 0.0)
    v = np.where(problem.v > 0, problem.v, 1.0)
    X = rng.random((problem.n_atoms, problem.n_points)) * gates[:, None] * problem.w / v[:, None]
    if problem.D is None:
        np.fill_diagonal(X, gates)
    return certify(Solution.from_matrix(X, problem, diagonal=gates))


@pytest.mark.parametrize("mode", [in_memory, in_blocks, on_a_device, by_gradients, exactly])
@given(data=st.data())
@settings(max_examples=40)
def test_weak_duality(mode, data):
    """No bound, of any X and in any mode, is above what another X attains."""
    problem, rng = data.draw(smooth_problems(plain=mode is in_blocks))
    points = [in_memory(problem), random_point(problem, rng), mode(problem)]
    lowest = min(point.objective for point in points)
    for point in points:
        assert point.dual_bound <= lowest * (1 + 1e-12)
    assert points[0].objective <= lowest * (1 + 1e-6)
