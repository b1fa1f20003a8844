"""Selecting columns: the pure-pixel search algorithms the paper compares with, and the rank."""

from selfdict.select.spa import spa

__all__ = ["spa"]
