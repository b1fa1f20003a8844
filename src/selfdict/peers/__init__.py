"""The column selection algorithms that the paper compares with."""

from selfdict.peers.h2nmf import Clusters, h2nmf
from selfdict.peers.successive import snpa, spa, xray
from selfdict.peers.vca import vca

__all__ = ["Clusters", "h2nmf", "snpa", "spa", "vca", "xray"]
