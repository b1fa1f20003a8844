"""Solvers of model (6) and its relatives; each returns a :class:`~selfdict.Solution`."""

from selfdict.solvers.conic import conic
from selfdict.solvers.fast_gradient import fast_gradient
from selfdict.solvers.penalty import mu_heuristic

__all__ = ["conic", "fast_gradient", "mu_heuristic"]
