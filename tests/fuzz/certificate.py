"""Bounds against objectives in extended precision: none may exceed what a feasible point attains.

A random problem of any kind (dense, sparse, with a dictionary, other losses, weights, squares of
the gates, float32 and float64) is certified, at a random feasible point or at the end of each
solver. The bound is compared with the objective of feasible points near the optimum, evaluated in
80-bit floating point (:mod:`fuzz.exact`). Points outside of Ω, by 1e-5 to 10 times the limit of an
entry, must be refused.
``python -m fuzz.certificate --problems 10000`` runs it at length.
"""

import argparse
import time
from collections import Counter
from unittest.mock import patch

import numpy as np
from scipy.sparse import csc_array

from feasible import assert_feasible, random_point
from fuzz.exact import LONG, Exact
from selfdict import (
    Candidates,
    Conic,
    FastGradient,
    Huber,
    InputError,
    Problem,
    Solution,
    Squared,
    Weighted,
    WorkingSet,
    certify,
    lift,
)
from selfdict.model import score_bounds


def random_problem(rng):
    """Return a problem, with its arrays as they were given, and a name for its kind."""
    m, n = int(rng.integers(1, 12)), int(rng.integers(1, 14))
    dtype = rng.choice([np.float32, np.float64])
    # with a bright column and the loss beside them, up to the ends of what is accepted
    orders = {np.float32: 6, np.float64: 24}[dtype]
    scale = 10.0 ** rng.uniform(-orders, orders)
    M = rng.random((m, n)) * scale
    shape = rng.choice(["plain", "signed", "flat", "near exact", "bright", "duplicates", "zeros"])
    if shape == "signed":
        M = rng.normal(0.3, 1, (m, n)) * scale
    elif shape in ("flat", "near exact"):
        k = 1 if shape == "flat" else 2
        M = scale * rng.random((m, k)) @ rng.dirichlet([0.5] * k, n).T
        M *= 1 + 10.0 ** rng.uniform(-15, -3) * rng.normal(size=(m, n))
    elif shape == "bright":
        M[:, int(rng.integers(n))] *= 10.0 ** rng.uniform(3, 6)
    elif shape == "duplicates" and n > 1:
        M[:, 1] = M[:, 0] * rng.uniform(0.5, 2)
    elif shape == "zeros":
        M[:, rng.random(n) < 0.3] = 0.0
    M = M.astype(dtype)
    sparse = rng.random() < 0.25
    options = {}
    if sparse:
        M[rng.random((m, n)) < 0.5] = 0.0
    elif rng.random() < 0.3:
        D = rng.random((m, int(rng.integers(1, 10)))) * 10.0 ** rng.uniform(-6, 6)
        options["D"] = D.astype(rng.choice([np.float32, np.float64]))
    if rng.random() < 0.4:
        options["sample_weight"] = 10.0 ** rng.uniform(-4, 4, n) * (rng.random(n) < 0.9)
    if rng.random() < 0.3:
        options["p"] = rng.uniform(0.5, 1.5, options["D"].shape[1] if "D" in options else n)
    if rng.random() < 0.2:
        w = 10.0 ** rng.uniform(-2, 2, n)
        # a problem accepts weights within 30 orders of magnitude of the norms
        if np.abs(M).max() < 1e26:
            options["w"] = w
    loss = Squared()
    if not sparse:
        typical = float(np.abs(M).mean()) or 1.0
        loss = [
            Squared(),
            Squared(),
            Weighted(10.0 ** rng.uniform(-2, 2, m), 10.0 ** rng.uniform(-2, 2, n)),
            Huber(typical * 10.0 ** rng.uniform(-3, 1)),
        ][int(rng.integers(4))]
    energy = loss.total(M.astype(float), np.ones(n)) or 1.0
    mu = energy * 10.0 ** rng.uniform(-9, 1)
    mu *= rng.random() < 0.9
    smooth = 0.0
    if rng.random() < 0.4:
        smooth = energy * 10.0 ** rng.uniform(-9, 1)
    data = csc_array(M) if sparse else M
    kind = ("sparse" if sparse else "D" if "D" in options else "dense", type(loss).__name__)
    if smooth > 0:
        kind = (*kind, "smooth")
    problem = Problem(data, mu, loss=loss, smooth=smooth, **options)
    return problem, M, options, (*kind, np.dtype(dtype).name)


OUTSIDE = ("entry", "row", "negative entry", "negative row", "gate", "negative gate", "closed row")


def outside_of_omega(problem, rng):
    """Yield points that violate Ω, each with a name for how it does."""
    for kind in OUTSIDE:
        feasible = random_point(problem, rng)
        X = feasible.toarray()
        t = feasible.diagonal.copy()
        # one part in 1e5 is ten times what is let pass
        margin = 10.0 ** rng.uniform(-5, 1)
        rows = np.flatnonzero((t > 0) & (problem.v > 0))
        if kind == "closed row":
            rows = np.flatnonzero(problem.v > 0)
        if rows.size == 0:
            continue
        i = int(rng.choice(rows))
        others = np.flatnonzero(problem.w > 0)
        if problem.D is None:
            others = others[others != i]
        if others.size == 0 and "gate" not in kind:
            continue
        if kind in ("entry", "negative entry"):
            others = rng.choice(others, 1)
        limit = t[i] / problem.v[i] * problem.w[others]
        if kind in ("entry", "row"):
            X[i, others] = (1 + margin) * limit
        elif kind in ("negative entry", "negative row"):
            X[i, others] = -margin * limit
        elif kind == "closed row":
            t[i] = 0.0
            X[i] = 0.0
            X[i, rng.choice(others)] = margin * 1e-12
        else:
            t[i] = 1 + margin
            if kind == "negative gate":
                t[i] = -margin
                X[i] = 0.0
        if problem.D is None:
            X[i, i] = t[i]
        yield kind, Solution.from_matrix(X, problem, diagonal=t)


