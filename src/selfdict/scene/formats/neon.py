"""NEON AOP reflectance: HDF5, ``/SITE/Reflectance/Reflectance_Data (y, x, band)``.

Reflectance = stored value / ``Scale_Factor``. Attributes ``Band_Window_…_Nanometers`` name the
wavelengths at which water vapour absorbs all light.
"""

from itertools import islice
from typing import Any

import h5py
import numpy as np
import xarray as xr
from affine import Affine

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.envi_map import read_map
from selfdict.scene.formats.hdf5 import (
    load_values,
    nodata_attribute,
    number_list,
    one_number,
    own_group,
    parse_numbers,
    plain_dataset,
    required_dataset,
    text_of,
)
from selfdict.scene.formats.hdf5_bands import band_data, unit_attribute
from selfdict.scene.formats.hdf5_cube import checked_cube, lazy_dataset
from selfdict.scene.formats.hdf5_grid import MapGrid, crs_from_text
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.packed import load_numbers
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes
from selfdict.scene.units import to_nanometres, unit_of

CUBE = "Reflectance/Reflectance_Data"  # in the group of a site
_SPECTRAL = "Reflectance/Metadata/Spectral_Data"
_COORDINATES = "Reflectance/Metadata/Coordinate_System"


def find_sites(file: Any) -> list[str]:
    """Return the names of the groups of NEON sites, none if this is no NEON file."""
    sites = []
    # A file has one site; one with thousands of groups is something else.
    for name in islice(file, 100):
        # h5py returns names that are no UTF-8 as bytes.
        if isinstance(name, str) and plain_dataset(file, f"{name}/{CUBE}") is not None:
            sites.append(name)
    return sites


def read(limit: Limit, site: str) -> xr.DataArray:
    """Read the reflectance of a site, see :func:`find_sites`."""
    path = limit.path
    with h5py.File(path, "r") as file:
        name = f"{site}/{CUBE}"
        cube = checked_cube(limit, file, name)
        scale = one_number(path, cube, "Scale_Factor")
        if scale is None or not 0 < scale < np.inf:
            raise SceneError(path, f"needs an attribute Scale_Factor above 0, got {scale}")
        listed = required_dataset(path, file, f"{site}/{_SPECTRAL}/Wavelength")
        wavelength = load_numbers(limit, listed)
        fwhm = plain_dataset(file, f"{site}/{_SPECTRAL}/FWHM")
        if fwhm is not None:
            fwhm = load_numbers(limit, fwhm)
        units = unit_attribute(path, listed)
        nanometres = to_nanometres(wavelength, unit_of(wavelength, units))
        is_good, window_notes = _read_windows(limit, file, site, nanometres)
        bands, band_notes = band_data(path, cube.shape[2], wavelength, units, fwhm, is_good)
        grid = _read_grid(limit, file, f"{site}/{_COORDINATES}")
        scene = build_scene(
            lazy_dataset(limit, file, name, (2, 0, 1)),
            **bands,
            crs=grid.crs,
            transform=grid.transform,
            nodata=nodata_attribute(path, cube, "Data_Ignore_Value"),
            scale_factor=1 / scale,
        )
        others = [name for name in find_sites(file) if name != site]
    notes = []
    if others:
        notes.append(f"{site} is read, the other sites are not: {', '.join(others[:5])} (variable)")
    return add_notes(scene, *notes, *band_notes, *window_notes, *grid.notes)


def _read_windows(
    limit: Limit, file: Any, site: str, wavelength: Array | None
) -> tuple[Array | None, list[str]]:
    """Return which bands are outside of the water vapour windows, None if the file has none."""
    group = own_group(file, f"{site}/Reflectance")
    windows = []
    for name in ("Band_Window_1_Nanometers", "Band_Window_2_Nanometers"):
        window = number_list(limit.path, group, name)
        if window is not None and window.size == 2:
            windows.append(window)
    if not windows or wavelength is None:
        return None, []
    is_good = np.ones(wavelength.shape, dtype=bool)
    # Both ends belong to a window.
    for low, high in windows:
        is_good &= ~((wavelength >= low) & (wavelength <= high))
    spans = " and ".join(f"{low:.0f}–{high:.0f} nm" for low, high in windows)
    return is_good, [f"the bands in the water vapour windows {spans} are marked as bad"]


def _read_grid(limit: Limit, file: Any, group: str) -> MapGrid:
    """Return CRS and transform: an ENVI ``map info``, and the code of the CRS."""
    path = limit.path
    fields = {}
    for key, name in (
        ("map info", "Map_Info"),
        ("coordinate system string", "Coordinate_System_String"),
    ):
        text = _load_text(limit, file, f"{group}/{name}")
        if text is not None:
            fields[key] = text
    crs, transform, map_notes = read_map(path, fields)
    # The code is exact, other than a name of a datum in the map info.
    code = plain_dataset(file, f"{group}/EPSG Code")
    if code is not None:
        numbers = parse_numbers(path, load_values(limit, code), "EPSG Code")
        if numbers.size == 1 and np.isfinite(numbers[0]):
            named, notes = crs_from_text(f"EPSG:{int(numbers[0])}")
            if named is not None:
                return _grid(named, transform, notes)
            return _grid(crs, transform, (*notes, *map_notes))
    return _grid(crs, transform, tuple(map_notes))


def _grid(crs: Any, transform: Affine | None, notes: tuple[str, ...]) -> MapGrid:
    if transform is None:
        notes = (*notes, "the file has no Map_Info: there are no map coordinates")
    return MapGrid(crs, transform, notes)


def _load_text(limit: Limit, file: Any, name: str) -> str | None:
    dataset = plain_dataset(file, name)
    if dataset is None:
        return None
    return text_of(load_values(limit, dataset))
