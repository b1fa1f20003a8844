"""What a solution says: which columns, which bundles of them, how many, what is guaranteed."""

from selfdict.readout.bundles import Bundles, bundles
from selfdict.readout.groups import Groups, groups_of_present, pure_groups
from selfdict.readout.guarantee import Guarantee, robustness_report
from selfdict.readout.proof import Proof, prove_groups
from selfdict.readout.rank import ErrorCurve, elbow, error_curve, hysime, suggest_rank
from selfdict.readout.selection import select_indices

__all__ = [
    "Bundles",
    "ErrorCurve",
    "Groups",
    "Guarantee",
    "Proof",
    "bundles",
    "elbow",
    "error_curve",
    "groups_of_present",
    "hysime",
    "prove_groups",
    "pure_groups",
    "robustness_report",
    "select_indices",
    "suggest_rank",
]
