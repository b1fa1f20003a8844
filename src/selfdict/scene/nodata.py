"""The no-data value of a DataArray, wherever xarray and rioxarray keep it."""

import sys
from typing import Any

import numpy as np
import xarray as xr


def may_hold(data: xr.DataArray, *names: str) -> bool:
    """Whether rioxarray may know something about an array; imports it if so.

    It takes a second to import. As long as nobody has imported it, an array has nothing but
    attributes and encodings of these names.
    """
    known = data.attrs.keys() | data.encoding.keys()
    if "rioxarray" not in sys.modules and not known & set(names):
        return False
    import rioxarray  # noqa: F401  (registers DataArray.rio)

    return True


def nodata_of(data: xr.DataArray) -> Any:
    """Return the value that marks missing data, or None.

    The attribute ``_FillValue`` comes first. Without it, the value that rioxarray knows is used:
    set by ``rio.set_nodata``, stored in the encoding, or under another attribute such as
    ``missing_value``. ``rio.set_nodata`` stores the value for this very object, so pass the object
    that the user has, not a copy of it.

    Examples
    --------
    >>> import numpy as np, rioxarray, xarray as xr
    >>> from selfdict.scene.nodata import nodata_of
    >>> data = xr.DataArray(np.ones((2, 3, 4)), dims=("band", "y", "x"))
    >>> nodata_of(data.rio.set_nodata(-9999.0))
    -9999.0
    """
    if "_FillValue" in data.attrs:
        return data.attrs["_FillValue"]
    if not may_hold(data, "_FillValue", "missing_value", "fill_value", "nodata"):
        return None
    try:
        # Files of float32 values may declare the lowest float64 as no-data.
        with np.errstate(over="ignore"):
            # A value in the encoding says that missing data have become NaN, which rio.nodata then
            # returns. Integers cannot be NaN: they still hold the encoded value.
            if data.dtype.kind != "f" and data.rio.encoded_nodata is not None:
                return data.rio.encoded_nodata
            return data.rio.nodata
    except (OverflowError, TypeError, ValueError):
        # The attribute is no number, or none that the dtype can hold: no value equals it.
        return None
    except OSError:
        # rioxarray asks the file that the array was opened from, which is gone.
        return None


def with_nodata(scene: xr.DataArray, nodata: Any) -> xr.DataArray:
    """Return the scene with this no-data value as ``_FillValue``, unless it has one already."""
    if nodata is None or "_FillValue" in scene.attrs:
        return scene
    scene = scene.copy(deep=False)
    scene.attrs["_FillValue"] = np.asarray(nodata).item()
    # xarray refuses to write an array that has the key in its attributes and in its encoding.
    scene.encoding = {key: value for key, value in scene.encoding.items() if key != "_FillValue"}
    return scene
