"""Data: the middle points of the paper, mixtures, scenes with their truth, and a real scene."""

from selfdict.datasets.matrices import make_midpoints, make_mixtures
from selfdict.datasets.scene import load_indian_pines, make_scene

__all__ = ["load_indian_pines", "make_midpoints", "make_mixtures", "make_scene"]
