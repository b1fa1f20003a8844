"""Bands of a product that hold no data anywhere."""

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.mapped import stored_values


def find_empty_bands(scene: xr.DataArray, *, n_windows: int = 3, width: int = 16) -> Array:
    """Return which bands are no-data in all pixels of a sample that hold data in another band.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        With a no-data value; without one no band is empty.
    n_windows : int
        Number of windows of the sample, along the rows and along the columns.
    width : int
        Rows and columns of a window, in pixels. A small scene is read as a whole.

    Returns
    -------
    (n_bands,) ndarray of bool
    """
    n_bands, n_rows, n_columns = scene.shape
    has_data = np.zeros(n_bands, dtype=bool)
    nodata = scene.attrs.get("_FillValue")
    if nodata is None:
        return has_data
    for rows in _windows(n_rows, n_windows, width):
        for columns in _windows(n_columns, n_windows, width):
            part = scene.isel(y=rows, x=columns)
            values = stored_values(part.compute().data).reshape(n_bands, -1)
            has_data |= (values != nodata).any(axis=1)
    # A sample outside the swath tells nothing about the bands.
    if not has_data.any():
        return has_data
    return ~has_data


def _windows(size: int, n_windows: int, width: int) -> list[slice]:
    """Return parts of an axis with the same distances, or all of a short one."""
    if size <= n_windows * width:
        return [slice(0, size)]
    centres = (2 * np.arange(n_windows) + 1) * size // (2 * n_windows)
    starts = centres - width // 2
    return [slice(int(start), int(start) + width) for start in starts]
