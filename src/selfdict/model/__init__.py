"""The problem itself: Ω and its projection, the objective, its dual bound, the Solution, and the robustness κ."""

from selfdict.model.certificate import certify
from selfdict.model.losses import Huber, Loss, PseudoHuber, Squared, Weighted
from selfdict.model.omega import project_omega
from selfdict.model.robustness import conical_robustness
from selfdict.model.solution import Callback, Progress, Solution, Status

__all__ = [
    "Callback",
    "Huber",
    "Loss",
    "Progress",
    "PseudoHuber",
    "Solution",
    "Squared",
    "Status",
    "Weighted",
    "certify",
    "conical_robustness",
    "project_omega",
]
