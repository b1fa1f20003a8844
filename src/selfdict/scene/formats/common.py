"""What several formats need when they write."""

from pathlib import Path

import numpy as np
import xarray as xr

from selfdict.scene.errors import SceneError


def fill_masked(scene: xr.DataArray, path: Path) -> xr.DataArray:
    """Return the scene with the pixels its ``valid`` coordinate excludes set to no-data (default NaN)."""
    if "valid" not in scene.coords:
        return scene
    valid = scene["valid"].astype(bool)
    scene = scene.drop_vars("valid")
    if bool(valid.all()):
        return scene
    fill = scene.attrs.get("_FillValue")
    if fill is None:
        if scene.dtype.kind != "f":
            raise SceneError(
                path, f"masked pixels of {scene.dtype} need a no-data value: set scene.attrs['_FillValue']"
            )
        fill = np.nan
    if scene.chunks is None:
        scene = scene.chunk({"y": "auto"})
    return scene.where(valid.drop_vars(valid.coords), np.asarray(fill).astype(scene.dtype))
