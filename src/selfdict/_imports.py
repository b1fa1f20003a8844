"""Imports on first use, so that importing the package stays quick, and optional packages."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
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


def on_first_use(package: str, file: str) -> tuple[Callable[[str], Any], dict[str, str]]:
    """Return the ``__getattr__`` of a package, and the module that its stub imports each name from.

    The stub lies beside ``file``.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    modules = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):
            modules.update({alias.name: str(node.module) for alias in node.names})

    def import_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        if module == package:
            value: Any = import_module(f"{package}.{name}")
        else:
            value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return import_name, modules
