"""Products of sensors in HDF5 and NetCDF: tables of where files keep what, and functions.

Every module in this folder is imported, so that a new sensor is one file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from selfdict.files.cube import StoredCube
from selfdict.files.formats import Function, note_module


@dataclass
class Opened:
    """A file of a product while it is read.

    Attributes
    ----------
    file : selfdict.files.hdf5.Hdf5File
        The file.
    cube_name : str
        The path of the dataset that is read.
    cube : StoredCube
        What was made of it by the table; the function of the product completes it.
    """

    file: Any
    cube_name: str
    cube: StoredCube

    @property
    def group(self) -> str:
        """The group of the cube."""
        return self.cube_name.rpartition("/")[0]


@dataclass(frozen=True)
class Hdf5Product:
    """Where the files of a product keep what.

    Names of datasets are paths from the group of the cube, or else from the root. A name that
    begins with ``@`` is an attribute of the cube.

    Attributes
    ----------
    name : str
        Of the sensor, for messages.
    cubes : tuple of str
        Paths of the cube, the first that exists is read. ``*`` stands for any group of the root.
    needs : tuple of str
        Paths that a file must have to be of this product, besides one of the cubes.
    refused : mapping of str to str
        Paths that only other products of the sensor have, and what is said about these.
    axes : tuple of int
        Which axes of the cube are band, y and x, unless dimension scales name them.
    wavelength, fwhm, good_band : str
        Names of the lists of wavelengths, widths and good bands; "" if there are none.
    units : str
        The unit of wavelengths, or the name of an attribute of the cube that tells it.
    nodata, divisor : str
        Attributes of the cube: the no-data value, and a number by which values are divided. By
        default ``_FillValue``, ``scale_factor`` and ``add_offset`` are used.
    is_joined : bool
        Whether all cubes make one scene. One of them is read as it is, if it is named.
    complete : callable
        Called with an :class:`Opened`, to add what the table cannot say. Its keyword arguments are
        the options of ``read_scene`` that the product has.
    """

    name: str
    cubes: tuple[str, ...]
    complete: Callable[..., None]
    needs: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    axes: tuple[int, int, int] = (0, 1, 2)
    wavelength: str = ""
    fwhm: str = ""
    good_band: str = ""
    units: str = ""
    nodata: str = ""
    divisor: str = ""
    is_joined: bool = False


PRODUCTS: list[Hdf5Product] = []


def hdf5_product(name: str, cubes: tuple[str, ...], **table: Any) -> Callable[[Function], Function]:
    """Register a product in HDF5 or NetCDF by its table and the function that completes it.

    Parameters
    ----------
    name, cubes, **table
        See :class:`selfdict.files.Hdf5Product`.

    Returns
    -------
    decorator
        For a function that takes a :class:`selfdict.files.Opened`, and options of ``read_scene`` as
        keyword arguments. It is called in the reader process, which imports the module it is
        defined in.

    Examples
    --------
    >>> from selfdict.files import hdf5_product
    >>> @hdf5_product("My sensor", cubes=("my_sensor/cube",), wavelength="lambda", units="nm")
    ... def complete_my_sensor(opened):
    ...     opened.cube.notes.append("the clouds of the file are not used (mask=…)")
    """

    def register(complete: Function) -> Function:
        # The last one comes first, so that a product can be described better than it is here.
        PRODUCTS.insert(0, Hdf5Product(name, cubes, complete, **table))
        note_module(complete)
        return complete

    return register


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
