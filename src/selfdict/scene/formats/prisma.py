"""PRISMA L2D: reflectance on a map grid, in HDF-EOS5 (``.he5``), one cube for each detector.

The cubes hold 16-bit numbers; reflectance = Min + number · (Max − Min) / 65535, with Min and Max of
the detector. Their axes are row, band and column. Detectors list their bands by falling wavelength,
with entries of wavelength 0 for bands that do not exist, and both see 940 to 970 nm.
"""

from dataclasses import dataclass, replace
from typing import Any

import h5py
import numpy as np
import xarray as xr
from affine import Affine

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.hdf5 import number_list, one_number, own_group, plain_dataset
from selfdict.scene.formats.hdf5_cube import CubePart, checked_cube, lazy_parts
from selfdict.scene.formats.hdf5_grid import MapGrid, crs_from_text
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.overlap import check_overlap, kept_bands
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes
from selfdict.scene.units import unit_note, unit_of

_SWATHS = "HDFEOS/SWATHS"
_FIELDS = f"{_SWATHS}/PRS_L2D_HCO/Data Fields"
_DETECTORS = ("Vnir", "Swir")  # as they are spelled in the names of attributes
_PIXEL_SIZE = 30.0  # metres
_CORNERS = "the corners that the file lists are taken as pixel"  # the beginning of two notes


def is_prisma(file: Any) -> bool:
    """Whether this HDF5 file has a swath of a PRISMA product, of any level."""
    swaths = own_group(file, _SWATHS)
    if swaths is None:
        return False
    return any(f"PRS_{level}_HCO" in swaths for level in ("L1", "L2B", "L2C", "L2D"))


def read(limit: Limit, *, overlap: str | None = None) -> xr.DataArray:
    """Read both detectors as one scene, its wavelengths rising.

    Parameters
    ----------
    limit : Limit
        Of the file.
    overlap : {"vnir", "swir", "both"}, optional
        The detector whose bands are kept where both see the same wavelengths; default "vnir".
    """
    overlap = check_overlap(overlap)
    with h5py.File(limit.path, "r") as file:
        if own_group(file, _FIELDS) is None:
            raise SceneError(
                limit.path,
                "is a PRISMA product of another level than L2D; "
                "name one of its arrays by variable=… (--variable) to read it as it is",
            )
        bands, notes = _read_bands(limit, file)
        is_vnir = bands.dataset == _dataset_name("Vnir")
        # A band that is flagged as bad must not displace a good one of the other detector.
        good = np.flatnonzero(bands.is_good)
        kept, overlap_notes = kept_bands(bands.wavelength[good], is_vnir[good], overlap)
        keep = np.ones(bands.wavelength.size, dtype=bool)
        keep[good] = kept
        bands = bands.take(keep)
        bands = bands.take(np.argsort(bands.wavelength, kind="stable"))
        values = lazy_parts(limit, file, _parts(bands))
        grid = _read_grid(limit, file, values.shape[1:])
        if _has_error_matrix(file):
            notes.append("the error matrices (invalid, negative, saturated values) are not used")
    fwhm: Array | None = bands.fwhm
    if np.isnan(bands.fwhm).all():
        fwhm = None
    scene = build_scene(
        values,
        wavelength=bands.wavelength,
        fwhm=fwhm,
        good_band=bands.is_good,
        crs=grid.crs,
        transform=grid.transform,
        # The product fills pixels that it does not cover with 0 in all bands.
        nodata=0,
        scale_factor=bands.gain,
        add_offset=bands.offset,
    )
    return add_notes(scene, *overlap_notes, *notes, *grid.notes)


@dataclass(frozen=True)
class _Bands:
    """One entry per band: where it is stored, and what is known about it."""

    dataset: Array
    index: Array
    wavelength: Array
    fwhm: Array
    is_good: Array
    gain: Array
    offset: Array

    def take(self, selection: Array) -> "_Bands":
        """Return the bands that an array of indices or booleans selects."""
        return _Bands(**{key: values[selection] for key, values in vars(self).items()})


def _dataset_name(detector: str) -> str:
    return f"{_FIELDS}/{detector.upper()}_Cube"


def _read_bands(limit: Limit, file: Any) -> tuple[_Bands, list[str]]:
    """Return the bands of both detectors that have a wavelength, and notes."""
    found = []
    notes = [
        "the bands are put in the order of rising wavelength, and counted in this order",
        "the first axis of the cubes is taken as rows from north to south",
    ]
    for detector in _DETECTORS:
        cube = plain_dataset(file, _dataset_name(detector))
        if cube is None:
            notes.append(f"the file has no {detector.upper()}_Cube")
        else:
            found.append(_detector_bands(limit, file, detector))
            notes += _remarks(found[-1], cube)
    if not found:
        raise SceneError(limit.path, "has neither a VNIR_Cube nor a SWIR_Cube of its own")
    joined = {}
    for key in vars(found[0]):
        joined[key] = np.concatenate([getattr(bands, key) for bands in found])
    bands = _Bands(**joined)
    exists = bands.wavelength > 0
    if not exists.any():
        raise SceneError(limit.path, "lists no band with a wavelength")
    if not exists.all():
        n_missing = int((~exists).sum())
        notes.append(f"{n_missing} entries of the cubes have no wavelength and are left out")
    bands = bands.take(exists)
    # The product has nanometres, and no attribute that says so; the guess may be micrometres.
    if unit_of(bands.wavelength, None) == "um":
        notes += unit_note(bands.wavelength, None)
        bands = replace(bands, wavelength=1000 * bands.wavelength, fwhm=1000 * bands.fwhm)
    return bands, notes


