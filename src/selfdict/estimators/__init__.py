"""scikit-learn estimators, in which points are rows, and the components are some of them."""

from selfdict.estimators.classes import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY

__all__ = ["FGNSR", "H2NMF", "SNPA", "SPA", "VCA", "XRAY"]
