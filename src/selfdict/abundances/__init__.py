"""Abundances of endmembers by nonnegative and by fully constrained least squares."""

from selfdict.abundances.fcls import fcls
from selfdict.abundances.nnls import nnls
from selfdict.abundances.residual import column_residuals

__all__ = ["column_residuals", "fcls", "nnls"]
