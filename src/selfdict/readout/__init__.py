"""What a solution says: which columns, which bundles of them, how many, what is guaranteed."""

from selfdict.readout.bundles import Bundles, bundles
from selfdict.readout.guarantee import Guarantee, robustness_report
from selfdict.readout.rank import ErrorCurve, elbow, error_curve, hysime, suggest_rank
from selfdict.readout.selection import select_indices

__all__ = [
    "Bundles",
    "ErrorCurve",
    "Guarantee",
    "bundles",
    "elbow",
    "error_curve",
    "hysime",
    "robustness_report",
    "select_indices",
    "suggest_rank",
]