def accepted_outside(problem, rng):
    """Return the kinds of points outside of Ω that were certified, and how many were tried."""
    accepted = []
    n_tried = 0
    for kind, point in outside_of_omega(problem, rng):
        n_tried += 1
        try:
            certify(point)
        except InputError:
            continue
        accepted.append(kind)
    return accepted, n_tried


def solutions(problem, rng):
    """Yield certified solutions of a problem, each with the name of what bounded it."""
    yield "certify", certify(random_point(problem, rng))
    if problem.loss.quadratic:
        solved = WorkingSet(tol=1e-9, max_seconds=2).solve(problem)
        yield "working_set", solved
        yield "certify", certify(solved)
        if not problem.is_sparse and problem.D is None and rng.random() < 0.3:
            small = Candidates(max(1, problem.n_points // 2)).reduce(problem)
            yield "lift", certify(lift(WorkingSet(max_seconds=2).solve(small)))
    if not problem.is_sparse:
        try:
            yield "fast_gradient", FastGradient(tol=1e-6, max_iter=200).solve(problem)
        except InputError:  # the squares of w leave the range of float32
            assert problem.M.dtype == np.float32
    if not problem.is_sparse and problem.loss.quadratic and rng.random() < 0.1:
        try:
            yield "conic", Conic().solve(problem)
        except RuntimeError:  # an interior-point method may fail; it must not claim anything then
            return


def small_bounds(seed):
    """Use bounds on scores for every other seed, as for large problems, half with clusters."""
    sizes = {"COLUMNS_PER_FEATURE": 0}
    if seed % 2:
        sizes["FEWEST_ROWS"] = 1
    if seed % 4 == 1:
        sizes["FEWEST_ROWS_FOR_CLUSTERS"] = 1
    return patch.multiple(score_bounds, **sizes)


def largest_excess(seed):
    """Return by how much a bound exceeds an attained objective, relative to it, and what it was.

    Other failures count as an infinite excess: a point outside of Ω that is certified, a bound that
    is worth little, and an objective that is not attained.
    """
    rng = np.random.default_rng(seed)
    problem, M, options, kind = random_problem(rng)
    with small_bounds(seed):
        found = list(solutions(problem, rng))
    exact = Exact(problem, M, options)
    zero = np.zeros((problem.n_atoms, problem.n_points))
    of_zero = attained = exact.objective(zero, zero[:, 0])
    for _, solution in found:
        attained = min(attained, exact.objective(solution.toarray(), solution.diagonal))
    worst, by = -np.inf, ""
    for name, solution in found:
        excess = float((LONG(solution.dual_bound) - attained) / max(attained, LONG(1e-300)))
        if excess > worst:
            worst, by = excess, name
        assert_feasible(solution)
        own = exact.objective(solution.toarray(), solution.diagonal)
        if own > solution.objective + 1e-12 * max(of_zero, own):
            worst, by = np.inf, f"{name}: an objective that is not attained"
        # a bound that holds may still be worth little: of sparse data near an exact fit it is
        is_plain = name == "certify" and "w" not in options and not problem.is_sparse
        if is_plain and exact.dual(solution.toarray()) > solution.dual_bound + 1e-3 * of_zero:
            worst, by = np.inf, "a weak bound"
    tried = [name for name, _ in found]
    accepted, n_refused = accepted_outside(problem, rng)
    if accepted:
        worst, by = np.inf, f"outside of Omega: {accepted[0]}"
    return worst, by, kind, tried + ["outside of Omega"] * n_refused


def main(largest_excess, description):
    """Run a check of seeds at length, and print counts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts, worst = Counter(), {}
    started = time.perf_counter()
    bad = 0
    for seed in range(arguments.seed, arguments.seed + arguments.problems):
        excess, by, kind, tried = largest_excess(seed)
        counts.update(tried)
        counts[" ".join(kind)] += 1
        worst[by] = max(worst.get(by, -np.inf), excess)
        if excess > 1e-14:
            bad += 1
            print(f"seed {seed}: {by} exceeds by {excess:.2e} ({' '.join(kind)})", flush=True)
        if time.perf_counter() - started > arguments.seconds:
            break
    print(f"{seed - arguments.seed + 1} problems, {bad} with an excess above 1e-14")
    for name, count in sorted(counts.items()):
        print(f"  {name}: {count}")
    for name, excess in sorted(worst.items()):
        print(f"  largest excess, {name}: {excess:.2e}")


if __name__ == "__main__":
    main(largest_excess, __doc__)
