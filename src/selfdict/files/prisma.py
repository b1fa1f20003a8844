"""PRISMA L2D: reflectance on a map grid, in HDF-EOS5 (``.he5``), one cube for each detector.

The cubes hold 16-bit numbers; reflectance = Min + number · (Max − Min) / 65535, with Min and Max of
the detector. Their axes are row, band and column. Detectors list their bands by falling wavelength,
with entries of wavelength 0 for bands that do not exist, and both see 940 to 970 nm.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.hdf5_file import chunk_of, load_axes
from selfdict.files.hdf5_parts import set_epsg
from selfdict.files.overlap import check_overlap, kept_bands
from selfdict.files.product_table import Opened, hdf5_product
from selfdict.files.units import unit_note, unit_of

_SWATHS = "HDFEOS/SWATHS"
_FIELDS = f"{_SWATHS}/PRS_L2D_HCO/Data Fields"
_DETECTORS = ("Vnir", "Swir")  # as they are spelled in the names of attributes
_AXES = (1, 0, 2)
_PIXEL_SIZE = 30.0  # metres
_OTHER_LEVEL = (
    "is a PRISMA product of another level than L2D; "
    "name one of its arrays by variable=… (--variable) to read it as it is"
)


@dataclass(frozen=True)
class _Bands:
    """One entry per band: where it is stored, and what is known about it."""

    is_vnir: Array
    index: Array
    wavelength: Array
    fwhm: Array
    is_good: Array
    gain: Array
    offset: Array

    def take(self, selection: Array) -> "_Bands":
        """Return the bands that an array of indices or booleans selects."""
        return _Bands(**{key: values[selection] for key, values in vars(self).items()})


@hdf5_product(
    "PRISMA",
    cubes=tuple(f"{_FIELDS}/{detector.upper()}_Cube" for detector in _DETECTORS),
    refused={f"{_SWATHS}/PRS_{level}_HCO": _OTHER_LEVEL for level in ("L1", "L2B", "L2C")},
    axes=_AXES,
    is_joined=True,
    options=("overlap",),
)
def _join_detectors(opened: Opened) -> None:
    """Make one cube of both detectors, its wavelengths rising."""
    overlap = check_overlap(opened.options.get("overlap"))
    cube = opened.cube
    notes: list[str] = []
    datasets = {}
    found = []
    for detector in _DETECTORS:
        name = f"{detector.upper()}_Cube"
        if opened.file.dataset(f"{_FIELDS}/{name}") is None:
            notes.append(f"the file has no {name}")
            continue
        datasets[detector] = opened.file.cube(f"{_FIELDS}/{name}")
        bands, band_notes = _detector_bands(opened, detector, datasets[detector])
        found.append(bands)
        notes += band_notes
    joined = {}
    for field in fields(_Bands):
        joined[field.name] = np.concatenate([getattr(bands, field.name) for bands in found])
    bands = _Bands(**joined)
    exists = bands.wavelength > 0
    if not exists.any():
        raise SceneError(opened.file.path, "lists no band with a wavelength")
    if not exists.all():
        n_missing = int((~exists).sum())
        notes.append(f"{n_missing} entries of the cubes have no wavelength and are left out")
    bands = bands.take(exists)
    # The product has nanometres, and no attribute that says so; the guess may be micrometres.
    if unit_of(bands.wavelength, None) == "um":
        notes += unit_note(bands.wavelength, None)
        bands = replace(bands, wavelength=1000 * bands.wavelength, fwhm=1000 * bands.fwhm)
    # A band that is flagged as bad must not displace a good one of the other detector.
    keep = np.ones(bands.wavelength.size, dtype=bool)
    keep[bands.is_good], overlap_notes = kept_bands(
        bands.wavelength[bands.is_good], bands.is_vnir[bands.is_good], overlap
    )
    bands = bands.take(keep)
    bands = bands.take(np.argsort(bands.wavelength, kind="stable"))
    cube.notes = [
        *overlap_notes,
        "the bands are put in the order of rising wavelength, and counted in this order",
        "the first axis of the cubes is taken as rows from north to south",
        *notes,
    ]
    _describe_bands(opened, bands)
    _join_values(opened, bands, datasets)
    for detector in _DETECTORS:
        name = f"{_FIELDS}/{detector.upper()}_PIXEL_L2_ERR_MATRIX"
        note = "the error matrices (invalid, negative, saturated values) are not used"
        if opened.file.dataset(name) is not None and note not in cube.notes:
            cube.notes.append(note)
    set_epsg(cube, opened.file.attribute_number(opened.file.root, "Epsg_Code"), "Epsg_Code")
    _place_grid(opened)


def _detector_bands(opened: Opened, detector: str, dataset: Any) -> tuple[_Bands, list[str]]:
    """Return all entries of the band axis of one detector, also those that are no bands."""
    file = opened.file
    n_bands = dataset.shape[_AXES[0]]
    name = f"{detector.upper()}_Cube"
    notes = []
    lists = {}
    for key, attribute, default in (
        ("wavelength", f"List_Cw_{detector}", None),
        ("fwhm", f"List_Fwhm_{detector}", np.nan),
        ("flags", f"List_Cw_{detector}_Flags", 1.0),
    ):
        values = file.attribute_numbers(file.root, attribute)
        if values is None and default is None:
            raise SceneError(file.path, f"has no attribute {attribute}, the wavelengths")
        if values is None:
            values = np.full(n_bands, default)
        elif values.size != n_bands or not np.isfinite(values).all():
            raise SceneError(
                file.path,
                f"the attribute {attribute} must have a finite number for each of the {n_bands} "
                f"bands of its cube, it has {values.size} numbers",
            )
        lists[key] = values
    if np.isnan(lists["fwhm"]).all():
        notes.append(f"the widths of the bands of {name} are not known")
    low = file.attribute_number(file.root, f"L2Scale{detector}Min")
    high = file.attribute_number(file.root, f"L2Scale{detector}Max")
    # Numbers of two detectors without their scales cannot be joined. The comparison is False for
    # NaN, too.
    if low is None or high is None or not -np.inf < low < high < np.inf:
        raise SceneError(
            file.path,
            f"needs attributes L2Scale{detector}Min < L2Scale{detector}Max, got {low}, {high}",
        )
    gain = (high - low) / 65535
    # The product holds 16-bit numbers. Other software writes reflectance as it is.
    if dataset.dtype.kind == "f":
        notes.append(f"{name} holds {dataset.dtype}, not integers: it is taken as scaled already")
        gain = 1.0
        low = 0.0
    bands = _Bands(
        is_vnir=np.full(n_bands, detector == "Vnir"),
        index=np.arange(n_bands),
        wavelength=lists["wavelength"],
        fwhm=lists["fwhm"],
        is_good=lists["flags"] != 0,
        gain=np.full(n_bands, gain),
        offset=np.full(n_bands, low),
    )
    return bands, notes


def _describe_bands(opened: Opened, bands: _Bands) -> None:
    cube = opened.cube
    cube.wavelength = bands.wavelength
    cube.fwhm = None
    if not np.isnan(bands.fwhm).all():
        cube.fwhm = bands.fwhm
    cube.good_band = bands.is_good
    cube.scale_factor = bands.gain
    cube.add_offset = bands.offset
    # The product fills pixels that it does not cover with 0 in all bands.
    cube.nodata = 0


def _join_values(opened: Opened, bands: _Bands, datasets: dict[str, Any]) -> None:
    """Let the cube be read from the datasets of both detectors."""
    cube = opened.cube
    grids = {(dataset.shape[0], dataset.shape[2], dataset.dtype) for dataset in datasets.values()}
    if len(grids) > 1:
        names = " and ".join(dataset.name.strip("/") for dataset in datasets.values())
        raise SceneError(opened.file.path, f"{names} differ in their rows, columns or data types")
    loads = {name: load_axes(dataset, _AXES) for name, dataset in datasets.items()}
    cube.shape = (bands.index.size, *cube.shape[1:])
    chunks = np.array([chunk_of(dataset, _AXES) for dataset in datasets.values()])
    cube.chunk = (int(chunks[:, 0].max()), int(chunks[:, 1].max()))

    def load(wanted: slice, rows: slice, columns: slice) -> Array:
        n_rows = rows.stop - rows.start
        n_columns = columns.stop - columns.start
        values = np.empty((wanted.stop - wanted.start, n_rows, n_columns), cube.dtype)
        for detector, load_detector in loads.items():
            is_of_detector = bands.is_vnir[wanted] == (detector == "Vnir")
            index = bands.index[wanted][is_of_detector]
            if index.size == 0:
                continue
            first = int(index.min())
            part = load_detector(slice(first, int(index.max()) + 1), rows, columns)
            values[is_of_detector] = part[index - first]
        return values

    cube.load = load


def _place_grid(opened: Opened) -> None:
    """Add the transform, if the corners of the product fit pixels of 30 m."""
    file = opened.file
    cube = opened.cube
    corners = []
    for name in ("ULcorner_easting", "ULcorner_northing", "LRcorner_easting", "LRcorner_northing"):
        corner = file.attribute_number(file.root, f"Product_{name}")
        if corner is None:
            cube.notes.append("the file has no corners: there are no map coordinates")
            return
        corners.append(corner)
    west, north, east, south = corners
    shape = np.array(cube.shape[1:])
    steps = np.array([north - south, east - west]) / _PIXEL_SIZE
    # Readers disagree on what a corner is; the distance between two of them tells it.
    if (np.abs(steps - (shape - 1)) < 0.5).all():
        half = _PIXEL_SIZE / 2
        what = "centres: they are n − 1 pixels apart"
    elif (np.abs(steps - shape) < 0.5).all():
        half = 0.0
        what = "edges: they are n pixels apart"
    else:
        cube.notes.append(
            f"its corners are {steps[0]:.1f} × {steps[1]:.1f} pixels of 30 m apart, which does not "
            f"fit {shape[0]} × {shape[1]}: there are no map coordinates"
        )
        return
    cube.transform = (west - half, _PIXEL_SIZE, 0.0, north + half, 0.0, -_PIXEL_SIZE)
    cube.notes.append(f"the corners that the file lists are taken as pixel {what}")
