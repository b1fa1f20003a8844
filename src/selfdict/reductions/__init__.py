"""Reductions: a smaller problem in place of a large one, each with the way back."""

from selfdict.reductions.columns import Candidates
from selfdict.reductions.denoising import Denoising

__all__ = ["Candidates", "Denoising"]
