"""Smaller problems in place of large ones."""

from selfdict.reductions.compression import Compressed, compress
from selfdict.reductions.denoising import Denoised, denoise

__all__ = ["Compressed", "Denoised", "compress", "denoise"]
