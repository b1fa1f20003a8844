"""File formats, one module per format.

A module has ``NAME`` (for messages), ``read(path, **options)`` returning a DataArray, and, if
scenes can be written, ``write(scene, path, **options)``.
"""

from pathlib import Path

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.products import find_product

# Modules by the names of formats; zarr_ is not called zarr, which it imports, and hdf5 holds what
# several formats need.
FORMATS = {
    "envi": "envi",
    "geotiff": "geotiff",
    "enmap": "enmap",
    "desis": "desis",
    "mat": "mat",
    "netcdf": "netcdf",
    "hdf5": "hdf5_scene",
    "zarr": "zarr_",
    "npy": "npy",
}
_SUFFIXES = {
    ".hdr": "envi",
    ".img": "envi",
    ".dat": "envi",
    ".raw": "envi",
    ".bsq": "envi",
    ".bil": "envi",
    ".bip": "envi",
    ".tif": "geotiff",
    ".tiff": "geotiff",
    ".mat": "mat",
    ".nc": "netcdf",
    ".nc4": "netcdf",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".he5": "hdf5",
    ".hdf": "hdf5",
    ".zarr": "zarr",
    ".npy": "npy",
    ".npz": "npy",
    ".xml": "enmap",
}


def format_of(path: Path) -> str:
    """Return the format of a file that is read.

    It is told by the suffix, and for products of several files by their names, see
    :mod:`selfdict.scene.formats.products`. A file of any name with a header ``.hdr`` next to it is
    ENVI.

    Examples
    --------
    >>> from pathlib import Path
    >>> format_of(Path("scene.tif"))
    'geotiff'
    """
    # A zarr store is a folder of thousands of files, none of them an image.
    if path.suffix.lower() != ".zarr":
        product = find_product(path)
        if product is not None and product.format is not None:
            return product.format
    return format_by_suffix(path)


def format_by_suffix(path: Path) -> str:
    """Return the format of a file that is written, or of one that belongs to no product."""
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    # A path such as "." has no name to put a suffix on.
    if path.name:
        for end in (".hdr", ".HDR"):
            if path.with_suffix(end).is_file() or path.with_name(path.name + end).is_file():
                return "envi"
    raise SceneError(
        path,
        f"the format of {suffix or 'a name without suffix'} is not known: "
        "expected .hdr, .tif, .mat, .nc, .h5, .he5, .zarr, .npy or .npz, or format=…",
    )
