"""Abundances of endmembers: nonnegative and fully constrained least squares, and shares."""

from selfdict.abundances.illumination import Illumination
from selfdict.abundances.least_squares import column_residuals, fcls, nnls
from selfdict.abundances.shares import shares, unit_shares
from selfdict.abundances.uncertainty import Variability, standard_errors

__all__ = [
    "Illumination",
    "Variability",
    "column_residuals",
    "fcls",
    "nnls",
    "shares",
    "standard_errors",
    "unit_shares",
]
