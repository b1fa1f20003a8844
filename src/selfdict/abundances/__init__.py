"""Abundances of endmembers: nonnegative and fully constrained least squares, and shares."""

from selfdict.abundances.blocks import column_residuals
from selfdict.abundances.fcls import fcls, soft_sum
from selfdict.abundances.illumination import Illumination
from selfdict.abundances.nnls import nnls
from selfdict.abundances.shares import shares, unit_shares
from selfdict.abundances.uncertainty import Variability, standard_errors

__all__ = [
    "Illumination",
    "Variability",
    "column_residuals",
    "fcls",
    "nnls",
    "shares",
    "soft_sum",
    "standard_errors",
    "unit_shares",
]
