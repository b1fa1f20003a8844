"""Abundances and residuals of every pixel, block by block, in memory or written to zarr stores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import xarray as xr

from selfdict._errors import warn_caller
from selfdict._validation import Array
from selfdict.abundances import nnls, shares
from selfdict.abundances.nnls import MANY_ENDMEMBERS, predicted_seconds
from selfdict.compute.deadline import in_words
from selfdict.scene.blocks import blocks, map_of
from selfdict.scene.check import SceneCheck
from selfdict.scene.choose import Choice
from selfdict.scene.files import as_bands, read_scene
from selfdict.scene.fitting import FitBlock, MapArrays, Totals
from selfdict.scene.passes import over_blocks
from selfdict.scene.plan import Plan
from selfdict.scene.points import Points
from selfdict.scene.staging import staged

_LONG = 60.0  # seconds of mapping that are announced
_LATE = 5.0  # seconds of mapping after a time limit that are announced


@dataclass(frozen=True)
class Maps:
    """The maps of a scene, and what is known of all its pixels together."""

    abundances: xr.DataArray
    uncertainty: xr.DataArray | None
    brightness: xr.DataArray | None
    residual: xr.DataArray
    valid: xr.DataArray
    totals: Totals
    pixel_error: float | None  # of the pure pixels with nonnegative coefficients; None: as mapped
    other_errors: list[float]  # the same of the methods to compare with
    peaks: Array  # for each endmember, the pixel that holds most of it
    check: SceneCheck | None


def fit_task(plan: Plan, choice: Choice, others: Sequence[Choice] = ()) -> FitBlock:
    """Return the task that fits the pixels of a block by the chosen endmembers.

    The errors of the pure pixels are measured, too, those of the choice itself first: with
    nonnegative coefficients they can be compared between methods.
    """
    names = None
    if plan.library is not None:
        names = plan.library["name"].values[choice.chosen]
    spectra = [each.pixel_spectra for each in others if each.pixel_spectra is not None]
    pixels = choice.pixel_spectra
    # Else the error of the maps is that of the pure pixels already.
    is_free = plan.options.abundances in ("nnls", "unit")
    measures_pixels = pixels is not None and not (is_free and np.array_equal(choice.U, pixels))
    if pixels is not None and measures_pixels:
        spectra = [pixels, *spectra]
    return FitBlock(
        plan.bands,
        choice.U,
        plan.options.abundances,
        illumination=choice.illumination,
        others=tuple(spectra),
        measures_pixels=measures_pixels,
        with_uncertainty=plan.uncertainty,
        variability=choice.variability,
        dictionary=choice.dictionary,
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
    other_errors = totals.other_errors
    pixel_error = None
    if task.measures_pixels:
        pixel_error = other_errors.pop(0)
    return Maps(
        abundances=_endmember_maps(scene, maps.abundances, "abundance", task.names),
        uncertainty=uncertainty,
        brightness=brightness,
        residual=map_of(scene, maps.residual, "residual"),
        valid=map_of(scene, maps.valid, "valid"),
        totals=totals,
        pixel_error=pixel_error,
        other_errors=other_errors,
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


def fit_in_time(plan: Plan, choice: Choice, points: Points, client: Any) -> Plan:
    """Return the plan without standard errors if the time limit does not suffice for them.

    Maps that end after the limit, and without a limit maps of many endmembers that take long, are
    announced.
    """
    deadline = plan.deadline
    # Maps of fewer endmembers take long for the number of pixels alone, which a user expects.
    has_many = plan.r >= MANY_ENDMEMBERS
    if deadline.left is None:
        if has_many and client is None:
            _announce_if_long(plan, _seconds_of_mapping(plan, choice, points))
        return plan
    is_late = has_many and deadline.passed  # even a prediction with standard errors takes long
    if plan.uncertainty and not is_late:
        is_late = not deadline.affords(_seconds_of_mapping(plan, choice, points))
    if plan.uncertainty and is_late:
        deadline.skip("standard errors of the abundances were not mapped")
        plan = replace(plan, uncertainty=False)
    if is_late and client is None:
        _announce_if_late(plan, _seconds_of_mapping(plan, choice, points))
    return plan


def _seconds_of_mapping(plan: Plan, choice: Choice, points: Points) -> float:
    def work(columns: Array) -> None:
        if plan.uncertainty:
            shares(
                choice.U,
                columns,
                illumination=choice.illumination,
                return_std=True,
                variability=choice.variability,
            )
        else:
            nnls(choice.U, columns)

    seconds = predicted_seconds(work, points.M)
    # The points may be a sample of the pixels.
    return seconds * plan.n_pixels / len(points)


def _announce_if_long(plan: Plan, seconds: float) -> None:
    if seconds <= _LONG:
        return
    advice = ""
    if plan.uncertainty:
        advice = "; without their standard errors (uncertainty=False) it is quicker"
    warn_caller(f"mapping {plan.r} endmembers takes about {in_words(seconds)} here{advice}")


def _announce_if_late(plan: Plan, seconds: float) -> None:
    left = plan.deadline.left or 0.0
    if seconds <= left + _LATE:
        return
    warn_caller(
        f"mapping {plan.r} endmembers takes about {in_words(seconds)} here, which the time "
        "limit does not cover: every pixel is mapped"
    )
