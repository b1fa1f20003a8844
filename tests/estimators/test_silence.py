"""What solvers, reductions and estimators must not do in silence."""

import warnings

import numpy as np
import pytest

from selfdict import (
    FGNSR,
    Candidates,
    Conic,
    Problem,
    UnsupportedError,
    lift,
)
from selfdict.datasets import make_mixtures

M = make_mixtures(10, 60, 3, noise=0.05, random_state=0)[0]
X = M.T


@pytest.mark.parametrize("options", [{"epsilon": 2.0}, {"mu": 0.1, "target": ("residual", 2.0)}])
def test_solutions_of_the_constrained_model_cannot_be_lifted(options):
    solution = Conic().solve(Candidates(20).reduce(Problem(M, **options)))
    with pytest.raises(UnsupportedError):
        lift(solution)


def test_no_warning_of_a_gap_below_the_tolerance():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FGNSR(3, tol=1e-9).fit(X.astype(np.float32))
    assert all("is below the tolerance" not in str(w.message) for w in caught)
