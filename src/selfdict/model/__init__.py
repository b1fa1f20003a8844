"""The model: problem, losses, the set Ω, the solution, and its dual bound."""

from selfdict.model.certificate import certify
from selfdict.model.losses import Huber, Loss, Squared, Weighted
from selfdict.model.omega import project_omega
from selfdict.model.problem import Problem
from selfdict.model.solution import Callback, Progress, Reduction, Solution, Status, lift

__all__ = [
    "Callback",
    "Huber",
    "Loss",
    "Problem",
    "Progress",
    "Reduction",
    "Solution",
    "Squared",
    "Status",
    "Weighted",
    "certify",
    "lift",
    "project_omega",
]
