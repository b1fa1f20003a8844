"""When a descent looks at which rows, and how it ends."""

import itertools

import pytest

from selfdict import Status, mu_heuristic, working_set
from selfdict.datasets import make_mixtures
from selfdict.solvers.descent import Descent, StallRule


def scene(n):
    M = make_mixtures(30, n, 4, noise=0.02, random_state=0)[0]
    return M, mu_heuristic(M, 4)


@pytest.fixture
def stalls_at_once(monkeypatch):
    monkeypatch.setattr(StallRule, "holds", property(lambda self: True))


@pytest.mark.usefixtures("stalls_at_once")
def test_stalled_search_has_a_bound():
    M, mu = scene(300)
    solution = working_set(M, mu, tol=1e-9)
    assert solution.status is Status.STALLED
    assert 1e-9 < solution.gap < 1


@pytest.mark.usefixtures("stalls_at_once")
def test_stalled_search_within_the_tolerance_has_converged():
    M, mu = scene(300)
    reached = working_set(M, mu, tol=1e-9)
    solution = working_set(M, mu, tol=1.01 * reached.gap)
    assert solution.status is Status.CONVERGED
    assert solution.gap == pytest.approx(reached.gap)


def test_all_rows_are_screened_at_once_near_the_end(monkeypatch):
    M, mu = scene(3000)
    looks = []
    screen = Descent.screen

    def watched(self, view, rows, is_rough):
        screened = screen(self, view, rows, is_rough)
        if self.on_all_columns:
            looks.append((screened.rows is None, self.is_near_end))
        return screened

    monkeypatch.setattr(Descent, "screen", watched)
    solution = working_set(M, mu, tol=1e-4)
    assert solution.gap <= 1e-4
    assert (False, True) in looks
    for (_, is_near_end), (covers_all_rows, _) in itertools.pairwise(looks):
        assert covers_all_rows == is_near_end
