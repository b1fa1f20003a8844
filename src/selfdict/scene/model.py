"""What a scene is: a ``DataArray (band, y, x)`` with the coordinates and attributes named here.

Coordinates
    ``wavelength (band)`` and ``fwhm (band)`` in nanometres, ``good_band (band)`` booleans,
    ``band_name (band)`` strings, ``band_gain (band)`` and ``band_offset (band)`` numbers, ``valid
    (y, x)`` booleans (a mask given by the user), ``x`` and ``y`` the map coordinates of the pixel
    centres, ``spatial_ref`` the CRS and transform as rioxarray keeps them. All are optional.
Attributes (the CF names, with the CF meaning)
    ``_FillValue``: the no-data value; ``scale_factor``, ``add_offset``: physical value = stored ·
    scale_factor + add_offset. If the bands differ in them, the coordinates ``band_gain`` and
    ``band_offset`` take their places, see :mod:`selfdict.scene.scaling`. Stored values stay as they
    are in the file, so that a round trip changes no bit; :func:`selfdict.scene.matrix` applies the
    scales. ``selfdict_notes`` (not CF): what the reader assumed about the file, see
    :mod:`selfdict.scene.notes`.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.files.dims import DIMS
from selfdict.scene.dims import rename_dims
from selfdict.scene.georef import georeference
from selfdict.scene.nodata import nodata_of, with_nodata
from selfdict.scene.scaling import from_rioxarray, with_scaling
from selfdict.scene.units import in_nanometres


def build_scene(
    values: Any,
    *,
    wavelength: ArrayLike | None = None,
    fwhm: ArrayLike | None = None,
    good_band: ArrayLike | None = None,
    band_name: Sequence[str] | None = None,
    crs: Any = None,
    transform: Any = None,
    nodata: float | None = None,
    scale_factor: ArrayLike | None = None,
    add_offset: ArrayLike | None = None,
    name: Hashable = "reflectance",
) -> xr.DataArray:
    """Return an array of shape (bands, rows, columns) and what is known about it as a scene.

    Parameters
    ----------
    values : array of shape (n_bands, n_rows, n_columns)
        Any array xarray takes; a memory-mapped one stays mapped.
    wavelength, fwhm : (n_bands,) array-like, optional
        In nanometres.
    good_band : (n_bands,) array-like of bool, optional
        False for bands to be dropped on request.
    band_name : sequence of n_bands str, optional
        Any text.
    crs : optional
        Anything ``rasterio.crs.CRS.from_user_input`` takes.
    transform : affine.Affine, optional
        From (column, row) to map coordinates; (0, 0) is the outer corner of the first pixel.
    nodata : float, optional
        The value that marks missing data.
    scale_factor, add_offset : float or (n_bands,) array-like, optional
        Physical value = stored value · scale_factor + add_offset, for all bands or for each.
    name : str
        What the values are.

    Returns
    -------
    xarray.DataArray with dims (band, y, x)

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene
    >>> scene = build_scene(np.ones((3, 4, 5)), wavelength=[450, 550, 650], nodata=-1)
    >>> scene.sizes["x"], scene.attrs["_FillValue"]
    (5, -1)
    """
    if isinstance(name, str):
        check_text(np.asarray(name), "the name of the values")
    scene = xr.DataArray(values, dims=DIMS, name=name)
    scene = _with_band_coordinate(scene, "wavelength", wavelength, np.float64, {"units": "nm"})
    scene = _with_band_coordinate(scene, "fwhm", fwhm, np.float64, {"units": "nm"})
    scene = _with_band_coordinate(scene, "good_band", good_band, np.bool_, {})
    scene = _with_band_coordinate(scene, "band_name", band_name, np.str_, {})
    if nodata is not None:
        scene.attrs["_FillValue"] = nodata
    scene = with_scaling(scene, scale_factor, add_offset)
    return georeference(scene, crs, transform)


def _with_band_coordinate(
    scene: xr.DataArray, name: str, given: Any, dtype: type, attrs: dict[str, str]
) -> xr.DataArray:
    """Return the scene with a coordinate along its bands, if one is given."""
    if given is None:
        return scene
    values: Array = np.asarray(given).astype(dtype)
    if dtype is np.str_:
        check_text(values, name)
    n_bands = scene.sizes["band"]
    if values.shape != (n_bands,):
        raise InputError(
            f"{name} must have one entry for each of the {n_bands} bands, got shape {values.shape}"
        )
    return scene.assign_coords({name: ("band", values, attrs)})


def check_text(texts: Array, name: str) -> None:
    """Refuse an array of text with numbers that are no characters.

    NumPy stores text as numbers, and a file may hold any. Python raises an error for some of them,
    wherever the text is used first, and others cannot be written to a file.

    Examples
    --------
    >>> import numpy as np
    >>> check_text(np.array(["a", chr(0xD800)]), "band_name")
    Traceback (most recent call last):
    selfdict._errors.InputError: band_name must be text, got the character number 55296
    """
    if texts.dtype.itemsize == 0:
        return
    swapped = texts.astype(texts.dtype.newbyteorder("="))
    numbers = np.ascontiguousarray(swapped).reshape(-1).view(np.uint32)
    is_surrogate = (numbers >= 0xD800) & (numbers <= 0xDFFF)
    wrong = numbers[is_surrogate | (numbers > 0x10FFFF)]
    if wrong.size:
        raise InputError(f"{name} must be text, got the character number {wrong[0]}")


def as_scene(data: xr.DataArray) -> xr.DataArray:
    """Return a DataArray as a scene: dims renamed and ordered to (band, y, x).

    Dims are recognised by name (``bands``, ``wavelength``, ``lat``, ``rows``, …); a dim coordinate
    called ``wavelength`` becomes the wavelength of the bands. Wavelengths and their widths are
    converted to nanometres; without a unit those below 100 are micrometres. A coordinate that
    cannot be kept is left out, and a note (``selfdict_notes``) says so. A no-data value that
    rioxarray keeps for the array (``rio.nodata``) becomes the attribute ``_FillValue``, unless
    there is one. Values are neither read nor copied.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from selfdict.scene import as_scene
    >>> data = xr.DataArray(np.zeros((4, 5, 3)), dims=("row", "col", "wavelength"))
    >>> scene = as_scene(data.assign_coords(wavelength=[0.4, 0.5, 0.6]))
    >>> scene.dims, scene.wavelength.values
    (('band', 'y', 'x'), array([400., 500., 600.]))
    """
    if not isinstance(data, xr.DataArray):
        raise TypeError(f"a scene must be an xarray.DataArray, got {type(data).__name__}")
    scene = data
    if scene.ndim != 3:
        raise InputError(
            f"a scene must have 3 dimensions (band, y, x), got {scene.ndim}: {scene.dims}"
        )
    if set(scene.dims) != set(DIMS):
        scene = rename_dims(scene)
    if scene.size == 0:
        raise InputError(f"a scene must not be empty, got shape {scene.shape}")
    if scene.dtype.kind not in "biuf":
        raise TypeError(f"a scene must hold real numbers, got dtype {scene.dtype}")
    # Of the array given: rioxarray may keep the value for that object only.
    scene = with_nodata(scene, nodata_of(data))
    scene = from_rioxarray(scene)
    # CF lets a file choose the name of this variable; all that follows looks for "spatial_ref".
    mapping = scene.encoding.get("grid_mapping", scene.attrs.get("grid_mapping", "spatial_ref"))
    if mapping != "spatial_ref" and mapping in scene.coords:
        scene = scene.rename({mapping: "spatial_ref"})
        scene.attrs = {key: value for key, value in scene.attrs.items() if key != "grid_mapping"}
        scene.encoding = scene.encoding | {"grid_mapping": "spatial_ref"}
    return in_nanometres(scene.transpose(*DIMS))
