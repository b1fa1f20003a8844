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
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array, is_tensor, to_numpy
from selfdict.files.axes import guess_layout
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
    """Return an array of shape (bands, rows, columns) and its metadata as a scene.

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
    """
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
    return _in_nanometres(scene.transpose(*DIMS))


def _rename_dims(scene: xr.DataArray) -> xr.DataArray:
    """Return the array with dims called band, y and x, in the order given.

    The coordinate of a dim such as ``wavelength`` becomes the wavelengths of the bands, in the unit
    that it has.
    """
    names = _recognised_dims(scene)
    band = next(dim for dim, new in names.items() if new == "band")
    wavelength = None
    if band in scene.coords and band != "band":
        if str(band).lower() in WAVELENGTH_DIMS:
            wavelength = scene[band]
        # Renamed with its dim it would become the labels of the bands, which a scene has not.
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


def _recognised_dims(scene: xr.DataArray) -> dict[Hashable, str]:
    """Return which of band, y and x each dim is, by its name."""
    names: dict[Hashable, str] = {}
    for dim in scene.dims:
        name = standard_name(dim)
        if name is not None:
            names[dim] = name
    if sorted(names.values()) != sorted(DIMS):
        raise InputError(
            f"cannot tell which of the dims {scene.dims} are band, y and x: rename them"
        )
    return names


def _in_nanometres(scene: xr.DataArray) -> xr.DataArray:
    """Return a scene (dim ``band``) with its wavelengths and their widths in nanometres.

    Those in a unit that is none of length are left out, and a note says so. Coordinates that are no
    numbers stay as they are.
    """
    unit = None
    if _is_of_bands(scene, "wavelength"):
        values = scene["wavelength"].values
        named = _unit_named(scene["wavelength"])
        unit = unit_of(values, named)
        scene = _converted(scene, "wavelength", unit, unit_note(values, named))
    if _is_of_bands(scene, "fwhm"):
        # Widths in nanometres are below 100, too: only the unit of the wavelengths tells theirs.
        of_widths = _unit_named(scene["fwhm"]) or unit
        if of_widths is not None:
            scene = _converted(scene, "fwhm", of_widths, unit_note([], of_widths))
    return scene


def _is_of_bands(scene: xr.DataArray, name: str) -> bool:
    """Whether the scene has a coordinate of numbers of this name, one for each band."""
    if name not in scene.coords:
        return False
    return scene[name].dims == ("band",) and scene[name].dtype.kind in "iuf"


def _unit_named(coordinate: xr.DataArray) -> str | None:
    """Return the unit that a coordinate names, or None."""
    units: Any = coordinate.attrs.get("units")
    if isinstance(units, str) and units.strip().lower() not in ("", "unknown"):
        return units
    return None


def _converted(scene: xr.DataArray, name: str, unit: str, notes: list[str]) -> xr.DataArray:
    """Return the scene with one coordinate in nanometres, or without it, and the notes."""
    coordinate = scene[name]
    if coordinate.attrs.get("units") == "nm":
        return scene
    scene = add_notes(scene, *notes)
    values = to_nanometres(coordinate.values, unit)
    if values is None:
        return scene.drop_vars(name)
    return scene.assign_coords({name: ("band", values, coordinate.attrs | {"units": "nm"})})


def scene_of(data: Any, wavelengths: ArrayLike | None = None) -> xr.DataArray:
    """Return data as a scene: a DataArray as :func:`as_scene` does, or a plain array.

    A plain array (n_rows, n_columns, n_bands) is one of NumPy, a tensor of torch or an image of
    SPy, which may have wavelengths of its own. Others are in nanometres, or in micrometres if all
    are below 100. A pixel of a masked array is left out if a band of it is masked.
    """
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
    # the unit of wavelengths that the user gives is documented above
    unit: str | None = "nm"
    if wavelengths is None:
        wavelengths, unit = _wavelengths_of(data)
    elif unit_of(wavelengths, None) == "um":
        unit = "um"
    cube = _as_cube(data)
    wavelength, notes = _checked_wavelengths(wavelengths, unit, cube.shape)
    if wavelengths is None:
        _warn_of_another_axis(cube)
    values: Any = np.moveaxis(np.ma.getdata(cube), -1, 0)
    scene = build_scene(values, wavelength=wavelength)
    if np.ma.is_masked(cube):
        scene = scene.assign_coords(valid=(("y", "x"), ~np.ma.getmaskarray(cube).any(axis=-1)))
    return as_scene(add_notes(scene, *notes))


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


def _wavelengths_of(data: Any) -> tuple[Any, str | None]:
    """Return the wavelengths of an image of SPy, and their unit, if it has any."""
    bands = getattr(data, "bands", None)
    centers = getattr(bands, "centers", None)
    if centers is None:
        return None, None
    unit = getattr(bands, "band_unit", None)
    if not unit:
        return centers, None
    return centers, str(unit)


def _checked_wavelengths(
    wavelengths: ArrayLike | None, unit: str | None, shape: tuple[int, ...]
) -> tuple[Array | None, list[str]]:
    """Return the wavelengths in nanometres, and a note if their unit is a guess.

    Those of SPy may have another quantity, such as wavenumbers; the note says so then.
    """
    if wavelengths is None:
        return None, []
    values = np.asarray(wavelengths, dtype=np.float64)
    n_bands = shape[-1]
    if values.shape != (n_bands,):
        message = f"there must be one wavelength for each of the {n_bands} bands, the last axis"
        if values.shape == shape[:1]:
            message += "; np.moveaxis(array, 0, -1) makes the first axis the last"
        raise InputError(f"{message}: got shape {values.shape} for an array of shape {shape}")
    return to_nanometres(values, unit_of(values, unit)), unit_note(values, unit)


def _warn_of_another_axis(cube: Array) -> None:
    """Warn if the values look as if the bands were another axis than the last one."""
    if cube.dtype.kind not in "biuf" or 0 in cube.shape:
        return  # refused later, by a sentence about that

    def load(window: tuple[slice, ...]) -> Array:
        return np.ma.getdata(cube[window])

    names, _ = guess_layout(cube.shape, load, None)
    axis = names.index("band")
    if axis == 2:
        return
    warn_caller(
        f"the last axis of the array, {cube.shape}, is taken as the bands, but spectra along axis "
        f"{axis} are more alike: np.moveaxis(array, {axis}, -1) takes that one",
    )
