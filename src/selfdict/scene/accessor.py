"""``DataArray.selfdict``: the functions of this package as methods of a DataArray."""

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr
from numpy.typing import ArrayLike

# The methods import what they need: this module is imported with the package, and scikit-learn and
# numba take a second.
if TYPE_CHECKING:
    from selfdict._validation import Array
    from selfdict.scene.result import UnmixResult


@xr.register_dataarray_accessor("selfdict")  # type: ignore[no-untyped-call]  # untyped in xarray
class SelfdictAccessor:
    """Unmix a DataArray that has dims (band, y, x), or dims whose names say which is which.

    Examples
    --------
    >>> import numpy as np, xarray as xr, selfdict.scene
    >>> data = xr.DataArray(np.ones((4, 5, 3)), dims=("lat", "lon", "wavelength"))
    >>> data.selfdict.matrix().shape
    (3, 20)
    """

    def __init__(self, data: xr.DataArray) -> None:
        # xarray calls this on every attribute access, hasattr(data, "selfdict") included, also for
        # arrays that are no scenes. It must not raise: the first method call checks the array.
        self._data = data

    @cached_property
    def _scene(self) -> xr.DataArray:
        from selfdict.scene.model import as_scene

        return as_scene(self._data)

    def valid(self, mask: ArrayLike | None = None, *, drop_bad_bands: bool = False) -> xr.DataArray:
        """See :func:`selfdict.scene.valid_mask`."""
        from selfdict.scene.blocks import valid_mask

        return valid_mask(self._scene, mask, drop_bad_bands=drop_bad_bands)

    def matrix(
        self, mask: ArrayLike | None = None, *, drop_bad_bands: bool = False, clip: bool = False
    ) -> "Array":
        """See :func:`selfdict.scene.matrix`."""
        from selfdict.scene.blocks import matrix

        return matrix(self._scene, mask, drop_bad_bands=drop_bad_bands, clip=clip)

    def unmix(self, r: int | str, **options: Any) -> "UnmixResult":
        """See :func:`selfdict.scene.unmix`."""
        from selfdict.scene.unmixing import unmix

        return unmix(self._data, r, **options)

    def write(self, path: str | PathLike[str], format: str | None = None, **options: Any) -> Path:
        """See :func:`selfdict.scene.write_scene`."""
        from selfdict.scene.write import write_scene

        return write_scene(self._scene, path, format, **options)
