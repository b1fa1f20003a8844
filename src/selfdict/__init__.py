"""selfdict finds the few columns of a matrix whose cone contains all the others.

The public names are those that the stub ``__init__.pyi`` imports. They are imported on first use,
so that ``import selfdict`` stays quick: numba, scikit-learn and the rest are imported by the
packages that need them.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _modules_of_names() -> dict[str, str]:
    """Return the module that the stub imports each public name from."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    modules = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):
            modules.update({alias.name: str(node.module) for alias in node.names})
    return modules


_MODULES = _modules_of_names()
# The packages themselves are attributes, but a star import is for what is in them.
__all__ = ["__version__", *(name for name, module in _MODULES.items() if module != __name__)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'selfdict' has no attribute {name!r}")
    module = _MODULES[name]
    if module == __name__:
        value: Any = import_module(f"{__name__}.{name}")
    else:
        value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_MODULES])
