"""Solvers of model (6) and its relatives; each returns a :class:`~selfdict.Solution`."""

from selfdict.solvers.conic import conic
from selfdict.solvers.fast_gradient import fast_gradient
from selfdict.solvers.penalty import mu_heuristic
from selfdict.solvers.working_set import working_set

__all__ = ["conic", "fast_gradient", "mu_heuristic", "working_set"]
