"""What solvers, reductions and estimators must not do in silence."""

import warnings

import numpy as np
import pytest

from selfdict import (
    FGNSR,
    Candidates,
    Compression,
    Conic,
    InputError,
    Problem,
    UnsupportedError,
    WorkingSet,
    lift,
    select_indices,
)
from selfdict.datasets import make_mixtures

M = make_mixtures(10, 60, 3, noise=0.05, random_state=0)[0]
X = M.T


@pytest.mark.parametrize("step", [Candidates(20), Compression(4)])
@pytest.mark.parametrize("options", [{"epsilon": 2.0}, {"mu": 0.1, "target": ("residual", 2.0)}])
def test_solutions_of_the_constrained_model_cannot_be_lifted(step, options):
    solution = Conic().solve(step.reduce(Problem(M, **options)))
    with pytest.raises(UnsupportedError):
        lift(solution)


def test_no_warning_of_a_gap_below_the_tolerance():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FGNSR(3, tol=1e-9).fit(X.astype(np.float32))
    assert all("is below the tolerance" not in str(w.message) for w in caught)


def test_selection_needs_a_solution_lifted_to_its_candidates():
    small = Compression(5).reduce(Candidates(20).reduce(Problem(M, 0.1)))
    solution = WorkingSet().solve(small)
    with pytest.raises(InputError):
        select_indices(solution, 3)
    assert select_indices(lift(solution), 3).max() >= 20


def test_weights_given_after_a_compression_are_kept():
    small = Compression(5).reduce(Problem(M, 0.1))
    p = np.linspace(0.9, 1.1, 60)
    lifted = lift(WorkingSet().solve(small.changed(p=p)))
    np.testing.assert_array_equal(lifted.problem.p, p)
