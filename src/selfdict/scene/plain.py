"""Plain arrays as scenes: those of NumPy, tensors of torch, images of SPy."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array
from selfdict.compute.device import is_tensor, to_numpy
from selfdict.files.axes import guess_layout
from selfdict.files.units import to_nanometres, unit_note, unit_of
from selfdict.scene.model import as_scene, build_scene
from selfdict.scene.notes import add_notes

_N_DIMS = 3


def scene_of(data: Any, wavelengths: ArrayLike | None = None) -> xr.DataArray:
    """Return data as a scene: a DataArray as :func:`as_scene` does, or a plain array.

    Parameters
    ----------
    data : xarray.DataArray or (n_rows, n_columns, n_bands) array
        A plain array is one of NumPy, a tensor of torch or an image of SPy. A pixel of a masked
        array is left out if a band of it is masked.
    wavelengths : (n_bands,) array_like, optional
        Of the bands of a plain array, in nanometres, or in micrometres if all are below 100. An
        image of SPy may have its own.

    Returns
    -------
    xarray.DataArray (band, y, x)

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene.plain import scene_of
    >>> scene = scene_of(np.ones((4, 5, 3)), wavelengths=[450, 550, 650])
    >>> scene.dims, scene.sizes["band"]
    (('band', 'y', 'x'), 3)
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
    if cube.ndim != _N_DIMS:
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
    if axis == _N_DIMS - 1:
        return
    warn_caller(
        f"the last axis of the array, {cube.shape}, is taken as the bands, but spectra along axis "
        f"{axis} are more alike: np.moveaxis(array, {axis}, -1) takes that one",
    )
