"""What several readers of HDF5 files need: lists of the bands, and grids of the CF conventions."""

from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files.arrays import WAVELENGTH
from selfdict.files.cube import Array, StoredCube
from selfdict.files.errors import SceneError
from selfdict.files.grid import crs_from_text, transform_from_numbers
from selfdict.files.hdf5_file import Hdf5File
from selfdict.files.product_table import Opened
from selfdict.files.units import to_nanometres, unit_note, unit_of

_UNIT_NAMES = ("units", "Units", "unit", "Unit")


def describe_bands(
    cube: StoredCube,
    path: Path,
    wavelength: Array | None,
    units: str | None,
    fwhm: Array | None,
    is_good: Array | None,
) -> None:
    """Add wavelengths, widths (in ``units``; None: guessed) and good bands (not 0)."""
    n_bands = cube.shape[0]
    listed = {"wavelength": wavelength, "fwhm": fwhm, "good_band": is_good}
    for name, values in listed.items():
        if values is not None and values.shape != (n_bands,):
            raise SceneError(
                path,
                f"{name} must have one entry for each of the {n_bands} bands, "
                f"got shape {values.shape}",
            )
    if wavelength is not None:
        if not np.isfinite(wavelength).all():
            raise SceneError(path, "has wavelengths that are no finite numbers")
        cube.notes += unit_note(wavelength, units)
        unit = unit_of(wavelength, units)
        cube.wavelength = to_nanometres(wavelength, unit)
        # Widths have the unit of the wavelengths; by their size it cannot be guessed.
        if fwhm is not None:
            cube.fwhm = to_nanometres(fwhm, unit)
    if is_good is None:
        cube.notes.append("the file marks no bands as bad")
    else:
        cube.good_band = is_good != 0


def find_numbers(opened: Opened, name: str, units: str = "") -> tuple[Array | None, str | None]:
    """Return the numbers that a product's table names, and their unit.

    ``units`` is that of the table: a unit, or the name of an attribute of the cube.
    """
    file = opened.file
    if not name:
        return None, None
    unit = None
    if units.startswith("@"):
        unit = file.attribute_text(opened.dataset, units[1:])
    elif units:
        unit = units
    if name.startswith("@"):
        return file.attribute_numbers(opened.dataset, name[1:]), unit
    for place in (f"{opened.group}/{name}", name):
        dataset = file.dataset(place)
        if dataset is not None:
            return file.numbers(place), unit or file.attribute_text(dataset, *_UNIT_NAMES)
    return None, unit


def wavelengths_beside(
    file: Hdf5File, cube_name: str, sizes: set[int]
) -> tuple[Array | None, str | None]:
    """Return wavelengths near a cube that fit one of the sizes, and their unit if it is named."""
    name = _find_beside(file, cube_name, tuple(WAVELENGTH), sizes)
    if name is None:
        return None, None
    unit = WAVELENGTH[name.rpartition("/")[2].lower()]
    return file.numbers(name), unit or file.attribute_text(file.dataset(name), *_UNIT_NAMES)


def find_list(
    file: Hdf5File, cube_name: str, dataset: Any, names: tuple[str, ...], n_bands: int
) -> Array | None:
    """Return one number per band, from an attribute of the cube or a dataset near it."""
    for name in names:
        values = file.attribute_numbers(dataset, name)
        if values is not None and values.size == n_bands:
            return values
    found = _find_beside(file, cube_name, names, {n_bands})
    if found is None:
        return None
    return file.numbers(found)


def _find_beside(
    file: Hdf5File, cube_name: str, names: tuple[str, ...], sizes: set[int]
) -> str | None:
    """Return the path of a list in the group of the cube or in a group around it, or None."""
    group = cube_name
    while group:
        group = group.rpartition("/")[0]
        for member in file.members(group):
            if member.lower() not in names:
                continue
            path = f"{group}/{member}".strip("/")
            dataset = file.dataset(path)
            if dataset is None or dataset.dtype.kind not in "biuf":
                continue
            fits = len(dataset.shape or ()) == 1 and dataset.shape[0] in sizes
            if fits and not file.is_bare_dimension(dataset):
                return path
    return None


def describe_cf_grid(cube: StoredCube, file: Hdf5File, cube_name: str, dataset: Any) -> None:
    """Add CRS and transform as the CF conventions give them, with GDAL's ``GeoTransform``.

    The cube names a variable by its attribute ``grid_mapping``; files of AVIRIS have one that is
    called ``transverse_mercator`` or ``projection``.
    """
    names = ["transverse_mercator", "projection"]
    named = file.attribute_text(dataset, "grid_mapping")
    if named is not None:
        names.insert(0, named)
    mapping = None
    # NetCDF looks for variables in the group itself first, then around it.
    for name in names:
        for place in (f"{cube_name.rpartition('/')[0]}/{name}", name):
            if mapping is None and name.strip("/"):
                mapping = file.dataset(place)
    if mapping is None:
        cube.notes.append("the file has no grid mapping: pixels have no map coordinates")
        return
    # GDAL writes the first name, the CF conventions know the second.
    text = file.attribute_text(mapping, "spatial_ref", "crs_wkt")
    if text is not None:
        cube.crs, notes = crs_from_text(text)
        cube.notes += notes
    transform = transform_from_numbers(file.attribute_numbers(mapping, "GeoTransform"))
    if transform is not None:
        cube.transform = transform.to_gdal()


def set_epsg(cube: StoredCube, code: float | None, where: str) -> None:
    """Set the CRS by its code, with a note if there is none."""
    if code is None or not np.isfinite(code):
        cube.notes.append(f"the file names no CRS ({where})")
        return
    cube.crs, notes = crs_from_text(f"EPSG:{int(code)}")
    cube.notes += notes
