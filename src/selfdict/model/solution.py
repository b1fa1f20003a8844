"""What a solver returns and reports, and reductions, which map solutions back."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from selfdict._display import line, number, table
from selfdict._errors import InputError, UnsupportedError
from selfdict._validation import Array
from selfdict.model.problem import Problem, ReducedFrom


class Status(Enum):
    """How a solver ended; the value is a readable sentence."""

    CONVERGED = "The certified gap is below the tolerance."
    STALLED = (
        "The objective hardly falls any more in this floating-point precision; the gap says how "
        "close it is: raise tol, or pass data in double precision."
    )
    MAX_ITER = (
        "The tolerance or the target was not met: raise max_iter, or choose a target within reach."
    )
    TARGET_MISSED = "No penalty meets the target: choose a target within reach."
    MAX_SECONDS = (
        "The time limit was reached; this is the best point found, with its true gap: raise "
        "max_seconds or tol."
    )
    INTERRUPTED = (
        "Interrupted by the user; this is the best point found, with its true gap: run it again "
        "for a smaller one."
    )
    STOPPED_BY_CALLBACK = (
        "The callback asked to stop; this is the best point found: let the callback go on for a "
        "smaller gap."
    )
    EXACT = "Solved by an interior-point method to its own accuracy."
    GIVEN = "A given matrix, not the result of a solver."

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Progress:
    """An immutable snapshot of a running solver, passed to its callback.

    The solver stops if the callback returns a true value.

    Attributes
    ----------
    iteration : int
        Steps taken so far; 0 while a sample of the columns is solved.
    objective, gap : float
        Of the current point; the gap is inf until a bound is proven.
    seconds : float
        Since the start.
    mu, residual, trace : float
        The penalty, ‖M − MX‖_F and the trace of X (the sum of the gates).
    n_active : int
        Rows of X that are not zero.
    """

    iteration: int
    objective: float
    gap: float
    seconds: float
    mu: float
    residual: float
    trace: float
    n_active: int


Callback = Callable[[Progress], Any]


def relative_gap(objective: float, bound: float) -> float:
    """Return (objective − bound) / objective; 0 for an objective of 0.

    A bound above the objective raises ``ArithmeticError``: one of the two must be wrong.
    """
    if np.isneginf(bound) or np.isnan(bound) or not np.isfinite(objective):
        return np.inf  # nothing is proven yet
    bound = consistent_bound(bound, objective, 0.0)
    # objectives are sums of nonnegative terms: 0 is optimal
    if not objective > 0:
        return 0.0
    return (objective - bound) / objective


def consistent_bound(bound: float, objective: float, rounding: float) -> float:
    """Return a bound that is not above the objective as computed.

    Rounding may have lowered the objective by at most ``rounding``. A bound within that is lowered
    to the objective, which leaves it a bound; one above contradicts the objective, and
    ``ArithmeticError`` is raised.
    """
    if bound > objective + rounding:
        raise ArithmeticError(
            f"the dual bound {bound:.17g} is above the objective {objective:.17g}: X is not "
            "feasible, or the numbers leave the range of floating point"
        )
    return min(bound, objective)


@dataclass(frozen=True, eq=False)
class Solution:
    """A feasible X of a :class:`Problem`, stored by its non-zero rows, with its certificate.

    With a dictionary D of d atoms X is d×n, with one row per atom, and each atom has a gate instead
    of X_ii.

    Attributes
    ----------
    support : (k,) ndarray of int
        Indices of the rows of X that are not zero, increasing; with a dictionary, the atoms whose
        gates are open.
    coef : (k, n) ndarray
        These rows: ``X[support]``.
    diagonal : (n,) or (d,) ndarray
        The diagonal of X; with a dictionary, the gates t.
    problem : Problem
        What X solves, at the final penalty μ.
    objective : float
        The objective of the problem: ½ Σ_j s_j ‖m_j − M x_j‖² + μ pᵀ diag(X), or with another loss
        in place of the square; for model (4), pᵀ diag(X).
    dual_bound : float
        A proven lower bound on the optimal objective; −inf before :func:`certify`.
    n_iter : int
        Iterations taken.
    status : Status
        How the solver ended.
    history : mapping of str to ndarray
        Equally long arrays; ``history["objective"][0]`` is the start, ``[k]`` the value after
        iteration k.
    scores : (n,) or (d,) ndarray, optional
        Upper bounds on the scores of the rows at the residual of X, if the solver knows them;
        infinite where it does not.
    """

    support: Array
    coef: Array
    diagonal: Array
    problem: Problem
    objective: float = np.nan
    dual_bound: float = -np.inf
    n_iter: int = 0
    status: Status = Status.GIVEN
    history: Mapping[str, Array] = field(default_factory=dict)
    scores: Array | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """(objective − dual_bound) / objective; inf before :func:`certify`.

        Raises ``ArithmeticError`` if the bound is above the objective, which is a contradiction.
        """
        return relative_gap(self.objective, self.dual_bound)

    @property
    def mu(self) -> float:
        """The penalty μ at the end (a target changes it); nan for model (4)."""
        if self.problem.mu is None:
            return np.nan
        return self.problem.mu

    @property
    def weights(self) -> Array:
        """The weights w of Ω, one per column."""
        return self.problem.w

    def _facts(self) -> dict[str, str]:
        """What there is to say about the solution in a few words."""
        gap = "not certified"
        if np.isfinite(self.gap):
            gap = f"{100 * self.gap:.3g} %"
        facts = {
            "open rows": f"{self.support.size:,} of {self.diagonal.size:,}",
            "columns": f"{self.coef.shape[1]:,}",
            "objective": number(self.objective),
            "certified gap": gap,
            "status": self.status.name.lower(),
        }
        if np.isfinite(self.mu):
            facts["mu"] = number(self.mu)
        return facts

    def __repr__(self) -> str:
        return line("Solution", self._facts())

    def _repr_html_(self) -> str:
        return table("Solution", self._facts() | {"status": str(self.status)})

    @classmethod
    def from_matrix(
        cls,
        X: ArrayLike,
        problem: Problem,
        *,
        diagonal: ArrayLike | None = None,
        status: Status = Status.GIVEN,
    ) -> Self:
        """Store a whole matrix by its non-zero rows.

        Parameters
        ----------
        X : (n, n) or (d, n) array_like
            Any feasible matrix.
        problem : Problem
            What it is a solution of.
        diagonal : (d,) array_like, optional
            The gates, needed with a dictionary of d atoms.
        status : Status
            How it came about.

        Examples
        --------
        >>> import selfdict
        >>> problem = selfdict.Problem([[1.0, 0.4], [0.0, 0.1]], mu=0.1)
        >>> selfdict.Solution.from_matrix([[1.0, 0.4], [0.0, 0.0]], problem).support
        array([0])
        """
        X = np.asarray(X)
        if X.ndim != 2 or (diagonal is None and X.shape[0] != X.shape[1]):
            raise InputError(
                f"X must be square unless its gates are given as diagonal, got shape {X.shape}"
            )
        gates = np.diagonal(X).copy()
        if diagonal is not None:
            gates = np.asarray(diagonal)
        if gates.shape != X.shape[:1]:
            raise InputError(
                f"diagonal must have {len(X)} entries, one gate per row; got shape {gates.shape}"
            )
        # an open gate costs something even if no column uses its atom
        support = np.flatnonzero(X.any(axis=1) | (gates > 0))
        point = cls(
            support=support, coef=X[support], diagonal=gates, problem=problem, status=status
        )
        return point.for_problem(problem)

    def for_problem(self, problem: Problem) -> Self:
        """Return the same X as a solution of another problem, with unknown objective and bound.

        Parameters
        ----------
        problem : Problem
            One with as many points and atoms.

        Returns
        -------
        Solution
        """
        if self.diagonal.shape != (problem.n_atoms,):
            there = f"M has {problem.n_atoms}"
            if problem.D is not None:
                there = f"D has {problem.n_atoms} atoms"
            raise InputError(f"the solution is for {self.diagonal.shape[0]} points, but {there}")
        if self.coef.shape[1:] != (problem.n_points,):
            raise InputError(
                f"the rows of the solution have shape {self.coef.shape[1:]}, "
                f"but M has {problem.n_points} points"
            )
        # these belonged to another problem
        return replace(self, problem=problem, objective=np.nan, dual_bound=-np.inf, scores=None)

    def toarray(self) -> Array:
        """Return X as a dense matrix, n×n or d×n (for small n)."""
        X = np.zeros((self.diagonal.shape[0], self.coef.shape[1]), dtype=self.coef.dtype)
        X[self.support] = self.coef
        return X


def as_history(records: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    """Return the values that were recorded after each iteration as arrays by their names."""
    return {name: np.array([record[name] for record in records]) for name in records[0]}


def problem_of(solution: Solution) -> Problem:
    """Return the problem of a solution; anything else is no solution."""
    if not isinstance(solution, Solution):
        raise TypeError(f"expected a Solution, got {type(solution).__name__}")
    return solution.problem


class Reduction(ABC):
    """A step that replaces a problem by a smaller one.

    A subclass is a frozen dataclass with its settings. Its :meth:`reduce` returns a problem whose
    ``reduced_from`` names the problem that was reduced, the step itself, and what :meth:`lift`
    needs. Steps can be chained, and :func:`lift` undoes them all.
    """

    @abstractmethod
    def reduce(self, problem: Problem) -> Problem:
        """Return the smaller problem, with a link to the one that was reduced."""

    @abstractmethod
    def lift(self, solution: Solution) -> Solution:
        """Return the solution of a reduced problem as a solution of the original problem.

        Its objective is that of the original problem. Its bound is valid for the original problem
        if the reduction proves one, and −∞ otherwise until :func:`certify` is called.
        """

    def _reduced_from(self, solution: Solution) -> ReducedFrom:
        """Return where a solution's problem comes from: a reduction of this class."""
        link = solution.problem.reduced_from
        if link is None:
            raise InputError("the solution does not belong to a reduced problem")
        if type(link.step) is not type(self):
            raise InputError(f"the problem was reduced by {link.step!r}, not by {self!r}")
        if solution.problem.epsilon is not None:
            # a residual within ε on the reduced data need not be within ε on all of it
            raise UnsupportedError("a solution of model (4), with epsilon, cannot be lifted")
        return link


def lift(solution: Solution) -> Solution:
    """Return the solution of a reduced problem as a solution of the problem before all reductions.

    Parameters
    ----------
    solution : Solution
        Of a reduced problem; a solution of any other problem is returned unchanged.

    Returns
    -------
    Solution
        Feasible for the first problem, with its objective there. :func:`certify` bounds its gap.

    Examples
    --------
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M = make_mixtures(30, 200, 4, noise=0.01, random_state=0)[0]
    >>> problem = selfdict.Problem(M, selfdict.mu_heuristic(M, 4))
    >>> small = selfdict.Candidates(50).reduce(problem)
    >>> solution = selfdict.lift(selfdict.WorkingSet().solve(small))
    >>> small.n_points, solution.problem.n_points
    (50, 200)
    >>> bool(0 < selfdict.certify(solution).gap < 1)
    True
    """
    while solution.problem.reduced_from is not None:
        solution = solution.problem.reduced_from.step.lift(solution)
    return solution
