"""Thin scikit-learn classes: validate, call, store. A data point is a row here, a column in the core."""

from selfdict.estimators.fgnsr import FGNSR
from selfdict.estimators.peers import SPA

__all__ = ["FGNSR", "SPA"]
