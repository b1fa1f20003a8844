"""Hyperspectral cubes: read, mask, unmix, write.

A scene is an ``xarray.DataArray (band, y, x)``. The public names are those that the stub
``__init__.pyi`` imports; each is imported on first use.
"""

from importlib.util import find_spec

from selfdict._imports import on_first_use, optional

# Before a module imports them, so that an error names the extra to install.
optional("xarray")
# It takes a second to import, and is needed where a CRS is set or written.
if find_spec("rioxarray") is None:
    optional("rioxarray")
# The accessor is registered for every DataArray, and must not wait for its first use.
import selfdict.scene.model  # noqa: E402, F401

__getattr__, _MODULES = on_first_use(__name__, __file__)
__all__ = list(_MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
