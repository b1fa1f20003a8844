"""What a scene is: a ``DataArray (band, y, x)`` with the coordinates and attributes named here.

Coordinates
    ``wavelength (band)`` and ``fwhm (band)`` in nanometres, ``good_band (band)`` booleans,
    ``band_name (band)`` strings, ``band_gain (band)`` and ``band_offset (band)`` numbers, ``valid
    (y, x)`` booleans (a mask given by the user), ``x`` and ``y`` the map coordinates of the pixel
    centres, ``spatial_ref`` the CRS and transform as rioxarray keeps them. All are optional.
Attributes (the CF names, with the CF meaning)
    ``_FillValue``: the no-data value; ``scale_factor``, ``add_offset``: physical value = stored ·
    scale_factor + add_offset. If the bands differ in them, the coordinates ``band_gain`` and
    ``band_offset`` take their places. Stored values stay as they are in the file, so that a round
    trip changes no bit; :func:`selfdict.scene.matrix` applies the scales. ``selfdict_notes`` (not
    CF): what the reader assumed about the file.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, is_tensor, to_numpy
from selfdict.files.cube import DIMS, WAVELENGTH_DIMS, standard_name
from selfdict.files.wavelengths import to_nanometres, unit_note, unit_of
from selfdict.scene.metadata import (
    add_notes,
    from_rioxarray,
    georeference,
    nodata_of,
    with_nodata,
    with_scaling,
)

if TYPE_CHECKING:
    from selfdict.scene.result import UnmixResult


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
    """Return an array of shape (bands, rows, columns) and its metadata as a scene (band, y, x).

    Parameters
    ----------
    values : array of shape (n_bands, n_rows, n_columns)
        Any array that xarray accepts; a memory-mapped one stays mapped.
    wavelength, fwhm : (n_bands,) array-like, optional
        In nanometres.
    good_band : (n_bands,) array-like of bool, optional
        False for bands to be dropped on request.
    band_name : sequence of n_bands str, optional
        Any text.
    crs : optional
        Anything that ``rasterio.crs.CRS.from_user_input`` accepts.
    transform : affine.Affine, optional
        From (column, row) to map coordinates; (0, 0) is the outer corner of the first pixel.
    nodata : float, optional
        The value that marks missing data.
    scale_factor, add_offset : float or (n_bands,) array-like, optional
        Physical value = stored value · scale_factor + add_offset, for all bands or for each.
    name : str
        What the values are.

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
    n_bands = scene.sizes["band"]
    for key, given, dtype in (
        ("wavelength", wavelength, np.float64),
        ("fwhm", fwhm, np.float64),
        ("good_band", good_band, np.bool_),
        ("band_name", band_name, np.str_),
    ):
        if given is None:
            continue
        entries: Array = np.asarray(given).astype(dtype)
        if key == "band_name":
            check_text(entries, key)
        if entries.shape != (n_bands,):
            raise InputError(
                f"{key} must have one entry for each of the {n_bands} bands, "
                f"got shape {entries.shape}"
            )
        attrs = {}
        if dtype is np.float64:
            attrs["units"] = "nm"
        scene = scene.assign_coords({key: ("band", entries, attrs)})
    if nodata is not None:
        scene.attrs["_FillValue"] = nodata
    scene = with_scaling(scene, scale_factor, add_offset)
    return georeference(scene, crs, transform)


def check_text(texts: Array, name: str) -> None:
    """Refuse text with code points that are not characters."""
    # NumPy stores any numbers as text. Python fails on them where the text is used or written.
    try:
        "".join(texts.ravel().tolist()).encode()
    except (ValueError, SystemError) as error:
        # ValueError for surrogates; NumPy raises the other for numbers beyond Unicode.
        raise InputError(f"{name} must be text: {error}") from None


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
        scene = _rename_dims(scene)
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
    scene = scene.transpose(*DIMS)
    if "valid" in scene.coords and scene["valid"].dims != DIMS[1:]:
        raise InputError(
            f"the coordinate valid must have the dims {DIMS[1:]}, got {scene['valid'].dims}"
        )
    return _in_nanometres(scene)


def _rename_dims(scene: xr.DataArray) -> xr.DataArray:
    """Return the array with dims called band, y and x; a dim of wavelengths keeps its labels."""
    names = {dim: standard_name(dim) or "" for dim in scene.dims}
    if set(names.values()) != set(DIMS):
        raise InputError(
            f"cannot tell which of the dims {scene.dims} are band, y and x; rename them"
        )
    (band,) = (dim for dim, new in names.items() if new == "band")
    wavelength = None
    if band in scene.coords and band != "band":
        if str(band).lower() in WAVELENGTH_DIMS:
            wavelength = scene[band]
        # Renamed with its dim it would become the labels of the bands, which a scene does not have.
        scene = scene.drop_vars([band])
    for old, new in names.items():
        if old != new:
            scene = _renamed(scene, old, new)
    if wavelength is None:
        return scene
    if wavelength.dtype.kind not in "iuf":
        return add_notes(scene, f"the coordinate {str(band)!r} is not used: it holds no numbers")
    return scene.assign_coords(wavelength=("band", wavelength.values, wavelength.attrs))


