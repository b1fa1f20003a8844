"""Reductions: they replace a problem by a smaller one, and map its solution back."""

from selfdict.reductions.steps import Candidates as Candidates
from selfdict.reductions.steps import Denoising as Denoising
