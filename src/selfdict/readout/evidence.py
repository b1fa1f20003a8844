"""What a choice of columns is judged by: the data behind a solution, whatever it was reduced to."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns
from selfdict.model.objective import problem_of
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution
from selfdict.peers.h2nmf import Clusters
from selfdict.reductions.candidates import Candidates
from selfdict.reductions.columns import ColumnSubset
from selfdict.reductions.compression import compress
from selfdict.reductions.weighting import weighted_columns


@dataclass(frozen=True, eq=False)
class Evidence:
    """A solution with all the data it was found for.

    Attributes
    ----------
    solution : Solution
        Of all points, or of some of them.
    w : ndarray
        The weights of Ω of its problem.
    M : (m, n) ndarray or sparse array
        All points; times the roots of their sample weights, if there are any.
    A : (m, d) ndarray or sparse array
        The columns to choose from: M, or the atoms of a dictionary.
    tied : bool
        Whether A is M.
    points : (k,) ndarray of int
        The columns of A that the rows of the solution belong to.
    clusters : Clusters or None
        The clusters that the solution's points represent.
    """

    solution: Solution
    w: Array
    M: Any
    A: Any
    tied: bool
    points: Array
    clusters: Clusters | None

    @classmethod
    def of(cls, solution: Solution) -> "Evidence":
        """Take the data from the solution's problem, or from the one that was reduced to it."""
        problem = problem_of(solution)
        whole = problem
        points = np.arange(problem.n_atoms)
        clusters = None
        # back to all points; data that was denoised or compressed stays as it is
        while whole.reduced_from is not None and isinstance(whole.reduced_from.step, ColumnSubset):
            link = whole.reduced_from
            step = whole.reduced_from.step
            whole = link.problem
            if problem.D is None:
                points = step.columns_of(link)[points]
            clusters = None
            if isinstance(step, Candidates):
                clusters = _in_units_of_representatives(link.memory, whole)
        _refuse_hidden_subset(whole)
        # a point that counts s times is one that is √s times as long, in every squared error
        M = weighted_columns(whole)
        A = M
        if whole.D is not None:
            A = whole.D.astype(M.dtype, copy=False)
        return cls(solution, problem.w, M, A, whole.D is None, points, clusters)

    def dense(self, q: int) -> "Evidence":
        """Return the same for sparse data, in its q leading directions; dense data stays."""
        if not issparse(self.A):
            return self
        small = compress(self.M, min(q, self.M.shape[0])).data
        return Evidence(self.solution, self.w, small, small, self.tied, self.points, self.clusters)


def groups_of_rows(solution: Solution, groups: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return groups of points as groups of rows of a solution, which may be one of representatives.

    A group without a representative is represented by the one that points in the direction of its
    first point most nearly.
    """
    problem = problem_of(solution)
    points = Evidence.of(solution).points
    if points.size == problem.root.n_atoms:
        return groups
    position = np.full(problem.root.n_atoms, -1)
    position[points] = np.arange(points.size)
    atoms = problem.root.atoms
    directions = dense_columns(atoms, points).astype(np.float64)
    directions /= np.maximum(np.sqrt(squared_norms(directions)), np.finfo(float).tiny)
    found = []
    for group in groups:
        rows = position[group]
        found.append(rows[rows >= 0])
    taken = np.concatenate(found)
    for k, group in enumerate(groups):
        if found[k].size == 0:
            nearness = directions.T @ dense_columns(atoms, group[:1]).astype(np.float64)[:, 0]
            nearness[taken] = -np.inf  # groups must not overlap
            found[k] = np.array([int(np.argmax(nearness))])
            taken = np.append(taken, found[k])
    return tuple(found)


def _refuse_hidden_subset(problem: Problem) -> None:
    """Refuse a subset of the points behind another reduction: its data is not at hand."""
    link = problem.reduced_from
    while link is not None:
        if isinstance(link.step, ColumnSubset):
            raise InputError(
                "the problem was reduced further after columns had been chosen: lift the solution "
                "first"
            )
        link = link.problem.reduced_from


def _in_units_of_representatives(clusters: Clusters, whole: Problem) -> Clusters:
    """Return clusters with sizes for columns that have the roots of their own weights already."""
    if whole.sample_weight is None:
        return clusters
    own = whole.sample_weight[clusters.indices].astype(np.float64)
    return replace(clusters, sizes=clusters.sizes / np.where(own > 0, own, 1.0))
