"""Solvers of model (6) and its variants: objects with ``solve``, and functions of a matrix."""

from selfdict.solvers.base import Feature as Feature
from selfdict.solvers.base import Solver as Solver
from selfdict.solvers.conic import Conic as Conic
from selfdict.solvers.conic import conic as conic
from selfdict.solvers.fast_gradient import FastGradient as FastGradient
from selfdict.solvers.fast_gradient import fast_gradient as fast_gradient
from selfdict.solvers.heuristic import mu_heuristic as mu_heuristic
from selfdict.solvers.working_set import WorkingSet as WorkingSet
from selfdict.solvers.working_set import working_set as working_set
