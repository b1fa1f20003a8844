"""xarray without other libraries of arrays, as long as nothing else imports these.

xarray imports dask, pint and CuPy to find out whether an array is one of theirs, which takes longer
than the import of xarray itself. Before they are imported, no array is one of theirs.
"""

import sys
from functools import cache
from typing import Any

from selfdict._optional import optional

# What xarray calls a library, the module of its arrays, and their class.
_CLASSES = {
    "dask": ("dask.array", "Array"),
    "pint": ("pint", "Quantity"),
    "cupy": ("cupy", "ndarray"),
    "sparse": ("sparse", "SparseArray"),
}


class _LibraryIfImported:
    """What xarray knows about a library: nothing, before it is imported."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def type(self) -> tuple[type, ...]:
        """The classes of its arrays."""
        module, name = _CLASSES[self._name]
        # There is no such class while the module is being imported.
        found = getattr(sys.modules.get(module), name, None)
        if found is None:
            return ()
        return (found,)

    def __getattr__(self, name: str) -> Any:
        # Anything else is about the library itself.
        return getattr(optional("xarray.namedarray.pycompat").DuckArrayModule(self._name), name)


@cache
def import_libraries_on_use() -> None:
    """Let xarray not import other libraries before something else does."""
    # These names are no part of xarray's interface: without them it is only slower.
    known = getattr(optional("xarray.namedarray.pycompat"), "_cached_duck_array_modules", {})
    for name in _CLASSES:
        known.setdefault(name, _LibraryIfImported(name))
    utils = optional("xarray.namedarray.utils")
    ask = getattr(utils, "is_dask_collection", None)
    if ask is None:
        return

    def is_dask_collection(value: Any) -> bool:
        return "dask" in sys.modules and bool(ask(value))

    utils.is_dask_collection = is_dask_collection
