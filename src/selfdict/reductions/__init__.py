"""Reductions: a smaller problem in place of a large one, each with the way back."""

from selfdict.reductions.candidates import Candidates
from selfdict.reductions.compression import Compressed, Compression, compress
from selfdict.reductions.denoising import Denoised, Denoising, denoise
from selfdict.reductions.recipe import Recipe
from selfdict.reductions.sampling import Sampling

__all__ = [
    "Candidates",
    "Compressed",
    "Compression",
    "Denoised",
    "Denoising",
    "Recipe",
    "Sampling",
    "compress",
    "denoise",
]
