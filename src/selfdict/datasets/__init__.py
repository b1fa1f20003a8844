"""Generated data: the middle points of the paper, mixtures, and scenes with their ground truth."""

from typing import Any

from selfdict.datasets.midpoints import make_midpoints
from selfdict.datasets.mixtures import make_mixtures

__all__ = ["make_midpoints", "make_mixtures", "make_scene"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: it needs xarray, which is not a dependency of the core.
    if name == "make_scene":
        from selfdict.datasets.scene import make_scene

        return make_scene
    raise AttributeError(f"module 'selfdict.datasets' has no attribute {name!r}")
