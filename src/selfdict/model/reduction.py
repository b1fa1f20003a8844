"""The base class of reductions, which replace a problem by a smaller one, and ``lift``."""

from abc import ABC, abstractmethod

from selfdict._errors import InputError, UnsupportedError
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.model.solution import Solution


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
