"""The column selection algorithms that the paper compares with."""

from selfdict.peers.h2nmf import Clusters, h2nmf
from selfdict.peers.spa import snpa, spa
from selfdict.peers.vca import vca
from selfdict.peers.xray import xray

__all__ = ["Clusters", "h2nmf", "snpa", "spa", "vca", "xray"]
