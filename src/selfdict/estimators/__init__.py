"""scikit-learn estimators, in which points are rows, and the components are some of them."""

from selfdict.estimators.classes import FGNSR as FGNSR
from selfdict.estimators.classes import H2NMF as H2NMF
from selfdict.estimators.classes import SNPA as SNPA
from selfdict.estimators.classes import SPA as SPA
from selfdict.estimators.classes import VCA as VCA
from selfdict.estimators.classes import XRAY as XRAY
