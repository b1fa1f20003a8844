"""From a solution to selected columns, groups of pixels, their number, and proofs about them."""

from selfdict.readout.groups import Groups as Groups
from selfdict.readout.groups import Kind as Kind
from selfdict.readout.groups import groups_of_present as groups_of_present
from selfdict.readout.groups import open_groups as open_groups
from selfdict.readout.groups import pure_groups as pure_groups
from selfdict.readout.proof import Proof as Proof
from selfdict.readout.proof import prove_groups as prove_groups
from selfdict.readout.rank import RankAdvice as RankAdvice
from selfdict.readout.selection import select_indices as select_indices
