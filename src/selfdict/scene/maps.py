"""The last pass over a scene: every pixel mapped, in memory or written to zarr stores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import warn_caller
from selfdict._validation import Array
from selfdict.abundances import (
    nnls,
    shares,
)
from selfdict.abundances.nnls import MANY_ENDMEMBERS, predicted_seconds
from selfdict.compute.deadline import in_words
from selfdict.scene.blocks import blocks, map_of
from selfdict.scene.choose import Choice
from selfdict.scene.files import as_bands, read_scene
from selfdict.scene.fitting import VALUES, FitBlock, Outliers, Totals
from selfdict.scene.passes import over_blocks
from selfdict.scene.plan import Plan
from selfdict.scene.points import Points
from selfdict.scene.staging import staged

_LONG = 60.0  # seconds of mapping that are announced
_LATE = 5.0  # seconds of mapping after a time limit that are announced
# maps with one layer per endmember
_OF_ENDMEMBERS = ("abundances", "uncertainty")


@dataclass(frozen=True)
class Maps:
    """The maps of a scene, and what is known of all its pixels together."""

    layers: dict[str, Any]  # DataArrays by the names of a result's fields
    errors: Array  # (y, x), ‖m − U h‖ of each pixel; NaN without data
    outliers: Outliers
    totals: Totals
    pixel_error: float | None  # of the pure pixels with nonnegative coefficients; None: as mapped
    other_errors: list[float]  # the same of the methods to compare with

    @property
    def peaks(self) -> Array:
        """For each endmember, the pixel that holds most of it."""
        return self.totals.peaks[:, 1].astype(np.intp)


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
    errors = np.empty(scene.shape[1:], dtype=task.U.dtype)
    if folder is None:
        maps = task.empty_maps(scene.shape[1:], np.nan)
        totals, outliers = _fit_blocks(scene, task, client, report, errors, maps)
    else:
        with staged(folder) as hidden:
            hidden.mkdir()
            _create_stores(scene, task, hidden)
            writing = replace(task, folder=hidden)
            totals, outliers = _fit_blocks(scene, writing, client, report, errors, None)
        maps = _stored_maps(folder)
    other_errors = totals.other_errors
    pixel_error = None
    if task.measures_pixels:
        pixel_error = other_errors.pop(0)
    layers = {name: _described(scene, task, name, values) for name, values in maps.items()}
    return Maps(layers, errors, outliers, totals, pixel_error, other_errors)


def _fit_blocks(
    scene: xr.DataArray,
    task: FitBlock,
    client: Any,
    report: Callable[[float], Any],
    errors: Array,
    maps: dict[str, Array] | None,
) -> tuple[Totals, Outliers]:
    """Fit all blocks and return totals and outliers; copy what is mapped into the arrays."""
    totals = task.no_totals()
    found = []
    for (rows, columns), fitted in over_blocks(scene, task, client, report):
        totals = totals + fitted.totals
        errors[rows, columns] = fitted.errors
        found.append(fitted.outliers)
        if maps is None or fitted.maps is None:
            continue
        for name, values in fitted.maps.items():
            maps[name][..., rows, columns] = values
    pixels = np.concatenate([each.pixels for each in found])
    M = np.concatenate([each.M for each in found], axis=1)
    return totals, Outliers(pixels, M)


def _described(scene: xr.DataArray, task: FitBlock, name: str, values: Array) -> xr.DataArray:
    """Return a map with its coordinates, and the names of the endmembers if given."""
    if name not in _OF_ENDMEMBERS:
        return map_of(scene, values, VALUES[name])
    layer = map_of(scene, values, VALUES[name], endmember=np.arange(1, len(values) + 1))
    if task.names is None:
        return layer
    return layer.assign_coords(name=("endmember", task.names))


def _create_stores(scene: xr.DataArray, task: FitBlock, folder: Path) -> None:
    """Write the stores without their values.

    Each block is one chunk, that is one file, so that no two blocks write to the same file.
    """
    # Imported here, since both are slow to import and most calls write no maps.
    import dask.array

    from selfdict.scene.write import create_zarr

    rows, columns = blocks(scene)[0]
    for name, values in task.empty_maps((1, 1), np.nan).items():
        if name == "valid":
            continue
        # Never computed: only its shape, dtype and chunks are written.
        leading = values.shape[:-2]
        placeholder = dask.array.full(
            (*leading, *scene.shape[1:]),
            np.nan,
            dtype=values.dtype,
            chunks=(*leading, rows.stop, columns.stop),
        )
        layer = _described(scene, task, name, placeholder)
        create_zarr(as_bands(layer), folder / f"{name}.zarr")


def _stored_maps(folder: Path) -> dict[str, Any]:
    """Return the maps in the stores of a folder, which are read on use."""
    maps: dict[str, Any] = {}
    for name in VALUES:
        store = folder / f"{name}.zarr"
        if store.exists():
            maps[name] = read_scene(store).data
            if name not in _OF_ENDMEMBERS:
                maps[name] = maps[name][0]
    # Only the residual tells valid pixels apart: it is NaN for the others.
    maps["valid"] = ~np.isnan(maps["residual"])
    return maps


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
