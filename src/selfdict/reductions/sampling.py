"""A random sample of the points in place of all, with the extreme ones always in it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from selfdict._validation import Array, as_count, as_generator
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.peers.spa import spa
from selfdict.reductions.columns import ColumnSubset


@dataclass(frozen=True)
class Sampling(ColumnSubset):
    """Solve for a random sample of the points, and for the extreme points, found by SPA.

    Parameters
    ----------
    n_points : int
        The size of the random sample; all points, if there are fewer.
    n_extreme : int
        How many extreme points are kept whatever the sample.
    random_state : int, Generator or None
        Seed of the sample.

    Examples
    --------
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M = make_mixtures(30, 200, 4, noise=0.01, random_state=0)[0]
    >>> problem = selfdict.Problem(M, mu=0.1)
    >>> small = selfdict.Sampling(40, n_extreme=4, random_state=0).reduce(problem)
    >>> 40 <= small.n_points <= 44
    True
    """

    n_points: int
    n_extreme: int = 0
    random_state: Any = None

    def __post_init__(self) -> None:
        as_count(self.n_points, "n_points")
        as_count(self.n_extreme, "n_extreme", minimum=0)

    def reduce(self, problem: Problem) -> Problem:
        """Draw the sample; each of its points stands for as many as there are to one of them."""
        n_points = min(self.n_points, problem.n_points)
        rng = as_generator(self.random_state)
        columns = sample_columns(problem.M, n_points, self.n_extreme, rng)
        stands_for = problem.n_points / columns.size
        return self._restricted(problem, columns, stands_for * problem.s[columns], columns)

    def columns_of(self, link: ReducedFrom) -> Array:
        """Return the sample."""
        columns: Array = link.memory
        return columns


def sample_columns(
    M: Array, n_points: int, n_extreme: int, generator: np.random.Generator
) -> Array:
    """Return the indices of random columns of M (m, n) and of its extreme ones, increasing."""
    n = M.shape[1]
    drawn = generator.choice(n, n_points, replace=False)
    if n_extreme == 0:
        return np.sort(drawn)
    # float64: where only noise is left, SPA must compare many residuals of nearly one size
    extreme = spa(M.astype(np.float64), min(n_extreme, n), allow_fewer=True)
    return np.union1d(extreme, drawn)
