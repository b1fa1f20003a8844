"""A mask in a file: one band on the grid of a scene."""

from os import PathLike

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.files.errors import SceneError
from selfdict.files.grid import GRID_TOLERANCE, to_map
from selfdict.scene.metadata import crs_of, transform_of


def mask_from_layer(path: str | PathLike[str], layer: xr.DataArray, scene: xr.DataArray) -> Array:
    """Return which pixels of the scene a layer leaves out, (n_rows, n_columns).

    Parameters
    ----------
    path : str or path-like
        The file of the mask, for messages.
    layer : xarray.DataArray (band, y, x)
        What was read from it; pixels that are not 0 are left out.
    scene : xarray.DataArray (band, y, x)
        The whole scene.

    Raises
    ------
    SceneError
        The layer has several bands, or lies elsewhere.
    """
    if layer.sizes["band"] != 1:
        raise SceneError(path, f"a mask must have one band, this file has {layer.sizes['band']}")
    # Another size is refused where the mask is applied.
    if layer.shape[1:] == scene.shape[1:]:
        distance = _distance(layer, scene)
        # The comparison is False for NaN, too.
        if distance is not None and not distance <= GRID_TOLERANCE:
            raise SceneError(
                path,
                f"the mask lies elsewhere than the scene: a corner is {distance:.3g} pixels away",
            )
    excluded: Array = layer.values[0] != 0
    return excluded


def _distance(layer: xr.DataArray, scene: xr.DataArray) -> float | None:
    """Return the largest distance of two corners in pixels, None if it cannot be told."""
    ours = transform_of(scene)
    theirs = transform_of(layer)
    crs = crs_of(scene)
    # Without a CRS the numbers of a transform may just count pixels.
    if ours is None or theirs is None or crs is None or crs_of(layer) is None:
        return None
    n_rows, n_columns = scene.shape[1:]
    columns = np.array([0, n_columns, 0, n_columns])
    rows = np.array([0, 0, n_rows, n_rows])
    x, y = to_map(ours, columns, rows)
    mask_x, mask_y = to_map(theirs, columns, rows)
    # One system may have several names, and systems of two datums may agree within a pixel.
    if crs_of(layer) != crs:
        from rasterio._err import CPLE_BaseError
        from rasterio.errors import RasterioError
        from rasterio.warp import transform as to_crs

        try:
            mask_x, mask_y = to_crs(crs_of(layer), crs, mask_x.tolist(), mask_y.tolist())
        except (RasterioError, CPLE_BaseError):
            # A system that has no place on Earth, such as that of a laboratory.
            return None
    pixel = np.sqrt(abs(ours.determinant))
    # A damaged transform may have pixels without an area.
    if pixel == 0:
        return None
    return float(np.hypot(np.asarray(mask_x) - x, np.asarray(mask_y) - y).max() / pixel)
