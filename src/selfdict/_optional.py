"""Optional dependencies, imported in one place so that each missing one gives the same hint."""

from importlib import import_module
from typing import Any

# The extra of selfdict that installs a package.
_EXTRA = {
    "cvxpy": "conic",
    "distributed": "dask",
    "matplotlib": "report",
    "jinja2": "report",
    "PIL": "report",
    "click": "cli",
    "aiohttp": "remote",
    "torch": "gpu",
    "triton": "gpu",
}


def optional(name: str) -> Any:
    """Import the module ``name``, or raise an error that names the extra which installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.split(".")[0]
        # The package is there, but something that it imports is not.
        if error.name is None or error.name.split(".")[0] != package:
            raise
        extra = _EXTRA.get(package, "io")
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed: pip install 'selfdict[{extra}]'",
            name=error.name,
        ) from None
