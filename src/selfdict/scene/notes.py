"""Sentences about what a reader assumed, kept with the scene.

They are the attribute ``selfdict_notes``, a list of str. They speak about the file that was read:
files that are written do not have them, since what was assumed is stated in them.
"""

import xarray as xr

_ATTRIBUTE = "selfdict_notes"


def notes_of(scene: xr.DataArray) -> list[str]:
    """Return the notes of a scene, none if it has none.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene
    >>> from selfdict.scene.notes import add_notes, notes_of
    >>> scene = add_notes(build_scene(np.ones((2, 3, 4))), "the unit is not known")
    >>> notes_of(scene)
    ['the unit is not known']
    """
    return list(scene.attrs.get(_ATTRIBUTE, []))


def add_notes(scene: xr.DataArray, *notes: str) -> xr.DataArray:
    """Return the scene with further notes; one that it has already is not repeated."""
    together = list(dict.fromkeys([*notes_of(scene), *notes]))
    # An empty list would be an attribute without a meaning.
    if not together:
        return scene
    scene = scene.copy(deep=False)
    scene.attrs[_ATTRIBUTE] = together
    return scene


def without_notes(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene without its notes."""
    if _ATTRIBUTE not in scene.attrs:
        return scene
    scene = scene.copy(deep=False)
    del scene.attrs[_ATTRIBUTE]
    return scene
