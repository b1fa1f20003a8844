"""Selecting columns: the pure-pixel search algorithms the paper compares with, and the rank."""

from selfdict.select.from_solution import select_indices
from selfdict.select.h2nmf import Clusters, h2nmf
from selfdict.select.spa import spa

__all__ = ["Clusters", "h2nmf", "select_indices", "spa"]
