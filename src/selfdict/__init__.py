"""selfdict finds the few columns of a matrix whose cone contains all the others.

The public names are those that the stub ``__init__.pyi`` imports. They are imported on first use,
so that ``import selfdict`` stays quick: numba, scikit-learn and the rest are imported by the
packages that need them.
"""

from selfdict._imports import on_first_use

__version__ = "0.1.0"

__getattr__, _MODULES = on_first_use(__name__, __file__)
# The packages themselves are attributes, but a star import is for what is in them.
__all__ = ["__version__", *(name for name, module in _MODULES.items() if module != __name__)]


def __dir__() -> list[str]:
    return sorted(["__version__", *_MODULES])
