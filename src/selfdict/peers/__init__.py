"""The column selection algorithms that the paper compares with."""

from selfdict.peers.h2nmf import Clusters as Clusters
from selfdict.peers.h2nmf import h2nmf as h2nmf
from selfdict.peers.successive import snpa as snpa
from selfdict.peers.successive import spa as spa
from selfdict.peers.successive import xray as xray
from selfdict.peers.vca import vca as vca
