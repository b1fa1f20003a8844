"""The settings of solvers are checked when they are made, and kept."""

from dataclasses import replace

import numpy as np
import pytest

from selfdict import (
    Conic,
    FastGradient,
    InputError,
    Problem,
    WorkingSet,
    conic,
    fast_gradient,
    working_set,
)
from selfdict.datasets import make_mixtures


@pytest.fixture(scope="module")
def problem():
    return Problem(make_mixtures(6, 20, 3, noise=0.05, random_state=0)[0], 0.1)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (lambda: WorkingSet(tol=-1), InputError),
        (lambda: WorkingSet(tol=np.nan), InputError),
        (lambda: WorkingSet(tol="small"), TypeError),
        (lambda: WorkingSet(max_seconds=-1), InputError),
        (lambda: FastGradient(tol=-1), InputError),
        (lambda: FastGradient(max_iter=-1), InputError),
        (lambda: FastGradient(max_iter=1.5), TypeError),
        (lambda: FastGradient(max_seconds=-1), InputError),
        (lambda: FastGradient(target_every=0), InputError),
        (lambda: replace(WorkingSet(), tol=-1), InputError),
    ],
)
def test_invalid_settings_are_refused(settings, error):
    with pytest.raises(error):
        settings()


def test_unknown_devices_are_refused(problem):
    with pytest.raises(InputError):
        WorkingSet(device="tpu").solve(problem)


def test_functions_are_the_solvers_with_a_problem_of_the_same_arguments(problem):
    s = np.linspace(0.5, 2.0, 20)
    weighted = Problem(problem.M, 0.1, sample_weight=s, random_state=0)
    for one, other in [
        (
            working_set(problem.M, 0.1, sample_weight=s, random_state=0, tol=1e-6),
            WorkingSet(tol=1e-6).solve(weighted),
        ),
        (
            fast_gradient(problem.M, 0.1, sample_weight=s, random_state=0, max_iter=50, tol=0),
            FastGradient(max_iter=50, tol=0).solve(weighted),
        ),
        (conic(problem.M, mu=0.1, sample_weight=s, random_state=0), Conic().solve(weighted)),
    ]:
        np.testing.assert_array_equal(one.coef, other.coef)
        assert one.objective == other.objective
        assert one.dual_bound == other.dual_bound
