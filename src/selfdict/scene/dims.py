"""The dims of a scene, renamed from those of other software."""

from collections.abc import Hashable

import xarray as xr

from selfdict._errors import InputError
from selfdict.files.dims import DIMS, WAVELENGTH_DIMS, standard_name
from selfdict.scene.notes import add_notes


def rename_dims(scene: xr.DataArray) -> xr.DataArray:
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
