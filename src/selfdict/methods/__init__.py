"""The methods that select points, FGNSR and those it is compared with, without scikit-learn.

Points are rows, as in the estimators, which add the checks and the abundances of scikit-learn to
these classes. Scenes use these classes directly, because scikit-learn takes as long to import as
xarray.
"""

from selfdict.methods.base import H2NMFMethod, SNPAMethod, SPAMethod, VCAMethod, XRAYMethod
from selfdict.methods.fgnsr import FGNSRMethod as FGNSRMethod

METHODS = {
    "fgnsr": FGNSRMethod,
    "spa": SPAMethod,
    "snpa": SNPAMethod,
    "xray": XRAYMethod,
    "vca": VCAMethod,
    "h2nmf": H2NMFMethod,
}
