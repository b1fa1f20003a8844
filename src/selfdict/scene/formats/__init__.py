"""File formats, one file each.

A module has ``NAME`` (for messages), ``read(path, **options)`` returning a DataArray, and, where
scenes can be written, ``write(scene, path, **options)``.
"""

from pathlib import Path

from selfdict.scene.errors import SceneError

FORMATS = {
    "envi": "envi",
    "geotiff": "geotiff",
    "mat": "mat",
    "netcdf": "netcdf",
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
    ".zarr": "zarr",
    ".npy": "npy",
    ".npz": "npy",
}


def format_of(path: Path) -> str:
    """Return the format of a file by its suffix; a file of any name with a header ``.hdr`` beside it is ENVI.

    Examples
    --------
    >>> from pathlib import Path
    >>> format_of(Path("scene.tif"))
    'geotiff'
    """
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if path.name and (
        path.with_suffix(".hdr").is_file() or path.with_name(path.name + ".hdr").is_file()
    ):
        return "envi"
    raise SceneError(
        path,
        f"the format of {suffix or 'a name without suffix'} is not known: "
        "expected .hdr, .tif, .mat, .nc, .zarr, .npy or .npz, or format=…",
    )
