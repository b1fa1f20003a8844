"""Packages whose public names are imported on first use, so that importing them stays quick."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def names_of(file: str) -> dict[str, str]:
    """Return the module that the stub beside ``file`` imports each public name from."""
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    modules = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):
            modules.update({alias.name: str(node.module) for alias in node.names})
    return modules


def importer(package: str, modules: dict[str, str], into: dict[str, Any]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package; what it imports is kept in ``into``."""

    def import_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        if module == package:
            value: Any = import_module(f"{package}.{name}")
        else:
            value = getattr(import_module(module), name)
        into[name] = value
        return value

    return import_name
