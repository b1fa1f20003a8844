"""Data: the middle points of the paper, mixtures, scenes with their truth, and a real scene."""

from typing import Any

from selfdict.datasets.midpoints import make_midpoints
from selfdict.datasets.mixtures import make_mixtures

__all__ = ["load_indian_pines", "make_midpoints", "make_mixtures", "make_scene"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: it needs xarray, which is not a dependency of the core.
    if name == "make_scene":
        from selfdict.datasets.scene import make_scene

        return make_scene
    if name == "load_indian_pines":
        from selfdict.datasets.indian_pines import load_indian_pines

        return load_indian_pines
    raise AttributeError(f"module 'selfdict.datasets' has no attribute {name!r}")
