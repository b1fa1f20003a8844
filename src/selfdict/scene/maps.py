"""The last pass over a scene: every pixel fitted by the endmembers, and mapped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import warn_caller
from selfdict._validation import Array
from selfdict.abundances import Illumination, Variability, standard_errors
from selfdict.abundances.column_solver import Fit
from selfdict.abundances.illumination import as_shares
from selfdict.abundances.least_squares import MANY_ENDMEMBERS, fit_fixed_sum, fit_soft_sum
from selfdict.abundances.shares import unit_columns
from selfdict.compute.deadline import in_words, predicted_seconds
from selfdict.scene.blocks import Block, block_matrix, blocks, map_of
from selfdict.scene.choose import Choice
from selfdict.scene.passes import over_blocks
from selfdict.scene.plan import Plan, Points, gather
from selfdict.scene.read import read_scene
from selfdict.scene.write import as_bands, staged
from selfdict.scene.write_formats import write_zarr, write_zarr_block

# A residual stands out if it is above the median by this many median deviations.
_DEVIATIONS = 6
_LONG = 60.0  # seconds of mapping that are announced
# The maps by the names that a result has for them, and the name of the values in each.
_VALUES = {
    "abundances": "abundance",
    "uncertainty": "uncertainty",
    "brightness": "brightness",
    "residual": "residual",
}
_OF_ENDMEMBERS = ("abundances", "uncertainty")  # one layer for each


@dataclass(frozen=True)
class Totals:
    """What is summed over all pixels."""

    squared_other_errors: Array  # ‖M − U H‖² of other sets of spectra U with the best H ≥ 0
    n_valid: int = 0  # pixels with data
    squared_norm: float = 0.0  # ‖M‖²
    squared_error: float = 0.0  # ‖M − U H‖²

    def __add__(self, other: "Totals") -> "Totals":
        """Return the totals of two sets of pixels together."""
        return Totals(
            squared_other_errors=self.squared_other_errors + other.squared_other_errors,
            n_valid=self.n_valid + other.n_valid,
            squared_norm=self.squared_norm + other.squared_norm,
            squared_error=self.squared_error + other.squared_error,
        )

    def relative(self, squared_error: float) -> float:
        """Return an error relative to ‖M‖_F."""
        if self.squared_norm == 0:
            return 0.0
        return float(np.sqrt(squared_error / self.squared_norm))


@dataclass(frozen=True)
class FitBlock:
    """The task that fits the pixels of a block by the endmembers."""

    bands: Array  # the used ones, booleans
    U: Array  # (m, r), the endmembers
    method: str  # "shares", "unit", "nnls" or "fcls"
    illumination: Illumination | None = None  # for shares
    others: tuple[Array, ...] = ()  # (m, k) each, spectra whose errors are measured as well
    with_uncertainty: bool = False
    variability: Variability | None = None  # how the pixels of each material differ
    folder: Path | None = None  # with the stores that each block is written to

    @classmethod
    def of(cls, plan: Plan, choice: Choice) -> "FitBlock":
        """Return the task for what was chosen, without other spectra and without a folder."""
        return cls(
            plan.bands,
            choice.U,
            plan.options.abundances,
            illumination=choice.illumination,
            with_uncertainty=plan.options.uncertainty,
            variability=choice.variability,
        )

    def __call__(self, block: Block) -> tuple[dict[str, Array], Totals, Points]:
        """Return the maps that are not written to a folder, the totals, and outliers."""
        M, valid = block_matrix(block.scene, self.bands)
        shape = block.scene.shape[1:]
        pixels = block.pixels
        # Indexing by numbers copies, which is not needed if all pixels hold data.
        if not valid.all():
            where = np.flatnonzero(valid)
            M = M[:, where]
            pixels = pixels[where]
        found = np.zeros(0, dtype=np.intp)
        if pixels.size == 0:
            maps = self.empty_maps(shape)
            totals = self.no_totals()
        else:
            values, totals = self.fit(M)
            maps = {name: _on_grid(each, valid, shape) for name, each in values.items()}
            errors = values["errors"]
            found = np.flatnonzero(errors > outlier_limit(errors))
            # at most 512, evenly, so that there are some of every place
            found = found[:: 1 + found.size // 512]
        if self.folder is not None:
            _write_block(self.folder, block, maps)
            maps = {"errors": maps["errors"]}
        outliers = Points(M[:, found], pixels[found], np.ones(found.size, dtype=np.intp))
        return maps, totals, outliers

    def no_totals(self) -> Totals:
        """Return the totals of no pixels."""
        return Totals(np.zeros(len(self.others)))

    def empty_maps(self, shape: tuple[int, ...]) -> dict[str, Array]:
        """Return the maps of pixels (y, x) before any is fitted."""
        r = self.U.shape[1]
        dtype = self.U.dtype
        maps = {
            "abundances": np.full((r, *shape), np.nan, dtype),
            "residual": np.full(shape, np.nan, dtype),
            "errors": np.full(shape, np.nan, dtype),  # ‖m − U h‖, which no result has
        }
        if self.with_uncertainty:
            maps["uncertainty"] = np.full((r, *shape), np.nan, dtype)
        if self.illumination is not None:
            maps["brightness"] = np.full(shape, np.nan, dtype)
        return maps

    def fit(self, M: Array) -> tuple[dict[str, Array], Totals]:
        """Fit pixels M (m, n), and return the values of their maps."""
        fits = (fit_soft_sum(U, M, 0.0, with_residuals=True) for U in self.others)
        other_errors = [fit.squared_residuals.sum() for fit in fits]
        fit, U = self._fitted(M)
        H = fit.H
        norms = fit.squared_norms
        errors = np.sqrt(fit.squared_residuals)
        # A pixel of zeros is fitted exactly by no endmember at all.
        maps = {"errors": errors, "residual": errors / np.sqrt(np.where(norms > 0, norms, 1.0))}
        if self.with_uncertainty:
            maps["uncertainty"] = self._standard_errors(fit, U)
        if self.illumination is not None:
            maps["brightness"] = H.sum(axis=0)
        if self.method in ("shares", "unit"):
            H = as_shares(H)
        maps["abundances"] = H
        maps = {name: values.astype(self.U.dtype, copy=False) for name, values in maps.items()}
        totals = Totals(
            squared_other_errors=np.array(other_errors),
            n_valid=M.shape[1],
            squared_norm=float(norms.sum()),
            squared_error=float(fit.squared_residuals.sum()),
        )
        return maps, totals

    def _fitted(self, M: Array) -> tuple[Fit, Array]:
        """Return the fit, and the spectra that its coefficients are relative to."""
        if self.illumination is not None:
            return self.illumination.fit(M, with_residuals=True), self.illumination.spectra
        if self.method == "fcls":
            return fit_fixed_sum(self.U, M, with_residuals=True), self.U
        U = self.U
        if self.method == "unit":
            U = unit_columns(U)
        return fit_soft_sum(U, M, 0.0, with_residuals=True), U

    def _standard_errors(self, fit: Fit, U: Array) -> Array:
        if self.illumination is not None:
            return self.illumination.standard_errors(fit, self.variability)
        kind = self.method
        if kind == "unit":
            kind = "shares"
        residuals = np.sqrt(fit.squared_residuals)
        return standard_errors(U, fit.H, residuals, kind=kind, variability=self.variability)


def _on_grid(values: Array, valid: Array, shape: tuple[int, ...]) -> Array:
    """Return values of the valid pixels on a grid (y, x), NaN elsewhere."""
    if not valid.all():
        filled = np.full((*values.shape[:-1], valid.size), np.nan, values.dtype)
        filled[..., valid] = values
        values = filled
    return values.reshape(*values.shape[:-1], *shape)


def outlier_limit(errors: Array) -> float:
    """Return the residual from which on one stands out."""
    typical = np.median(errors)
    return float(typical + _DEVIATIONS * np.median(np.abs(errors - typical)))


@dataclass(frozen=True)
class Maps:
    """The maps of a scene, and what is known of all its pixels together."""

    layers: dict[str, Any]  # DataArrays by the names of a result's fields
    errors: Array  # (y, x), ‖m − U h‖ of each pixel; NaN without data
    outliers: Points  # pixels with large residuals, some of each block
    totals: Totals
    pixel_error: float | None  # of the pure pixels with nonnegative coefficients
    other_errors: list[float]  # the same of the methods to compare with

    @property
    def relative_error(self) -> float:
        """‖M − U H‖_F / ‖M‖_F."""
        return self.totals.relative(self.totals.squared_error)

    @property
    def peaks(self) -> Array:
        """For each endmember, the pixel that holds most of it; maps are read one at a time."""
        return np.array([np.nanargmax(layer.values) for layer in self.layers["abundances"]])


def map_scene(
    plan: Plan,
    choice: Choice,
    others: Sequence[Choice],
    report: Callable[[float], Any],
) -> Maps:
    """Fit all pixels by the chosen endmembers in one pass."""
    pixels = choice.pixel_spectra
    spectra = [each.pixel_spectra for each in others if each.pixel_spectra is not None]
    # Errors of methods are compared with nonnegative coefficients.
    is_free = plan.options.abundances in ("nnls", "unit")
    # Else the error of the maps is that of the pure pixels already.
    measures_pixels = pixels is not None and not (is_free and np.array_equal(choice.U, pixels))
    if pixels is not None and measures_pixels:
        spectra = [pixels, *spectra]
    task = replace(FitBlock.of(plan, choice), others=tuple(spectra))
    folder = plan.options.folder
    if folder is None:
        maps = task.empty_maps(plan.scene.shape[1:])
        totals, outliers = _fit_blocks(plan, task, report, maps)
    else:
        # The process that has fitted a block writes it, and the maps returned read it lazily.
        maps = {"errors": np.empty(plan.scene.shape[1:], dtype=choice.U.dtype)}
        with staged(folder) as hidden:
            hidden.mkdir()
            _create_stores(plan, choice, task, hidden)
            writing = replace(task, folder=hidden)
            totals, outliers = _fit_blocks(plan, writing, report, maps)
        maps |= _stored_maps(folder)
    errors = maps.pop("errors")
    layers = {name: _described(plan, choice, name, values) for name, values in maps.items()}
    other_errors = [totals.relative(error) for error in totals.squared_other_errors]
    pixel_error = None
    if measures_pixels:
        pixel_error = other_errors.pop(0)
    elif pixels is not None:
        pixel_error = totals.relative(totals.squared_error)
    return Maps(layers, errors, outliers, totals, pixel_error, other_errors)


def _fit_blocks(
    plan: Plan, task: FitBlock, report: Callable[[float], Any], maps: dict[str, Array]
) -> tuple[Totals, Points]:
    """Fit all blocks, copy what is returned into the maps, and return totals and outliers."""
    totals = task.no_totals()
    outliers = []
    for (rows, columns), found in over_blocks(plan.scene, task, plan.client, report):
        block_maps, block_totals, block_outliers = found
        totals = totals + block_totals
        outliers.append(block_outliers)
        for name, values in block_maps.items():
            maps[name][..., rows, columns] = values
    return totals, gather(outliers)


def _described(plan: Plan, choice: Choice, name: str, values: Array) -> xr.DataArray:
    """Return a map with its coordinates, and the names of the endmembers if they have any."""
    if name not in _OF_ENDMEMBERS:
        return map_of(plan.scene, values, _VALUES[name])
    numbers = np.arange(1, len(values) + 1)
    layer = map_of(plan.scene, values, _VALUES[name], endmember=numbers)
    if plan.library is None:
        return layer
    return layer.assign_coords(name=("endmember", plan.library["name"].values[choice.chosen]))


def _create_stores(plan: Plan, choice: Choice, task: FitBlock, folder: Path) -> None:
    """Write the stores without their values, with a chunk, that is a file, for each block."""
    # Imported here, since it is slow to import and most calls write no maps.
    import dask.array

    rows, columns = blocks(plan.scene)[0]
    for name, values in task.empty_maps((1, 1)).items():
        if name not in _VALUES:
            continue
        # Never computed: only its shape, dtype and chunks are written.
        leading = values.shape[:-2]
        placeholder = dask.array.full(
            (*leading, *plan.scene.shape[1:]),
            np.nan,
            dtype=values.dtype,
            chunks=(*leading, rows.stop, columns.stop),
        )
        layer = _described(plan, choice, name, placeholder)
        write_zarr(as_bands(layer), folder / f"{name}.zarr", compute=False)


def _write_block(folder: Path, block: Block, maps: dict[str, Array]) -> None:
    for name, values in maps.items():
        if name not in _VALUES:
            continue
        # Stores have bands.
        bands = values.reshape(-1, *values.shape[-2:])
        store = folder / f"{name}.zarr"
        write_zarr_block(store, _VALUES[name], block.rows, block.columns, bands)


def _stored_maps(folder: Path) -> dict[str, Any]:
    """Return the maps in the stores of a folder, which are read on use."""
    maps: dict[str, Any] = {}
    for name in _VALUES:
        store = folder / f"{name}.zarr"
        if store.exists():
            maps[name] = read_scene(store).data
            if name not in _OF_ENDMEMBERS:
                maps[name] = maps[name][0]
    return maps


def fit_in_time(plan: Plan, choice: Choice, points: Points) -> Plan:
    """Return the plan, without standard errors if there is no time for them; announce long maps."""
    # Maps of fewer endmembers take long for the number of pixels alone, which a user expects.
    has_many = plan.r >= MANY_ENDMEMBERS
    if plan.options.uncertainty and plan.deadline.left is not None:
        is_late = has_many and plan.deadline.passed  # even a prediction takes long
        if is_late or not plan.deadline.affords(_seconds_of_mapping(plan, choice, points)):
            plan.deadline.skip("standard errors of the abundances were not mapped")
            plan = replace(plan, options=replace(plan.options, uncertainty=False))
    if has_many and plan.client is None:
        seconds = _seconds_of_mapping(plan, choice, points)
        if seconds > _LONG:
            warn_caller(f"mapping {plan.r} endmembers will take about {in_words(seconds)}")
    return plan


def _seconds_of_mapping(plan: Plan, choice: Choice, points: Points) -> float:
    task = FitBlock.of(plan, choice)
    seconds = predicted_seconds(task.fit, points.M)
    # The points may be a sample of the pixels.
    return seconds * plan.n_pixels / len(points)
