"""Abundances of endmembers: nonnegative and fully constrained least squares, and shares."""

from selfdict.abundances.fcls import fcls
from selfdict.abundances.nnls import nnls
from selfdict.abundances.residual import column_residuals
from selfdict.abundances.shares import shares
from selfdict.abundances.uncertainty import Variability, standard_errors

__all__ = ["Variability", "column_residuals", "fcls", "nnls", "shares", "standard_errors"]
