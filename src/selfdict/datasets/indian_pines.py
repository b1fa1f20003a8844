"""The real Indian Pines scene, as the package tensorly carries it."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from selfdict._optional import optional

if TYPE_CHECKING:
    import xarray as xr


def load_indian_pines() -> "xr.DataArray":
    """Return the Indian Pines scene: AVIRIS, June 1992, fields and forest in Indiana.

    145 × 145 pixels and 200 bands of radiance; the bands of water vapour are removed. The file
    comes with the package tensorly, which must be installed.

    Returns
    -------
    xarray.DataArray (band, y, x)

    Raises
    ------
    ModuleNotFoundError
        If tensorly is not installed.
    FileNotFoundError
        If its version carries no such file.
    """
    xarray = optional("xarray")
    # found without importing tensorly, which takes seconds and is not needed
    spec = find_spec("tensorly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "the Indian Pines scene comes with tensorly: pip install tensorly"
        )
    path = Path(spec.origin).parent / "datasets" / "data" / "Indian_pines_corrected.npy"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: this version of tensorly carries no Indian Pines scene")
    values = np.load(path, allow_pickle=False)
    # the providers multiplied the radiance by 500 and added 1000
    radiance = (values.transpose(2, 0, 1).astype(np.float32) - 1000) / 500
    scene: xr.DataArray = xarray.DataArray(radiance, dims=("band", "y", "x"), name="radiance")
    return scene
