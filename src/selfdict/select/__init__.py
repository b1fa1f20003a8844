"""Selecting columns: the pure-pixel search algorithms the paper compares with, and the rank."""

from selfdict.select.bundles import Bundles, bundles
from selfdict.select.from_solution import select_indices
from selfdict.select.guarantee import Guarantee, robustness_report
from selfdict.select.h2nmf import Clusters, h2nmf
from selfdict.select.rank import ErrorCurve, elbow, error_curve, hysime, suggest_rank
from selfdict.select.snpa import snpa
from selfdict.select.spa import spa
from selfdict.select.vca import vca
from selfdict.select.xray import xray

__all__ = [
    "Bundles",
    "Clusters",
    "ErrorCurve",
    "Guarantee",
    "bundles",
    "elbow",
    "error_curve",
    "h2nmf",
    "hysime",
    "robustness_report",
    "select_indices",
    "snpa",
    "spa",
    "suggest_rank",
    "vca",
    "xray",
]
