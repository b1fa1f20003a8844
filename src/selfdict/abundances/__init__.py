"""Abundances of endmembers: nonnegative and fully constrained least squares, and shares."""

from selfdict.abundances.illumination import Illumination as Illumination
from selfdict.abundances.least_squares import column_residuals as column_residuals
from selfdict.abundances.least_squares import fcls as fcls
from selfdict.abundances.least_squares import nnls as nnls
from selfdict.abundances.shares import shares as shares
from selfdict.abundances.shares import unit_shares as unit_shares
from selfdict.abundances.uncertainty import Variability as Variability
from selfdict.abundances.uncertainty import standard_errors as standard_errors
