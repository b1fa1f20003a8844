"""Abundances and residuals of every pixel, block by block, in memory or written to zarr stores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import blocks, map_of
from selfdict.scene.check import SceneCheck
from selfdict.scene.files import as_bands, read_scene
from selfdict.scene.fitting import FitBlock, MapArrays, Totals
from selfdict.scene.passes import over_blocks
from selfdict.scene.request import UnmixRequest
from selfdict.scene.selection import Selection
from selfdict.scene.staging import staged


@dataclass(frozen=True)
class Maps:
    """The maps of a scene, and what is known of all its pixels together."""

    abundances: xr.DataArray
    uncertainty: xr.DataArray | None
    brightness: xr.DataArray | None
    residual: xr.DataArray
    valid: xr.DataArray
    totals: Totals
    pixel_error: float | None  # of the pure pixels, if they are not the endmembers
    peaks: Array  # for each endmember, the pixel that holds most of it
    check: SceneCheck | None


def fit_task(request: UnmixRequest, selection: Selection) -> FitBlock:
    """Return the task that fits the pixels of a block by the chosen endmembers."""
    names = None
    if request.library is not None:
        names = request.library["name"].values[selection.chosen]
    pixel_spectra = None
    # Errors of pure pixels with nonnegative coefficients can be compared between methods.
    pixel_spectra = selection.pixel_spectra
    is_free = request.abundances in ("nnls", "unit")
    if is_free and pixel_spectra is not None and np.array_equal(selection.U, pixel_spectra):
        pixel_spectra = None  # the error is that of the endmembers
    return FitBlock(
        request.bands,
        selection.U,
        request.abundances,
        illumination=selection.illumination,
        pixel_spectra=pixel_spectra,
        with_uncertainty=request.uncertainty,
        variability=selection.variability,
        dictionary=selection.dictionary,
        names=names,
    )


def map_scene(
    scene: xr.DataArray,
    task: FitBlock,
    folder: Path | None,
    client: Any,
    report: Callable[[float], Any],
) -> Maps:
    """Fit all pixels in one pass.

    With a ``folder`` the process that has fitted a block writes it there, and the maps returned
    read it lazily. The folder appears when all blocks are written.
    """
    if folder is None:
        maps = _empty_maps(scene, task)
        totals, peaks = _fit_blocks(scene, task, client, report, maps)
        return _describe(scene, task, maps, totals, peaks)
    with staged(folder) as hidden:
        hidden.mkdir()
        _create_stores(scene, task, hidden)
        totals, peaks = _fit_blocks(scene, replace(task, folder=hidden), client, report, None)
    uncertainty = None
    if task.with_uncertainty:
        uncertainty = read_scene(folder / "uncertainty.zarr").data
    brightness = None
    if task.illumination is not None:
        brightness = read_scene(folder / "brightness.zarr").data[0]
    residual = read_scene(folder / "residual.zarr").data[0]
    maps = MapArrays(
        abundances=read_scene(folder / "abundances.zarr").data,
        uncertainty=uncertainty,
        brightness=brightness,
        residual=residual,
        # Only the residual tells valid pixels apart: it is NaN for the others.
        valid=~np.isnan(residual),
    )
    return _describe(scene, task, maps, totals, peaks)


def _empty_maps(scene: xr.DataArray, task: FitBlock) -> MapArrays:
    """Return maps of the whole scene for the blocks to be copied into."""
    shape = scene.shape[1:]
    dtype = task.U.dtype
    r = task.U.shape[1]
    uncertainty = None
    if task.with_uncertainty:
        uncertainty = np.empty((r, *shape), dtype)
    brightness = None
    if task.illumination is not None:
        brightness = np.empty(shape, dtype)
    return MapArrays(
        abundances=np.empty((r, *shape), dtype),
        uncertainty=uncertainty,
        brightness=brightness,
        residual=np.empty(shape, dtype),
        valid=np.empty(shape, dtype=bool),
    )


def _fit_blocks(
    scene: xr.DataArray,
    task: FitBlock,
    client: Any,
    report: Callable[[float], Any],
    maps: MapArrays | None,
) -> tuple[Totals, Array]:
    """Fit all blocks; return the totals and the positions of the peaks.

    The maps of the blocks are copied into ``maps``, if given.
    """
    totals = task.no_totals()
    peaks = np.full((task.U.shape[1], 2), -1.0)
    for (rows, columns), fitted in over_blocks(scene, task, client, report):
        totals = totals + fitted.totals
        is_higher = fitted.peaks[:, :1] > peaks[:, :1]
        peaks = np.where(is_higher, fitted.peaks, peaks)
        if maps is not None and fitted.maps is not None:
            maps.put(rows, columns, fitted.maps)
    return totals, peaks[:, 1].astype(np.intp)


def _create_stores(scene: xr.DataArray, task: FitBlock, folder: Path) -> None:
    """Write the stores without their values.

    Each block is one chunk, that is one file, so that no two blocks write to the same file.
    """
    # Imported here, since zarr is slow to import and most calls write no maps.
    from selfdict.scene.write import create_zarr

    rows, columns = blocks(scene)[0]
    r = task.U.shape[1]
    # Never computed: only its shape, dtype and chunks are written.
    placeholder = dask.array.full(
        (r, *scene.shape[1:]),
        np.nan,
        dtype=task.U.dtype,
        chunks=(r, rows.stop, columns.stop),
    )
    abundances = _endmember_maps(scene, placeholder, "abundance", task.names)
    create_zarr(as_bands(abundances), folder / "abundances.zarr")
    if task.with_uncertainty:
        uncertainty = _endmember_maps(scene, placeholder, "uncertainty", task.names)
        create_zarr(as_bands(uncertainty), folder / "uncertainty.zarr")
    if task.illumination is not None:
        brightness = map_of(scene, placeholder[0], "brightness")
        create_zarr(as_bands(brightness), folder / "brightness.zarr")
    create_zarr(as_bands(map_of(scene, placeholder[0], "residual")), folder / "residual.zarr")


def _describe(
    scene: xr.DataArray, task: FitBlock, maps: MapArrays, totals: Totals, peaks: Array
) -> Maps:
    """Return the maps with their coordinates, and what the totals over all pixels say."""
    check = None
    if task.dictionary is not None:
        check = task.dictionary.verdict(totals.check)
    uncertainty = None
    if maps.uncertainty is not None:
        uncertainty = _endmember_maps(scene, maps.uncertainty, "uncertainty", task.names)
    brightness = None
    if maps.brightness is not None:
        brightness = map_of(scene, maps.brightness, "brightness")
    pixel_error = None
    if task.pixel_spectra is not None:
        pixel_error = totals.pixel_error
    return Maps(
        abundances=_endmember_maps(scene, maps.abundances, "abundance", task.names),
        uncertainty=uncertainty,
        brightness=brightness,
        residual=map_of(scene, maps.residual, "residual"),
        valid=map_of(scene, maps.valid, "valid"),
        totals=totals,
        pixel_error=pixel_error,
        peaks=peaks,
        check=check,
    )


def _endmember_maps(
    scene: xr.DataArray, values: Array, name: str, names: Array | None
) -> xr.DataArray:
    """Return maps (r, y, x) with their coordinates, and the names of the endmembers if given."""
    maps = map_of(scene, values, name, endmember=np.arange(1, len(values) + 1))
    if names is None:
        return maps
    return maps.assign_coords(name=("endmember", names))