def _renamed(scene: xr.DataArray, old: Hashable, new: str) -> xr.DataArray:
    """Return the array with a dim renamed; a coordinate that has the new name gives way."""
    if new not in scene.coords:
        return scene.rename({old: new})
    if new != "band" and scene[new].dims == (old,) and old not in scene.coords:
        # The map coordinates of rows or columns that are only counted.
        return scene.swap_dims({old: new})
    note = f"the coordinate {new!r} is not used: the dim {str(old)!r} takes its name"
    return add_notes(scene.drop_vars(new).rename({old: new}), note)


def _in_nanometres(scene: xr.DataArray) -> xr.DataArray:
    """Return a scene with its wavelengths and their widths in nanometres, or without them."""
    unit = None
    for name in ("wavelength", "fwhm"):
        if name not in scene.coords:
            continue
        coordinate = scene[name]
        if coordinate.dims != ("band",) or coordinate.dtype.kind not in "iuf":
            continue
        named = coordinate.attrs.get("units")
        if not isinstance(named, str) or named.strip().lower() in ("", "unknown"):
            named = None
        values = coordinate.values
        notes = []
        if name == "wavelength":
            notes = unit_note(values, named)
            unit = unit_of(values, named)
        elif named or unit:
            # Widths in nm are below 100, too: only the unit of the wavelengths tells theirs.
            unit = named or unit
            notes = unit_note([], unit)
        if unit is None or named == "nm":
            continue
        scene = add_notes(scene, *notes)
        converted = to_nanometres(values, unit)
        if converted is None:
            scene = scene.drop_vars(name)
        else:
            attrs = coordinate.attrs | {"units": "nm"}
            scene = scene.assign_coords({name: ("band", converted, attrs)})
    return scene


def scene_of(data: Any, wavelengths: ArrayLike | None = None) -> xr.DataArray:
    """Return a DataArray, or a plain array (n_rows, n_columns, n_bands), as a scene."""
    if isinstance(data, xr.DataArray):
        if wavelengths is not None:
            raise InputError(
                "wavelengths are for a plain array: a DataArray has them as a coordinate, "
                'data.assign_coords(wavelength=("band", wavelengths))'
            )
        return as_scene(data)
    if isinstance(data, xr.Dataset):
        names = ", ".join(str(name) for name in data.data_vars) or "none"
        raise TypeError(
            "a scene must be an array, got an xarray.Dataset: pass one of its variables, "
            f"dataset[name]; there are: {names}"
        )
    if wavelengths is not None:
        unit = unit_of(wavelengths, None)
    else:
        # An image of SPy may have wavelengths; their unit may be unknown.
        bands = getattr(data, "bands", None)
        wavelengths = getattr(bands, "centers", None)
        unit = getattr(bands, "band_unit", "")
    cube = _as_cube(data)
    scene = build_scene(np.moveaxis(np.ma.getdata(cube), -1, 0))
    if wavelengths is not None:
        values = np.asarray(wavelengths, dtype=np.float64)
        if values.shape != cube.shape[-1:]:
            raise InputError(
                f"there must be one wavelength for each of the {cube.shape[-1]} bands, the last "
                f"axis; got shape {values.shape} for an array of shape {cube.shape} "
                "(np.moveaxis makes another axis the last)"
            )
        scene = scene.assign_coords(wavelength=("band", values, {"units": unit}))
    # A pixel is left out if a band of it is masked.
    if np.ma.is_masked(cube):
        scene = scene.assign_coords(valid=(("y", "x"), ~np.ma.getmaskarray(cube).any(axis=-1)))
    return as_scene(scene)


def _as_cube(data: Any) -> Array:
    """Return the values as an array (n_rows, n_columns, n_bands)."""
    if is_tensor(data):
        data = to_numpy(data)
    elif hasattr(data, "open_memmap") and hasattr(data, "load"):
        data = data.load()  # a file opened by SPy
    if isinstance(data, str | bytes) or not hasattr(data, "__array__"):
        raise TypeError(
            "a scene must be an xarray.DataArray or an array (rows, columns, bands), "
            f"got {type(data).__name__}; read_scene reads files"
        )
    cube: Array = np.asanyarray(data)
    if cube.ndim != 3:
        raise InputError(
            "an array must have 3 dimensions (rows, columns, bands), "
            f"got {cube.ndim}: shape {cube.shape}"
        )
    return cube


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

    # The methods import what they need: this module is imported with the package, and numba takes a
    # second.

    def __init__(self, data: xr.DataArray) -> None:
        # xarray calls this on every attribute access, hasattr(data, "selfdict") included, also for
        # arrays that are not scenes. It must not raise: the first method call checks the array.
        self._data = data

    def valid(self, mask: ArrayLike | None = None, *, drop_bad_bands: bool = False) -> xr.DataArray:
        """See :func:`selfdict.scene.valid_mask`."""
        from selfdict.scene.blocks import valid_mask

        return valid_mask(self._data, mask, drop_bad_bands=drop_bad_bands)

    def matrix(self, mask: ArrayLike | None = None, *, drop_bad_bands: bool = False) -> Array:
        """See :func:`selfdict.scene.matrix`."""
        from selfdict.scene.blocks import matrix

        return matrix(self._data, mask, drop_bad_bands=drop_bad_bands)

    def unmix(self, r: int | str, **options: Any) -> "UnmixResult":
        """See :func:`selfdict.scene.unmix`."""
        from selfdict.scene.unmixing import unmix

        return unmix(self._data, r, **options)
