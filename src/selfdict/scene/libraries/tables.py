"""Libraries as tables: ``.csv`` and NumPy's ``.npz``."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats import npy
from selfdict.scene.formats.arrays import WAVELENGTH
from selfdict.scene.formats.limits import Limit
from selfdict.scene.libraries.model import build_library
from selfdict.scene.model import to_nanometres, unit_of

# Names of the bandwidths, with their unit if the name tells it.
_FWHM = {"fwhm": None, "fwhm_nm": "nm", "fwhm_um": "um"}
_MAX_CSV_BYTES = 2**28  # in memory a table of text takes ten times as much


def read_npz(path: Path) -> xr.DataArray:
    """Read arrays ``spectra`` or ``D``, ``names``, and what is known about bands."""
    # Checks the declared sizes, before anything is loaded.
    shapes = npy.array_shapes(Limit(path, path.stat().st_size))
    with np.load(path, allow_pickle=False) as arrays:
        matrices = [key for key in ("spectra", "D") if len(shapes.get(key, ())) == 2]
        if not matrices or "names" not in arrays:
            raise SceneError(path, "must hold a matrix 'spectra' or 'D', and 'names'")
        values = arrays[matrices[0]]
        names = arrays["names"].ravel()
        # D is a dictionary, with its atoms as columns. Spectra are found by the number of names.
        if values.shape[0] != names.size or matrices[0] == "D":
            values = values.T
        listed = {}
        for key, shape in shapes.items():
            if key in (*WAVELENGTH, *_FWHM) and shape == (values.shape[1],):
                listed[key] = arrays[key]
        material = None
        if "materials" in arrays:
            material = arrays["materials"].ravel()
    return build_library(values, names, material=material, **_bands(listed))


def read_csv(path: Path) -> xr.DataArray:
    """Read one column per spectrum, with its name above it, and one row per band."""
    if path.stat().st_size > _MAX_CSV_BYTES:
        raise SceneError(path, f"is larger than {_MAX_CSV_BYTES} bytes; make it an .npz")
    # utf-8-sig: spreadsheets write a byte order mark, which would become part of the first name.
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [row for row in csv.reader(file) if row]
    if len(lines) < 2 or any(len(row) != len(lines[0]) for row in lines):
        raise SceneError(
            path, "must have one row of names, and as many numbers in each row below it"
        )
    columns = {}
    for k, name in enumerate(lines[0]):
        columns[name.strip()] = [row[k] for row in lines[1:]]
    if len(columns) != len(lines[0]):
        raise SceneError(path, "has two columns of the same name")
    # Columns that describe bands are taken out: what is left are spectra.
    listed = {}
    for key in (*WAVELENGTH, *_FWHM):
        if key in columns:
            listed[key] = np.array(columns.pop(key), dtype=np.float64)
    for name in ("band", "band_name"):
        columns.pop(name, None)
    # Standard deviations of averaged spectra, as ``write_spectra`` adds them.
    for name in list(columns):
        if f"{name}_spread" in columns:
            del columns[f"{name}_spread"]
    spectra = np.array(list(columns.values()), dtype=np.float64)
    return build_library(spectra, list(columns), **_bands(listed))


def _bands(listed: Mapping[str, Array]) -> dict[str, Any]:
    """Return wavelengths and widths in nanometres, from the arrays that are there."""
    bands: dict[str, Any] = {}
    unit = "nm"
    for key, named_unit in WAVELENGTH.items():
        if key in listed and "wavelength" not in bands:
            unit = unit_of(listed[key], named_unit)
            bands["wavelength"] = to_nanometres(listed[key], unit)
    for key, named_unit in _FWHM.items():
        # Widths without a unit have that of the wavelengths; by their size it cannot be guessed.
        if key in listed and "fwhm" not in bands:
            bands["fwhm"] = to_nanometres(listed[key], named_unit or unit)
    return bands
