"""Reductions: they replace a problem by a smaller one, and map its solution back."""

from selfdict.reductions.steps import Candidates, Denoising

__all__ = ["Candidates", "Denoising"]
