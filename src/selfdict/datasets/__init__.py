"""Data: the middle points of the paper, mixtures, scenes with their truth, and a real scene."""

from selfdict.datasets.indian_pines import load_indian_pines
from selfdict.datasets.midpoints import make_midpoints
from selfdict.datasets.mixtures import make_mixtures
from selfdict.datasets.scene import make_scene

__all__ = ["load_indian_pines", "make_midpoints", "make_mixtures", "make_scene"]
