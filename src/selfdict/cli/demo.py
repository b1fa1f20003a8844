"""The scenes of ``selfdict demo``: a generated one, and the real Indian Pines."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr


def demo_scene(real: bool) -> "tuple[xr.DataArray, int, str]":
    """Return a scene, its number of materials, and its title."""
    if real:
        return _indian_pines(), 8, "Indian Pines (AVIRIS, 1992)"
    from selfdict.datasets import make_scene

    scene = make_scene(shape=(100, 100), n_endmembers=6, random_state=1).scene
    return scene, 6, "A generated scene"


def _indian_pines() -> "xr.DataArray":
    """Read the cube in tensorly's wheel.

    It has 145 × 145 pixels and 200 bands; the water absorption bands are removed.
    """
    from selfdict.scene import build_scene

    # Found without importing tensorly, which takes seconds and is not needed.
    spec = find_spec("tensorly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "the Indian Pines scene comes with tensorly: pip install tensorly"
        )
    path = Path(spec.origin).parent / "datasets" / "data" / "Indian_pines_corrected.npy"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: this version of tensorly carries no Indian Pines scene")
    values = np.load(path, allow_pickle=False)
    # The providers multiplied the radiance by 500 and added 1000.
    radiance = (values.transpose(2, 0, 1).astype(np.float32) - 1000) / 500
    return build_scene(radiance, name="radiance")