def _remarks(bands: _Bands, cube: Any) -> list[str]:
    """Return notes about a detector of which something is missing or other than in the product."""
    name = cube.name.rpartition("/")[2]
    notes = []
    if np.isnan(bands.fwhm).all():
        notes.append(f"the widths of the bands of {name} are not known")
    if cube.dtype.kind == "f":
        notes.append(f"{name} holds {cube.dtype}, not integers: it is taken as scaled already")
    return notes


def _detector_bands(limit: Limit, file: Any, detector: str) -> _Bands:
    """Return all entries of the band axis of one detector, also those that are no bands."""
    path = limit.path
    cube = checked_cube(limit, file, _dataset_name(detector))
    n_bands = cube.shape[1]
    wavelength = _band_list(limit, file, f"List_Cw_{detector}", n_bands)
    if wavelength is None:
        raise SceneError(path, f"has no attribute List_Cw_{detector}, the wavelengths")
    fwhm = _band_list(limit, file, f"List_Fwhm_{detector}", n_bands)
    # NaN, so that both detectors have the same entries.
    if fwhm is None:
        fwhm = np.full(n_bands, np.nan)
    flags = _band_list(limit, file, f"List_Cw_{detector}_Flags", n_bands)
    if flags is None:
        flags = np.ones(n_bands)
    low = one_number(path, file, f"L2Scale{detector}Min")
    high = one_number(path, file, f"L2Scale{detector}Max")
    # Numbers of two detectors without their scales cannot be joined. The comparison is False for
    # NaN, too.
    if low is None or high is None or not -np.inf < low < high < np.inf:
        raise SceneError(
            path, f"needs attributes L2Scale{detector}Min < L2Scale{detector}Max, got {low}, {high}"
        )
    gain = (high - low) / 65535
    # The product holds 16-bit numbers. Other software writes reflectance as it is.
    if cube.dtype.kind == "f":
        gain = 1.0
        low = 0.0
    return _Bands(
        dataset=np.full(n_bands, _dataset_name(detector)),
        index=np.arange(n_bands),
        wavelength=wavelength,
        fwhm=fwhm,
        is_good=flags != 0,
        gain=np.full(n_bands, gain),
        offset=np.full(n_bands, low),
    )


def _band_list(limit: Limit, file: Any, name: str, n_bands: int) -> Array | None:
    values = number_list(limit.path, file, name)
    if values is not None and (values.size != n_bands or not np.isfinite(values).all()):
        raise SceneError(
            limit.path,
            f"the attribute {name} must have a finite number for each of the {n_bands} bands of "
            f"its cube, it has {values.size} numbers",
        )
    return values


def _parts(bands: _Bands) -> list[CubePart]:
    parts = []
    for name in np.unique(bands.dataset):
        positions = np.flatnonzero(bands.dataset == name)
        parts.append(CubePart(str(name), (1, 0, 2), bands.index[positions], positions))
    return parts


def _has_error_matrix(file: Any) -> bool:
    names = [f"{_FIELDS}/{detector.upper()}_PIXEL_L2_ERR_MATRIX" for detector in _DETECTORS]
    return any(plain_dataset(file, name) is not None for name in names)


def _read_grid(limit: Limit, file: Any, shape: tuple[int, int]) -> MapGrid:
    """Return the CRS and the grid of the product, if its corners fit pixels of 30 m."""
    path = limit.path
    crs = None
    notes: tuple[str, ...] = ("the file names no CRS (Epsg_Code)",)
    code = one_number(path, file, "Epsg_Code")
    if code is not None and np.isfinite(code):
        crs, notes = crs_from_text(f"EPSG:{int(code)}")
    west = one_number(path, file, "Product_ULcorner_easting")
    north = one_number(path, file, "Product_ULcorner_northing")
    east = one_number(path, file, "Product_LRcorner_easting")
    south = one_number(path, file, "Product_LRcorner_northing")
    if west is None or north is None or east is None or south is None:
        return MapGrid(crs, None, (*notes, "the file has no corners: there are no map coordinates"))
    steps = np.array([north - south, east - west]) / _PIXEL_SIZE
    # Readers disagree on what a corner is; the distance between two of them tells it.
    if (np.abs(steps - (np.array(shape) - 1)) < 0.5).all():
        half = _PIXEL_SIZE / 2
        transform = Affine(_PIXEL_SIZE, 0.0, west - half, 0.0, -_PIXEL_SIZE, north + half)
        return MapGrid(crs, transform, (*notes, f"{_CORNERS} centres: they are n − 1 pixels apart"))
    if (np.abs(steps - np.array(shape)) < 0.5).all():
        transform = Affine(_PIXEL_SIZE, 0.0, west, 0.0, -_PIXEL_SIZE, north)
        return MapGrid(crs, transform, (*notes, f"{_CORNERS} edges: they are n pixels apart"))
    note = (
        f"its corners are {steps[0]:.1f} × {steps[1]:.1f} pixels of 30 m apart, which does not fit "
        f"{shape[0]} × {shape[1]}: there are no map coordinates"
    )
    return MapGrid(crs, None, (*notes, note))
