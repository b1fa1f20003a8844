"""The scenes of ``selfdict demo``: a generated one, and the real Indian Pines."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


def demo_scene(real: bool) -> "tuple[xr.DataArray, int, str]":
    """Return a scene, its number of materials, and its title."""
    if real:
        from selfdict.datasets import load_indian_pines

        return load_indian_pines(), 8, "Indian Pines (AVIRIS, 1992)"
    from selfdict.datasets import make_scene

    scene = make_scene(shape=(100, 100), n_endmembers=6, random_state=1).scene
    return scene, 6, "A generated scene"
