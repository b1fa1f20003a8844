"""The feasible set of problems: what is in it, and points drawn from it."""

import numpy as np

from selfdict import Solution, project_omega


def assert_feasible(solution):
    """Assert 0 ≤ v_i X_ij ≤ t_i w_j and t ≤ 1, without any tolerance."""
    problem = solution.problem
    X = solution.toarray().astype(np.longdouble)
    t = solution.diagonal.astype(np.longdouble)
    assert X.shape == (problem.n_atoms, problem.n_points)
    assert (X >= 0).all()
    assert ((t >= 0) & (t <= 1)).all()
    assert (problem.v[:, None] * X <= t[:, None] * problem.w).all()
    assert not t[problem.v == 0].any()
    if problem.D is None:
        np.testing.assert_array_equal(np.diagonal(X), t)


def random_point(problem, rng):
    """Return a feasible point of a problem, to be certified."""
    n, d = problem.n_points, problem.n_atoms
    if problem.D is None:
        X = project_omega(rng.normal(0.2, 0.5, (n, n)), problem.w)
        if rng.random() < 0.3:
            X = np.diag((problem.w > 0) * (1 - 10.0 ** rng.uniform(-12, -1)))
        return Solution.from_matrix(X.astype(problem.M.dtype), problem)
    t = rng.random(d) * (problem.v > 0)
    safe = np.where(problem.v > 0, problem.v, 1.0)
    X = rng.random((d, n)) * t[:, None] * problem.w / safe[:, None]
    return Solution.from_matrix(X, problem, diagonal=t)
