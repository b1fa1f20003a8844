"""xarray without other libraries of arrays, as long as nothing else imports these.

xarray imports dask, pint and CuPy to find out whether an array is one of theirs, which takes longer
than the import of xarray itself. Before they are imported, no array is one of theirs.
"""

import sys
from functools import cache
from typing import Any

from selfdict._imports import optional


class _LibraryIfImported:
    """What xarray knows about a library: no classes of arrays before it is imported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "type" and self._name not in sys.modules:
            return ()
        known = optional("xarray.namedarray.pycompat").DuckArrayModule(self._name)
        return getattr(known, attribute)


@cache
def import_libraries_on_use() -> None:
    """Let xarray not import other libraries before something else does."""
    # These names are no part of xarray's interface: without them it is only slower.
    known = getattr(optional("xarray.namedarray.pycompat"), "_cached_duck_array_modules", {})
    for name in ("dask", "pint", "cupy", "sparse"):
        known.setdefault(name, _LibraryIfImported(name))
    utils = optional("xarray.namedarray.utils")
    ask = getattr(utils, "is_dask_collection", None)
    if ask is None:
        return

    def is_dask_collection(value: Any) -> bool:
        return "dask" in sys.modules and bool(ask(value))

    utils.is_dask_collection = is_dask_collection
