"""Reductions whose way back keeps the gates and fits every column anew."""

from abc import abstractmethod
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.model.reduction import Reduction
from selfdict.model.solution import Solution
from selfdict.solvers.search_data import fit_within_gates


class GateReduction(Reduction):
    """A reduction after which each open row of X belongs to one row of the larger X."""

    @abstractmethod
    def _rows(self, link: ReducedFrom) -> Array:
        """Return, for each row of the reduced X, its index in the larger one."""

    def lift(self, solution: Solution) -> Solution:
        """Return the X of the larger problem with the same gates; all columns are fitted anew."""
        link = self._reduced_from(solution)
        rows = self._rows(link)
        origin = link.problem
        # the solution's own weights p where it has rows; others are closed, whatever they cost
        p = origin.p.copy()
        p[rows] = solution.problem.p
        origin = origin.with_mu(solution.mu).changed(p=p)
        return fit_within_gates(origin, rows[solution.support], solution.diagonal[solution.support])


class ColumnSubset(GateReduction):
    """A reduction to some of the columns, each of which stands for others."""

    def _rows(self, link: ReducedFrom) -> Array:
        if link.problem.D is not None:
            return np.arange(link.problem.n_atoms)
        return self.columns_of(link)

    @abstractmethod
    def columns_of(self, link: ReducedFrom) -> Array:
        """Return the indices of the columns that were kept."""

    def _restricted(
        self, problem: Problem, columns: Array, weight: Array, memory: Any, w: Array | None = None
    ) -> Problem:
        """Return the problem for some columns.

        Parameters
        ----------
        problem : Problem
        columns : (k,) ndarray of int
        weight : (k,) ndarray
            What each column counts in the residual.
        memory : object
            What the way back needs.
        w : (k,) ndarray, optional
            Weights of Ω; by default those of the columns.
        """
        if w is None:
            w = problem.w[columns]
        changes: dict[str, Any] = {
            "M": problem.M[:, columns],
            "w": w,
            "sample_weight": weight,
            "loss": problem.loss.take(columns),
            "reduced_from": ReducedFrom(problem, self, memory),
        }
        if problem.D is None:  # the columns are the atoms as well
            changes["v"] = changes["w"]
            changes["p"] = problem.p[columns]
        return problem.changed(**changes)
