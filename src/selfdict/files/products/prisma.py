"""PRISMA L2D: one cube of 16-bit numbers for each detector, bands by falling wavelength."""

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import Array, StoredCube
from selfdict.files.grid import add_epsg
from selfdict.files.products import Opened, hdf5_product
from selfdict.files.wavelengths import describe_bands, kept_bands

_SWATHS = "HDFEOS/SWATHS"
_FIELDS = f"{_SWATHS}/PRS_L2D_HCO/Data Fields"
_DETECTORS = ("Vnir", "Swir")  # as they are spelled in the names of attributes
_AXES = (1, 0, 2)
_PIXEL_SIZE = 30.0  # metres
_OTHER_LEVEL = (
    "is a PRISMA product of another level than L2D; "
    "name one of its arrays by variable=… to read it as it is"
)


@hdf5_product(
    "PRISMA",
    cubes=tuple(f"{_FIELDS}/{detector.upper()}_Cube" for detector in _DETECTORS),
    refused={f"{_SWATHS}/PRS_{level}_HCO": _OTHER_LEVEL for level in ("L1", "L2B", "L2C")},
    axes=_AXES,
    is_joined=True,
)
def _join_detectors(opened: Opened, *, overlap: str | None = None, quality: bool = False) -> None:
    """Make one cube of both detectors."""
    notes = ["the first axis of the cubes is taken as rows from north to south"]
    parts = {}
    for detector in _DETECTORS:
        name = f"{detector.upper()}_Cube"
        if opened.file.node(f"{_FIELDS}/{name}") is None:
            notes.append(f"the file has no {name}")
        else:
            parts[detector] = _read_detector(opened, detector)
    if len({(part.shape[1:], part.dtype) for part in parts.values()}) > 1:
        raise InputError(
            "the cubes of its two detectors differ in their rows, columns or data types"
        )
    cube = _joined(list(parts.values()))
    opened.cube = cube
    cube.notes += notes
    # The product fills pixels that it does not cover with 0 in all bands.
    cube.nodata = 0
    assert cube.wavelength is not None
    assert cube.good_band is not None
    exists = cube.wavelength > 0
    if not exists.all():
        n_missing = int((~exists).sum())
        cube.notes.append(f"{n_missing} entries of the cubes have no wavelength and are left out")
    is_vnir = np.zeros(cube.shape[0], dtype=bool)
    if "Vnir" in parts:
        is_vnir[: parts["Vnir"].shape[0]] = True
    keep, overlap_notes = kept_bands(cube.wavelength, is_vnir, cube.good_band & exists, overlap)
    cube.notes += overlap_notes
    if quality:
        _apply_errors(opened, list(parts), keep & exists)
    else:
        cube.notes.append(
            "the error matrices (invalid, saturated values) are not used: quality=True uses them"
        )
    cube.keep_bands(keep & exists)
    add_epsg(cube, opened.file.number("@Epsg_Code"), "Epsg_Code")
    _place_grid(opened)


def _read_detector(opened: Opened, detector: str) -> StoredCube:
    """Return the cube of one detector, also with entries that are no bands."""
    file = opened.file
    name = f"{detector.upper()}_Cube"
    dataset = file.require(f"{_FIELDS}/{name}")
    part = StoredCube.from_stored(dataset, _AXES, dataset.chunks)
    n_bands = part.shape[0]
    wavelength = file.numbers(f"@List_Cw_{detector}")
    fwhm = file.numbers(f"@List_Fwhm_{detector}")
    for values, key in ((wavelength, "List_Cw"), (fwhm, "List_Fwhm")):
        if values is None or values.shape != (n_bands,) or not np.isfinite(values).all():
            raise InputError(f"needs an attribute {key}_{detector} with a number for each band")
    describe_bands(part, wavelength, "nm", fwhm)
    flags = file.numbers(f"@List_Cw_{detector}_Flags")
    part.good_band = np.ones(n_bands, dtype=bool)
    if flags is not None:
        part.good_band = flags != 0
    low = file.number(f"@L2Scale{detector}Min")
    high = file.number(f"@L2Scale{detector}Max")
    # The comparison is False for NaN, too.
    if low is None or high is None or not -np.inf < low < high < np.inf:
        raise InputError(
            f"needs attributes L2Scale{detector}Min < L2Scale{detector}Max, got {low}, {high}"
        )
    # Other software writes reflectance as it is.
    if part.dtype.kind == "f":
        part.notes.append(f"{name} has {part.dtype} values: they are assumed to be scaled already")
        low = 0.0
        high = 65535.0
    part.scale_factor = np.full(n_bands, (high - low) / 65535)
    part.add_offset = np.full(n_bands, low)
    return part


def _joined(parts: list[StoredCube]) -> StoredCube:
    """Return a cube with the bands of several ones, one after the other."""

    def load(bands: slice, rows: slice, columns: slice) -> Array:
        values = []
        first = 0
        for part in parts:
            low = max(bands.start - first, 0)
            high = min(bands.stop - first, part.shape[0])
            if low < high:
                values.append(part.load(slice(low, high), rows, columns))
            first += part.shape[0]
        return np.concatenate(values)

    n_bands = sum(part.shape[0] for part in parts)
    cube = StoredCube(load, (n_bands, *parts[0].shape[1:]), parts[0].dtype)
    cube.chunk = (max(part.chunk[0] for part in parts), max(part.chunk[1] for part in parts))
    for key in ("wavelength", "fwhm", "good_band", "scale_factor", "add_offset"):
        setattr(cube, key, np.concatenate([getattr(part, key) for part in parts]))
    for part in parts:
        cube.notes += part.notes
    return cube


def _apply_errors(opened: Opened, detectors: list[str], is_kept: Array) -> None:
    """Leave out pixels with an invalid or saturated value in a band that is used."""
    cube = opened.cube
    assert cube.good_band is not None
    is_left_out = np.zeros(cube.shape[1:], dtype=bool)
    is_bad = np.zeros(cube.shape[0], dtype=bool)
    band = 0
    for detector in detectors:
        errors = opened.file.require(f"{_FIELDS}/{detector.upper()}_PIXEL_L2_ERR_MATRIX")
        for marks in errors[()].transpose(_AXES):
            # 1 marks an invalid, 2 a negative, 4 a saturated value.
            is_flagged = (marks & 5) != 0
            # The band is bad, not most of the pixels.
            if is_flagged.mean() > 0.5:
                is_bad[band] = True
            elif is_kept[band] and cube.good_band[band]:
                is_left_out |= is_flagged
            band += 1
    cube.mark_bad(is_bad & is_kept, "the error matrices flag in most pixels")
    cube.leave_out(is_left_out)
    cube.notes.append("pixels that the error matrices flag as invalid or saturated are left out")


def _place_grid(opened: Opened) -> None:
    """Add the transform, if the corners of the product fit pixels of 30 m."""
    file = opened.file
    cube = opened.cube
    names = ("ULcorner_easting", "ULcorner_northing", "LRcorner_easting", "LRcorner_northing")
    west, north, east, south = (file.number(f"@Product_{name}") for name in names)
    if west is None or north is None or east is None or south is None:
        cube.notes.append("the file has no corners: there are no map coordinates")
        return
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
