"""Data that the project generates: middle points of the paper, and hyperspectral scenes with their truth."""

from typing import Any

from selfdict.datasets.midpoints import make_midpoints
from selfdict.datasets.mixtures import make_mixtures

__all__ = ["make_midpoints", "make_mixtures", "make_scene"]


def __getattr__(name: str) -> Any:
    if name == "make_scene":  # needs xarray, which the core does not
        from selfdict.datasets.scene import make_scene

        return make_scene
    raise AttributeError(f"module 'selfdict.datasets' has no attribute {name!r}")
