"""Reductions: a smaller problem in place of a large one, each with the way back."""

from selfdict.reductions.steps import Candidates, Denoising

__all__ = ["Candidates", "Denoising"]
