"""Proofs and scores of solutions against feasible points and dual values in extended precision.

A random problem with a quadratic loss is solved, and random groups of its rows are proven, by
further solves or by quick bounds. Each claim is checked from outside, by points and multipliers
that are evaluated in 80-bit floating point (:mod:`fuzz.exact`):

- *scores*: no score that a solution keeps is below that of its X as stored; *moved scores*: nor if
  X has been far outside of Ω before;
- *needed*: no point without a group attains less than is claimed to be needed;
- *enough*: no dual value with only the groups open exceeds what they are claimed to suffice for;
- *closed*: no dual value without the closed rows exceeds what all rows attain;
- *limit*: no product of rank r attains less;
- *blocks*: no point attains less than the bound for the same columns in blocks.

``python -m fuzz.proofs --problems 10000`` runs it at length.
"""

from dataclasses import replace

import numpy as np

from array_blocks import ArrayBlocks
from fuzz.certificate import main, random_problem, small_bounds
from fuzz.exact import LONG, Exact
from selfdict import Candidates, Squared, WorkingSet, prove_groups
from selfdict.solvers.block_search import solve_blocks
from selfdict.solvers.search import Search, SearchData


def random_case(rng):
    """Return a problem with a quadratic loss, its arrays as they were given, and its kind."""
    problem, M, options, kind = random_problem(rng)
    while not problem.loss.quadratic:
        problem, M, options, kind = random_problem(rng)
    # residuals of hardly more than rounding errors
    if rng.random() < 0.4:
        problem = problem.changed(
            mu=problem.mu * 10.0 ** rng.uniform(-9, 0),
            smooth=problem.smooth * 10.0 ** rng.uniform(-9, 0),
        )
        kind = (*kind, "cheap")
    if not problem.is_sparse and problem.D is None and rng.random() < 0.2:
        small = Candidates(max(1, problem.n_points // 2)).reduce(problem)
        options = {"w": small.w, "p": small.p, "sample_weight": small.s}
        return small, small.M, options, (*kind, "candidates")
    return problem, M, options, kind


def random_groups(problem, solution, rng):
    """Return disjoint groups of rows, most of them with an open row."""
    d = problem.n_atoms
    order = rng.permutation(d)
    if rng.random() < 0.8:
        order = np.concatenate([solution.support, np.setdiff1d(order, solution.support)])
    edges = np.sort(rng.choice(np.arange(1, d + 1), min(d, int(rng.integers(1, 4))), replace=False))
    return [group for group in np.split(order[: edges[-1]], edges[:-1]) if group.size]


def without(problem, rows):
    """Return a point near the optimum with some rows closed: X and its gates."""
    p = problem.p.copy()
    p[rows] = np.inf
    if np.isinf(p[problem.v > 0]).all():
        return np.zeros((problem.n_atoms, problem.n_points)), np.zeros(problem.n_atoms)
    found = WorkingSet(tol=1e-11, max_seconds=2).solve(problem.changed(p=p))
    return found.toarray(), found.diagonal


def excess(bound, attained):
    """Return by how much a lower bound exceeds what is attained, relative to that."""
    return float((bound - attained) / max(abs(attained), LONG(1e-300)))


def excess_of_scores(exact, solution, scores):
    """Return by how much scores of X exceed those that are kept, relative to what is summed up."""
    if scores is None:
        return -np.inf
    theta = exact.multiplier(solution.toarray())
    above = exact.scores(theta) - scores
    size = np.sqrt((theta**2).sum(axis=0)) @ exact.w
    above = above[exact.v > 0] * exact.v[exact.v > 0]
    return float(above.max(initial=-np.inf) / max(size, LONG(1e-300)))


def excess_of_moved_scores(exact, problem, solution, rng):
    """Return the same for an X outside of Ω that is stored."""
    X = solution.toarray().astype(float)
    X *= 1 + 10.0 ** rng.uniform(-15, -1) * rng.normal(size=X.shape)
    data = SearchData.of(problem)
    search = Search(data, problem.mu, 0.0)
    search.scores = exact.scores(exact.multiplier(X)).astype(float)[data.row_indices]
    support = solution.support
    t = solution.diagonal[support].astype(float)
    stored = data.solution(problem, support, t, X[np.ix_(support, data.column_indices)])
    return excess_of_scores(exact, stored.solution, search.scores_of(stored))


def checked_proof(proof, problem, exact):
    """Yield what a proof claims, each with by how much it exceeds what is attained."""
    d = problem.n_atoms
    points = [(proof.solution.toarray(), proof.solution.diagonal), without(problem, [])]
    reached = exact.objective(*points[0])
    for group, needed in zip(proof.groups, proof.needed, strict=True):
        point = without(problem, group)
        points.append(point)
        if needed > 0:
            yield "needed", excess((1 + LONG(needed)) * reached, exact.objective(*point))
    others = np.setdiff1d(np.arange(d), np.concatenate(proof.groups))
    alone = without(problem, others)
    points.append(alone)
    attained = min(exact.objective(*point) for point in points)
    yield "bound", excess(LONG(proof.solution.dual_bound), attained)
    if np.isfinite(proof.enough):
        suffices = (1 + LONG(proof.enough)) * attained
        yield "enough", excess(exact.dual(alone[0], others), suffices)
    if proof.closed.any():
        closed = np.flatnonzero(proof.closed)
        yield "closed", excess(exact.dual(without(problem, closed)[0], closed), attained)


def excess_of_limit(proof, M):
    """Return by how much the limit exceeds the error of the SVD."""
    if not M.any():
        return float(proof.limit)
    U = np.linalg.svd(M.astype(float))[0][:, : len(proof.groups)].astype(LONG)
    M = M.astype(LONG)
    error = np.sqrt(((M - U @ (U.T @ M)) ** 2).sum() / (M**2).sum())
    return float(proof.limit - error)


def in_blocks(problem, rng):
    """Return the solution of a plain problem in blocks."""
    n = problem.n_points
    return solve_blocks(
        ArrayBlocks(problem.M, int(rng.integers(1, n + 1))),
        2,
        mu=problem.mu,
        smooth=problem.smooth / problem.mu,
        p=lambda n: problem.p,
        tol=10.0 ** rng.uniform(-9, -1),
        sample_size=int(rng.integers(1, n + 1)),
    )


def largest_excess(seed):
    """Return by how much a claim exceeds what is attained, which one, the kind, what was tried."""
    rng = np.random.default_rng(seed)
    problem, M, options, kind = random_case(rng)
    exact = Exact(problem, M, options)
    with small_bounds(seed):
        solution = WorkingSet(tol=10.0 ** rng.uniform(-11, -1), max_seconds=2).solve(problem)
        found = [("scores", excess_of_scores(exact, solution, solution.scores))]
        found.append(("moved scores", excess_of_moved_scores(exact, problem, solution, rng)))
        seconds = rng.choice([0.0, 1e6])  # quick bounds, if a solve takes so long
        known = replace(solution, history={"seconds": np.array([seconds])})
        groups = random_groups(problem, solution, rng)
        proof = prove_groups(known, groups, tol=10.0 ** rng.uniform(-11, -3), max_seconds=60)
        found += checked_proof(proof, problem, exact)
        found.append(("scores", excess_of_scores(exact, proof.solution, proof.solution.scores)))
        root = M if problem.is_sparse else problem.root.M
        found.append(("limit", excess_of_limit(proof, root)))
        is_plain = not options.keys() - {"p"} and isinstance(problem.loss, Squared)
        if is_plain and not problem.is_sparse and problem.w.all() and problem.mu > 0:
            solved = in_blocks(problem, rng)
            best = without(problem, [])
            found.append(("blocks", excess(LONG(solved.dual_bound), exact.objective(*best))))
    by, worst = max(found, key=lambda claim: claim[1])
    return worst, by, kind, [claim for claim, _ in found]


if __name__ == "__main__":
    main(largest_excess, __doc__)
