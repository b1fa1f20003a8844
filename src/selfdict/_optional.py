"""Optional dependencies, imported in one place so that a missing one is met with the same hint."""

from importlib import import_module
from typing import Any

_EXTRA = {
    "cvxpy": "conic",
    "clarabel": "conic",
    "xarray": "io",
    "rioxarray": "io",
    "rasterio": "io",
    "affine": "io",
    "h5py": "io",
    "h5netcdf": "io",
    "zarr": "io",
    "dask.array": "io",
    "distributed": "dask",
    "matplotlib": "report",
    "jinja2": "report",
    "PIL": "report",
    "typer": "cli",
    "rich": "cli",
    "torch": "gpu",
    "triton": "gpu",
}


def optional(name: str) -> Any:
    """Import the module ``name``, or say which extra of selfdict brings it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.split(".")[0]
        if error.name is None or error.name.split(".")[0] != package:
            raise
        extra = next((e for n, e in _EXTRA.items() if n.split(".")[0] == package), "all")
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed: pip install 'selfdict[{extra}]'",
            name=error.name,
        ) from None
