"""Spectral libraries: spectra with names, and their values at the bands of a scene."""

from selfdict.scene.libraries.model import build_library
from selfdict.scene.libraries.read import read_library
from selfdict.scene.resampling import ResampledLibrary, match_wavelengths, resample_library

__all__ = [
    "ResampledLibrary",
    "build_library",
    "match_wavelengths",
    "read_library",
    "resample_library",
]
