"""The file formats and products that are known, and the decorators by which others add theirs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from selfdict._errors import InputError, SceneError
from selfdict.files.cube import StoredCube
from selfdict.files.paths import header_names, is_plain_file, tiff_of_header

_Read = TypeVar("_Read", bound=Callable[..., Any])


@dataclass(frozen=True)
class FileFormat:
    """A format: how messages name it, the function that reads it, and which files are of it."""

    title: str
    module: str
    function: str = "read"
    suffixes: tuple[str, ...] = ()
    find: Callable[[Path], list[Path]] | None = None

    def reader(self) -> Callable[..., Any]:
        """Return the function that reads a file; its libraries are imported now."""
        read: Callable[..., Any] = getattr(import_module(self.module), self.function)
        return read


FORMATS: dict[str, FileFormat] = {}


def _add(name: str, title: str, module: str, *suffixes: str) -> None:
    FORMATS[name] = FileFormat(title, f"selfdict.files.{module}", suffixes=suffixes)


# The modules are imported when they are needed.
_add("envi", "ENVI", "envi", ".hdr", ".img", ".dat", ".raw", ".bsq", ".bil", ".bip")
_add("geotiff", "GeoTIFF", "geotiff", ".tif", ".tiff")
_add("mat", "a MATLAB file", "matlab_numpy", ".mat")
_add("netcdf", "NetCDF", "hdf5", ".nc", ".nc4")
_add("hdf5", "HDF5", "hdf5", ".h5", ".hdf5", ".he5", ".hdf")
_add("zarr", "zarr", "zarr_store", ".zarr")
_add("npy", "NumPy", "matlab_numpy", ".npy", ".npz")

# Modules that have registered formats or products, which the reader process must import.
REGISTERING_MODULES: set[str] = set()


def file_format(
    name: str,
    *,
    suffixes: tuple[str, ...] = (),
    title: str | None = None,
    find: Callable[[Path], list[Path]] | None = None,
) -> Callable[[_Read], _Read]:
    """Register a function as the reader of a file format.

    Parameters
    ----------
    name : str
        For ``read_scene(path, format=name)``.
    suffixes : tuple of str
        Files of these suffixes are read by it, such as ``(".cube",)``.
    title : str, optional
        How messages name the format; default: its name.
    find : callable, optional
        For products of several files, whatever their suffixes: ``find(path)`` returns the files of
        the product that a file or a folder belongs to, an empty list if there is none.

    Returns
    -------
    decorator
        For a function ``read(path, **options)`` that returns a
        :class:`selfdict.files.StoredCube`. It is called in the reader process, which imports the
        module it is defined in. A function of ``__main__`` is called in this process.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.files import StoredCube, file_format
    >>> @file_format("text", suffixes=(".text-cube",))
    ... def read_text_cube(path):
    ...     return StoredCube.from_array(np.loadtxt(path)[None])
    """

    def register(read: _Read) -> _Read:
        _note_module(read)
        endings = tuple(suffix.lower() for suffix in suffixes)
        FORMATS[name] = FileFormat(title or name, read.__module__, read.__name__, endings, find)
        return read

    return register


def options_of(
    title: str, function: Callable[..., Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options that a function has; others are refused, except for a mask."""
    parameters = signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return dict(options)
    unknown = sorted(options.keys() - parameters.keys())
    # A mask is read with the options of the scene.
    if unknown and not options.get("as_mask"):
        raise InputError(f"{title} files do not take the option {', '.join(unknown)}")
    return {name: value for name, value in options.items() if name in parameters}


def _note_module(function: Callable[..., Any]) -> None:
    """Note the module of a function, which the reader process imports unless it is in here."""
    if not function.__module__.startswith("selfdict.files."):
        REGISTERING_MODULES.add(function.__module__)


def format_named(name: str) -> FileFormat:
    """Return the format of a name."""
    if name not in FORMATS:
        raise InputError(f"format must be one of {', '.join(sorted(FORMATS))}, got {name!r}")
    return FORMATS[name]


def format_of(path: Path) -> str:
    """Return the format of a file that is read.

    It is told by the suffix, and for products of several files by their names. A file of any name
    with a header ``.hdr`` next to it is ENVI.
    """
    # A zarr store is a folder of thousands of files, none of them an image.
    if path.suffix.lower() != ".zarr":
        for name, format in FORMATS.items():
            if format.find is not None and format.find(path):
                return name
    return format_by_suffix(path)


def format_by_suffix(path: Path) -> str:
    """Return the format of a file that is written, or of one that belongs to no product."""
    suffix = path.suffix.lower()
    if suffix == ".hdr" and tiff_of_header(path) is not None:
        return "geotiff"
    # The last one first, so that others can read files of these suffixes in their way.
    for name, format in reversed(FORMATS.items()):
        if suffix in format.suffixes:
            return name
    if any(is_plain_file(header) for header in header_names(path)):
        return "envi"
    raise SceneError(
        path,
        f"the format of {suffix or 'a folder or a name without suffix'} is not known: "
        "expected .hdr, .tif, .mat, .nc, .h5, .he5, .zarr, .npy or .npz, or format=…",
    )


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

_Complete = TypeVar("_Complete", bound=Callable[..., None])


def hdf5_product(
    name: str, cubes: tuple[str, ...], **table: Any
) -> Callable[[_Complete], _Complete]:
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

    def register(complete: _Complete) -> _Complete:
        # The last one comes first, so that a product can be described better than it is here.
        PRODUCTS.insert(0, Hdf5Product(name, cubes, complete, **table))
        _note_module(complete)
        return complete

    return register
