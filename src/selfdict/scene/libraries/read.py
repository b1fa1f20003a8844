"""The entry point for reading spectral libraries."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np
import xarray as xr

from selfdict.files.errors import SceneError, first_line
from selfdict.scene.libraries import envi, tables
from selfdict.scene.libraries.folder import read_folder, read_text

# Readers by the suffix of a file. ENVI files have many suffixes: they are told by the header.
_READERS: dict[str, Callable[[Path], xr.DataArray]] = {
    ".csv": tables.read_csv,
    ".npz": tables.read_npz,
    ".txt": read_text,
}


def read_library(path: str | PathLike[str]) -> xr.DataArray:
    """Read a spectral library.

    Parameters
    ----------
    path : str or path-like
        One of these:

        - a folder of the USGS library version 7 (``ASCIIdata_splib07a``, one of the convolved
          libraries, or a chapter), or of the ECOSTRESS or ASTER library; or one ``.txt`` of them;
        - an ENVI spectral library (``.sli`` or its header);
        - an ``.npz`` with a matrix ``spectra`` or ``D``, ``names``, ``wavelength``, and perhaps
          ``fwhm`` and ``materials``;
        - a ``.csv`` with one row per band and one column per spectrum, headed by its name, and
          columns ``wavelength_nm`` or ``wavelength_um``, as :func:`write_spectra` makes it.

    Returns
    -------
    xarray.DataArray (spectrum, band)
        With the coordinates ``name (spectrum)``, ``material (spectrum)`` and, if the file has
        them, ``wavelength (band)`` and ``fwhm (band)`` in nanometres. If the spectra of a folder
        have wavelengths of their own, these coordinates have the dims (spectrum, band). The
        attribute ``selfdict_notes`` says what was left out.

    Raises
    ------
    SceneError
        The file is missing, damaged, or no library: one line with the file and the reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from selfdict import read_library
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "minerals.csv"
    ...     with path.open("w") as file:
    ...         print("wavelength_nm,quartz,calcite", file=file)
    ...         print("500,0.2,0.5", file=file)
    ...         print("600,0.4,0.7", file=file)
    ...     library = read_library(path)
    >>> library["name"].values.tolist(), library["wavelength"].values.tolist()
    (['quartz', 'calcite'], [500.0, 600.0])
    """
    path = Path(path)
    read = _READERS.get(path.suffix.lower(), envi.read)
    if path.is_dir():
        read = read_folder
    elif not path.is_file():
        raise SceneError(path, "no such file")
    try:
        # Damaged values may overflow, which is no error: they become NaN.
        with np.errstate(all="ignore"):
            return read(path)
    except SceneError:
        raise
    except Exception as error:
        # NumPy and csv have many exceptions for damaged files, and their messages name no file.
        raise SceneError(
            path, f"cannot be read as a spectral library: {first_line(error)}"
        ) from error
