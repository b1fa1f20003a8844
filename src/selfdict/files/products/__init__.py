"""Products of sensors: tables of where files keep what, and functions.

Every module in this folder is imported, so that a new sensor is one file.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
