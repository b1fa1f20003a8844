"""Solvers of model (6) and its relatives: objects with ``solve``, and functions of a matrix."""

from selfdict.solvers.base import Solver, capability_table
from selfdict.solvers.conic import Conic, conic
from selfdict.solvers.fast_gradient import FastGradient, fast_gradient
from selfdict.solvers.heuristic import mu_heuristic
from selfdict.solvers.working_set import WorkingSet, working_set

__all__ = [
    "Conic",
    "FastGradient",
    "Solver",
    "WorkingSet",
    "capability_table",
    "conic",
    "fast_gradient",
    "mu_heuristic",
    "working_set",
]
