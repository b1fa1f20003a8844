"""The problem itself: Ω and its projection, the objective, its dual bound, and the Solution."""

from selfdict.model.certificate import certify
from selfdict.model.omega import project_omega
from selfdict.model.solution import Callback, Progress, Solution, Status

__all__ = ["Callback", "Progress", "Solution", "Status", "certify", "project_omega"]
