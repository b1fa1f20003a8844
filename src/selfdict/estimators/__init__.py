"""Thin scikit-learn classes: validate, call, store. A point is a row here, a column in the core."""

from selfdict.estimators.fgnsr import FGNSR
from selfdict.estimators.peers import H2NMF, SNPA, SPA, VCA, XRAY

__all__ = ["FGNSR", "H2NMF", "SNPA", "SPA", "VCA", "XRAY"]
