"""Scale and no-data value of a product, which its image or its sidecar declare."""

import math

import xarray as xr

from selfdict._validation import Array
from selfdict.scene.notes import add_notes
from selfdict.scene.scaling import with_scaling

_USUAL_NODATA = -32768  # of EnMAP and of DESIS


def with_product_scaling(
    scene: xr.DataArray,
    gain: float | Array | None,
    offset: float | Array | None,
    sidecar: str,
) -> tuple[xr.DataArray, str]:
    """Return the image of a product with the gains of its sidecar, and a note about them.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        The image.
    gain, offset : float, (n_bands,) ndarray or None
        As the sidecar says; None: it says nothing.
    sidecar : str
        Its name, for the note.
    """
    if gain is None and offset is None:
        return scene, f"{sidecar} has no gains: values are taken as they are stored"
    # Products hold 16-bit numbers. Other software writes scaled values as floating-point numbers,
    # under the same name as a rule.
    if scene.dtype.kind == "f":
        note = f"the image holds {scene.dtype}, not integers: gains of {sidecar} are not applied"
        return scene, note
    note = f"gains and offsets of {sidecar} are applied: stored value · gain + offset"
    return with_scaling(scene, gain, offset), note


def with_product_nodata(scene: xr.DataArray, declared: float | None) -> xr.DataArray:
    """Return the image of a product with its no-data value.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        The image.
    declared : float or None
        By the sidecar. What the image itself declares comes first.
    """
    own = scene.attrs.get("_FillValue")
    if own is not None:
        # NaN equals nothing, not even itself.
        are_nan = declared is not None and math.isnan(own) and math.isnan(declared)
        if declared is not None and own != declared and not are_nan:
            note = f"the image declares the no-data value {own}, its sidecar {declared}: not used"
            return add_notes(scene, note)
        return scene
    scene = scene.copy(deep=False)
    scene.attrs["_FillValue"] = declared
    if declared is None:
        scene.attrs["_FillValue"] = _USUAL_NODATA
        note = f"the product declares no no-data value: {_USUAL_NODATA} is assumed"
        return add_notes(scene, note)
    return scene
