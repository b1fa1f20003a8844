"""Solvers of model (6) and its variants: objects with ``solve``, and functions of a matrix."""

from selfdict.solvers.base import Feature, Solver
from selfdict.solvers.conic import Conic, conic
from selfdict.solvers.fast_gradient import FastGradient, fast_gradient
from selfdict.solvers.heuristic import mu_heuristic
from selfdict.solvers.working_set import WorkingSet, working_set

__all__ = [
    "Conic",
    "FastGradient",
    "Feature",
    "Solver",
    "WorkingSet",
    "conic",
    "fast_gradient",
    "mu_heuristic",
    "working_set",
]
