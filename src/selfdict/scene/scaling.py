"""From stored to physical values: one scale and offset for all bands, or one of each per band.

Physical value = stored value · gain + offset. Numbers that all bands share are the attributes
``scale_factor`` and ``add_offset``, which other software knows. Numbers that differ are the
coordinates ``band_gain`` and ``band_offset``, which follow any selection of bands.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array

# The coordinate (band) and the attribute (all bands) of each of the two, and its neutral value.
_GAIN = ("band_gain", "scale_factor", 1.0)
_OFFSET = ("band_offset", "add_offset", 0.0)
# Written to NetCDF and zarr, whose conventions have no gain per band.
_MEANING = "physical value = stored value * band_gain + band_offset"


def with_scaling(
    scene: xr.DataArray, gain: ArrayLike | None, offset: ArrayLike | None
) -> xr.DataArray:
    """Return the scene with this gain and offset, instead of those it has.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
    gain, offset : float or (n_bands,) array-like, optional
        Default: 1 and 0.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene
    >>> from selfdict.scene.scaling import with_scaling
    >>> scene = build_scene(np.ones((2, 3, 4)))
    >>> with_scaling(scene, [0.5, 0.5], None).attrs["scale_factor"]
    0.5
    >>> with_scaling(scene, [0.5, 0.25], None)["band_gain"].values
    array([0.5 , 0.25])
    """
    scene = scene.drop_vars(["band_gain", "band_offset"], errors="ignore")
    scene = scene.copy(deep=False)
    scene.attrs.pop("scale_factor", None)
    scene.attrs.pop("add_offset", None)
    scene = _with_one(scene, gain, *_GAIN)
    return _with_one(scene, offset, *_OFFSET)


def scaling_of(scene: xr.DataArray) -> tuple[Array, Array]:
    """Return the gain and the offset of each band, two (n_bands,) arrays of float64."""
    return _one_of(scene, *_GAIN), _one_of(scene, *_OFFSET)


def from_rioxarray(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene with the scales per band that rioxarray has put into its attributes.

    ``rioxarray.open_rasterio`` stores them as ``scales`` and ``offsets`` if bands differ.
    """
    n_bands = scene.sizes["band"]
    if "scales" not in scene.attrs and "offsets" not in scene.attrs:
        return scene
    gain, offset = scaling_of(scene)
    gain = np.asarray(scene.attrs.get("scales", gain))
    offset = np.asarray(scene.attrs.get("offsets", offset))
    # After a selection of bands it cannot be told which of the numbers belong to those left.
    if gain.shape != (n_bands,) or offset.shape != (n_bands,):
        raise InputError(
            f"the attributes scales and offsets must have one entry for each of the {n_bands} "
            f"bands, got {gain.shape} and {offset.shape}; select bands after read_scene instead"
        )
    scene = with_scaling(scene, gain, offset)
    scene.attrs.pop("scales", None)
    scene.attrs.pop("offsets", None)
    return scene


def _with_one(
    scene: xr.DataArray, given: Any, coordinate: str, attribute: str, neutral: float
) -> xr.DataArray:
    """Return the scene with its gains or its offsets."""
    if given is None:
        return scene
    n_bands = scene.sizes["band"]
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), (n_bands,)):
        raise InputError(
            f"{coordinate} must be a number, or one for each of the {n_bands} bands, "
            f"got shape {values.shape}"
        )
    if not np.isfinite(values).all():
        raise InputError(f"{coordinate} must be finite numbers, got {values[~np.isfinite(values)]}")
    first = values.ravel()[0].item()
    if (values != first).any():
        attrs = {"long_name": _MEANING}
        return scene.assign_coords({coordinate: ("band", values, attrs)})
    if first != neutral:
        scene.attrs[attribute] = first
    return scene


def _one_of(scene: xr.DataArray, coordinate: str, attribute: str, neutral: float) -> Array:
    """Return the gains or the offsets of all bands."""
    n_bands = scene.sizes["band"]
    if coordinate not in scene.coords:
        return np.full(n_bands, float(scene.attrs.get(attribute, neutral)))
    # Two statements about the same number: it cannot be told which one is meant.
    if scene.attrs.get(attribute, neutral) != neutral:
        raise InputError(
            f"a scene has either the coordinate {coordinate} or the attribute {attribute}, "
            "this one has both"
        )
    values = np.asarray(scene[coordinate].values, dtype=np.float64)
    if values.shape != (n_bands,):
        raise InputError(f"the coordinate {coordinate} must have the dim band")
    return values
