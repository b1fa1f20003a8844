"""Reductions: a smaller problem in place of a large one, each with the way back."""

from selfdict.reductions.columns import Candidates, Sampling
from selfdict.reductions.compression import Compressed, Compression, compress
from selfdict.reductions.denoising import Denoised, Denoising, denoise
from selfdict.reductions.recipe import Recipe

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
