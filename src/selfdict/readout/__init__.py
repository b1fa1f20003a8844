"""From a solution to selected columns, groups of pixels, their number, and proofs about them."""

from selfdict.readout.groups import Groups, Kind, groups_of_present, open_groups, pure_groups
from selfdict.readout.proof import Proof, prove_groups
from selfdict.readout.rank import RankAdvice
from selfdict.readout.selection import select_indices

__all__ = [
    "Groups",
    "Kind",
    "Proof",
    "RankAdvice",
    "groups_of_present",
    "open_groups",
    "prove_groups",
    "pure_groups",
    "select_indices",
]
