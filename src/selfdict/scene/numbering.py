"""The numbers of bands in the file they come from, which stay with them if others are left out."""

import numpy as np
import xarray as xr

from selfdict._validation import Array


def band_numbers(data: xr.DataArray) -> Array:
    """Return the number of each band, counted from 1, (n_bands,).

    It is the coordinate ``band_number``, or by default the position.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene
    >>> from selfdict.scene.numbering import band_numbers, with_band_numbers
    >>> scene = build_scene(np.ones((4, 2, 2)))
    >>> band_numbers(with_band_numbers(scene).isel(band=[0, 3]))
    array([1, 4])
    """
    if "band_number" in data.coords:
        return np.asarray(data["band_number"].values)
    return np.arange(1, data.sizes["band"] + 1)


def with_band_numbers(data: xr.DataArray) -> xr.DataArray:
    """Return the data with the coordinate ``band_number``, before bands are selected."""
    return data.assign_coords(band_number=("band", band_numbers(data)))
