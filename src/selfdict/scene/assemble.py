"""The result of unmixing, put together from the request, the selection and the maps."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.files.grid import to_map
from selfdict.scene.georef import crs_of, transform_of
from selfdict.scene.mapping import Maps
from selfdict.scene.numbering import band_numbers
from selfdict.scene.request import UnmixRequest
from selfdict.scene.result import NegativeValues, UnmixResult
from selfdict.scene.selection import Selection


def assemble_result(
    request: UnmixRequest, selection: Selection, maps: Maps, seconds: Mapping[str, float]
) -> UnmixResult:
    """Return the result; ``seconds`` are the times of its steps."""
    scene = request.scene
    if selection.pixels is None:
        # The spectra of a library are no pixels: show the pixel that holds most of each.
        pixels = _rows_and_columns(maps.peaks, scene)
    else:
        pixels = _rows_and_columns(selection.pixels, scene)
    solution_pixels = None
    if selection.solution_pixels is not None:
        solution_pixels = _rows_and_columns(selection.solution_pixels, scene)
    atoms = None
    if request.library is not None:
        atoms = selection.chosen
    groups = None
    if selection.groups is not None:
        groups = tuple(_rows_and_columns(group, scene) for group in selection.groups)
    endmembers = _endmembers(request, selection, maps)
    spread = None
    if selection.spread is not None:
        spread = endmembers.copy(data=selection.spread.T).rename("spread")
    return UnmixResult(
        groups=groups,
        group_weights=selection.group_weights,
        spread=spread,
        counts=selection.counts,
        proof=selection.proof,
        skipped=tuple(request.deadline.skipped),
        uncertainty=maps.uncertainty,
        brightness=maps.brightness,
        illumination=selection.illumination,
        pixel_error=_pixel_error(request, maps),
        negative=_negative_values(maps),
        preflight=request.preflight,
        endmembers=endmembers,
        pixels=pixels,
        coordinates=_coordinates(scene, pixels),
        crs=_crs_text(scene),
        abundances=maps.abundances,
        residual=maps.residual,
        valid=maps.valid,
        relative_error=maps.totals.relative_error,
        solution=selection.solution,
        solution_pixels=solution_pixels,
        guarantee=selection.guarantee,
        parameters=_parameters(request, selection, maps),
        seconds=seconds,
        atoms=atoms,
        check=maps.check,
    )


def _pixel_error(request: UnmixRequest, maps: Maps) -> float | None:
    """Return the relative error with the pure pixels as endmembers; None with a library."""
    if request.library is not None:
        return None
    if maps.pixel_error is None:
        # The pure pixels are the endmembers.
        return maps.totals.relative_error
    return maps.pixel_error


def _negative_values(maps: Maps) -> NegativeValues:
    totals = maps.totals
    return NegativeValues(
        count=totals.n_negative, n_values=totals.n_values, lowest=min(totals.lowest, 0.0)
    )


def _endmembers(request: UnmixRequest, selection: Selection, maps: Maps) -> xr.DataArray:
    """Return the spectra with the labels of the maps and what is known about the used bands."""
    coords: dict[Any, Any] = {}
    for key, coordinate in maps.abundances.coords.items():
        if coordinate.dims == ("endmember",):
            coords[key] = coordinate
    for key, coordinate in request.scene.coords.items():
        if coordinate.dims == ("band",):
            coords[key] = coordinate.isel(band=request.bands)
    # Bands may have been left out: a spectrum must say which ones it has.
    numbers = band_numbers(request.scene)[request.bands]
    coords["band_number"] = ("band", numbers)
    return xr.DataArray(selection.U.T, dims=("endmember", "band"), coords=coords, name="endmembers")


def _parameters(request: UnmixRequest, selection: Selection, maps: Maps) -> dict[str, Any]:
    """Return method and settings as they were used."""
    parameters: dict[str, Any] = {"r": request.r, "method": request.method}
    if request.method == "fgnsr":
        parameters["candidates"] = selection.candidates
        parameters["candidates_reason"] = request.candidates_reason
        parameters["mu"] = request.mu
        parameters["max_seconds"] = request.deadline.seconds
    if request.max_pixels is not None:
        parameters["max_pixels"] = request.max_pixels
    for key, value in request.options.items():
        # A callback is no setting, and could not be written to a file.
        if not callable(value):
            parameters[key] = value
    return parameters | {
        "endmembers": request.endmembers,
        "abundances": request.abundances,
        "keep_bands": request.keep_bands,
        "drop_bad_bands": request.drop_bad_bands,
        "n_bands": int(request.bands.sum()),
        "n_valid": maps.totals.n_valid,
        "n_fitted": selection.n_fitted,
        "random_state": request.seed,
    }


def _rows_and_columns(positions: Array, scene: xr.DataArray) -> Array:
    """Return positions counted row by row as (row, column), shape (k, 2)."""
    return np.stack(np.unravel_index(positions, scene.shape[1:]), axis=1)


def _coordinates(scene: xr.DataArray, pixels: Array) -> Array | None:
    """Return the map coordinates x, y of the centres of pixels, or None if they are not known."""
    rows, columns = pixels.T
    transform = transform_of(scene)
    if transform is not None:
        # Whole numbers are the corners of pixels.
        x, y = to_map(transform, columns + 0.5, rows + 0.5)
        return np.stack([x, y], axis=1)
    if _in_sensor_geometry(scene):
        longitude = scene["lon"].values[rows, columns]
        latitude = scene["lat"].values[rows, columns]
        return np.stack([longitude, latitude], axis=1)
    return None


def _crs_text(scene: xr.DataArray) -> str | None:
    """Return the CRS of these coordinates as text, or None."""
    if transform_of(scene) is None and _in_sensor_geometry(scene):
        return "EPSG:4326"
    crs = crs_of(scene)
    if crs is None:
        return None
    return str(crs.to_string())


def _in_sensor_geometry(scene: xr.DataArray) -> bool:
    return "lat" in scene.coords and "lon" in scene.coords
