"""The last pass over a scene: every pixel fitted by the endmembers, block by block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import xarray as xr

from selfdict._errors import warn_caller
from selfdict._validation import Array
from selfdict.abundances import (
    Illumination,
    Variability,
    column_residuals,
    fcls,
    nnls,
    shares,
    standard_errors,
)
from selfdict.abundances.nnls import MANY_ENDMEMBERS, predicted_seconds
from selfdict.abundances.shares import as_shares, unit_columns
from selfdict.compute.deadline import in_words
from selfdict.scene.blocks import block_matrix, blocks, map_of
from selfdict.scene.choose import Choice
from selfdict.scene.files import as_bands, read_scene
from selfdict.scene.passes import Block, over_blocks
from selfdict.scene.plan import Plan
from selfdict.scene.points import Points
from selfdict.scene.staging import staged

_LONG = 60.0  # seconds of mapping that are announced
_LATE = 5.0  # seconds of mapping after a time limit that are announced
# The maps by the names that a result has for them, and the name of the values in each. Those of the
# endmembers have one more dim.
_VALUES = {
    "abundances": "abundance",
    "uncertainty": "uncertainty",
    "brightness": "brightness",
    "residual": "residual",
    "valid": "valid",
}
_OF_ENDMEMBERS = ("abundances", "uncertainty")


@dataclass(frozen=True)
class NegativeValues:
    """How many values of the used pixels and bands are below zero; they are used as they are.

    Attributes
    ----------
    count, n_values : int
        Number of negative values, and of all values.
    lowest : float
        The lowest of them; 0 if there is none.
    """

    count: int
    n_values: int
    lowest: float

    @property
    def share(self) -> float:
        """The part of all values that is negative."""
        if self.n_values == 0:
            return 0.0
        return self.count / self.n_values


@dataclass(frozen=True)
class Totals:
    """What is summed over all pixels."""

    n_valid: int = 0  # pixels with data
    squared_norm: float = 0.0  # ‖M‖²
    squared_error: float = 0.0  # ‖M − U H‖²
    n_values: int = 0  # of these pixels in the used bands
    n_negative: int = 0
    lowest: float = np.inf
    # ‖M − U H‖² of the other sets of spectra U with the best H ≥ 0
    squared_other_errors: Array = field(default_factory=lambda: np.zeros(0))
    # (r, 2), the highest abundance of each endmember, and the position of its pixel
    peaks: Array = field(default_factory=lambda: np.zeros((0, 2)))

    def __add__(self, other: "Totals") -> "Totals":
        """Return the totals of two sets of pixels together."""
        return Totals(
            n_valid=self.n_valid + other.n_valid,
            squared_norm=self.squared_norm + other.squared_norm,
            squared_error=self.squared_error + other.squared_error,
            n_values=self.n_values + other.n_values,
            n_negative=self.n_negative + other.n_negative,
            lowest=min(self.lowest, other.lowest),
            squared_other_errors=self.squared_other_errors + other.squared_other_errors,
            peaks=np.where(other.peaks[:, :1] > self.peaks[:, :1], other.peaks, self.peaks),
        )

    @property
    def relative_error(self) -> float:
        """‖M − U H‖_F / ‖M‖_F."""
        return self._relative(self.squared_error)

    @property
    def other_errors(self) -> list[float]:
        """The same for the other sets of spectra."""
        return [self._relative(error) for error in self.squared_other_errors]

    @property
    def negative(self) -> NegativeValues:
        """The values below zero."""
        return NegativeValues(self.n_negative, self.n_values, min(self.lowest, 0.0))

    def _relative(self, squared_error: float) -> float:
        if self.squared_norm == 0:
            return 0.0
        return float(np.sqrt(squared_error / self.squared_norm))


@dataclass(frozen=True)
class Maps:
    """The maps of a scene, and what is known of all its pixels together."""

    layers: dict[str, Any]  # DataArrays by the names of a result's fields
    totals: Totals
    pixel_error: float | None  # of the pure pixels with nonnegative coefficients; None: as mapped
    other_errors: list[float]  # the same of the methods to compare with

    @property
    def peaks(self) -> Array:
        """For each endmember, the pixel that holds most of it."""
        return self.totals.peaks[:, 1].astype(np.intp)


@dataclass(frozen=True)
class FitBlock:
    """The task that fits the pixels of a block by the endmembers."""

    bands: Array  # the used ones, booleans
    U: Array  # (m, r), the endmembers
    method: str  # "shares", "unit", "nnls" or "fcls"
    illumination: Illumination | None = None  # for shares
    others: tuple[Array, ...] = ()  # (m, k) each, spectra whose errors are measured as well
    measures_pixels: bool = False  # whether the first of these are the pure pixels of U
    with_uncertainty: bool = False
    variability: Variability | None = None  # how the pixels of each material differ
    folder: Path | None = None  # with the stores that each block is written to
    names: Array | None = None  # of the endmembers

    def no_totals(self) -> Totals:
        """Return the totals of no pixels."""
        # Below every abundance, so that a block without valid pixels sets no peak.
        peaks = np.full((self.U.shape[1], 2), -1.0)
        return Totals(squared_other_errors=np.zeros(len(self.others)), peaks=peaks)

    def __call__(self, block: Block) -> "FittedBlock":
        """Fit the pixels of the block; write the maps if there is a folder for them."""
        M, flags = block_matrix(block.scene, slice(None), slice(None), self.bands)
        valid = flags.reshape(block.scene.shape[1:])
        maps = self.empty_maps(valid.shape, np.nan)
        maps["valid"] = valid
        totals = self.no_totals()
        if valid.any():
            totals = self._fit(M[:, flags], block.pixels[flags], maps)
        if self.folder is None:
            return FittedBlock(maps, totals)
        _write_block(self.folder, block, maps)
        return FittedBlock(None, totals)

    def empty_maps(self, shape: tuple[int, ...], fill: float) -> dict[str, Array]:
        """Return the maps of pixels (y, x) before any is fitted."""
        r = self.U.shape[1]
        maps = {
            "abundances": np.full((r, *shape), fill, dtype=self.U.dtype),
            "residual": np.full(shape, fill, dtype=self.U.dtype),
            "valid": np.zeros(shape, dtype=bool),
        }
        if self.with_uncertainty:
            maps["uncertainty"] = np.full((r, *shape), fill, dtype=self.U.dtype)
        if self.illumination is not None:
            maps["brightness"] = np.full(shape, fill, dtype=self.U.dtype)
        return maps

    def _fit(self, M: Array, pixels: Array, maps: dict[str, Array]) -> Totals:
        """Fit pixels M (m, n), which is overwritten, and fill the maps."""
        n_negative = int(np.count_nonzero(M < 0))
        lowest = float(M.min())
        other_errors = np.array([_squared_error(U, M) for U in self.others])
        H, U = self._coefficients(M)
        # Summed in float64: the sum over many float32 pixels would lose digits.
        norms = np.einsum("ij,ij->j", M, M, dtype=np.float64)
        M -= U @ H
        errors = np.einsum("ij,ij->j", M, M, dtype=np.float64)
        valid = maps["valid"]
        if self.with_uncertainty:
            maps["uncertainty"][:, valid] = self._standard_errors(U, H, np.sqrt(errors))
        if self.illumination is not None:
            maps["brightness"][valid] = H.sum(axis=0)
        if self.method in ("shares", "unit"):
            H = as_shares(H)
        maps["abundances"][:, valid] = H
        # A pixel of zeros is fitted exactly by no endmember at all.
        maps["residual"][valid] = np.sqrt(errors / np.where(norms > 0, norms, 1.0))
        return Totals(
            n_valid=M.shape[1],
            squared_norm=float(norms.sum()),
            squared_error=float(errors.sum()),
            n_values=M.size,
            n_negative=n_negative,
            lowest=lowest,
            squared_other_errors=other_errors,
            peaks=np.stack([H.max(axis=1), pixels[H.argmax(axis=1)]], axis=1),
        )

    def _coefficients(self, M: Array) -> tuple[Array, Array]:
        """Return coefficients, and the spectra that they are relative to."""
        if self.illumination is not None:
            return self.illumination.coefficients(M), self.illumination.spectra
        if self.method == "nnls":
            return nnls(self.U, M), self.U
        if self.method == "fcls":
            return fcls(self.U, M), self.U
        U = unit_columns(self.U)
        return nnls(U, M), U

    def _standard_errors(self, U: Array, H: Array, residuals: Array) -> Array:
        kind = self.method
        if kind == "unit":
            kind = "shares"
        stiffness = 0.0
        spread = 0.0
        if self.illumination is not None:
            stiffness = self.illumination.stiffness
            spread = self.illumination.spread
        return standard_errors(
            U,
            H,
            residuals,
            kind=kind,
            variability=self.variability,
            stiffness=stiffness,
            spread=spread,
        )


@dataclass(frozen=True)
class FittedBlock:
    """What :class:`FitBlock` returns for a block."""

    maps: dict[str, Array] | None  # None if they have been written to the folder
    totals: Totals


def _squared_error(U: Array, M: Array) -> float:
    """Return ‖M − U H‖² for the best H ≥ 0."""
    residuals = column_residuals(U, M, nnls(U, M))
    return float(residuals @ residuals)


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
    if folder is None:
        maps = task.empty_maps(scene.shape[1:], np.nan)
        totals = _fit_blocks(scene, task, client, report, maps)
    else:
        with staged(folder) as hidden:
            hidden.mkdir()
            _create_stores(scene, task, hidden)
            totals = _fit_blocks(scene, replace(task, folder=hidden), client, report, None)
        maps = _stored_maps(folder)
    other_errors = totals.other_errors
    pixel_error = None
    if task.measures_pixels:
        pixel_error = other_errors.pop(0)
    layers = {name: _described(scene, task, name, values) for name, values in maps.items()}
    return Maps(layers, totals, pixel_error, other_errors)


def _fit_blocks(
    scene: xr.DataArray,
    task: FitBlock,
    client: Any,
    report: Callable[[float], Any],
    maps: dict[str, Array] | None,
) -> Totals:
    """Fit all blocks and return the totals; copy the maps of the blocks into ``maps``."""
    totals = task.no_totals()
    for (rows, columns), fitted in over_blocks(scene, task, client, report):
        totals = totals + fitted.totals
        if maps is None or fitted.maps is None:
            continue
        for name, values in fitted.maps.items():
            maps[name][..., rows, columns] = values
    return totals


def _described(scene: xr.DataArray, task: FitBlock, name: str, values: Array) -> xr.DataArray:
    """Return a map with its coordinates, and the names of the endmembers if given."""
    if name not in _OF_ENDMEMBERS:
        return map_of(scene, values, _VALUES[name])
    layer = map_of(scene, values, _VALUES[name], endmember=np.arange(1, len(values) + 1))
    if task.names is None:
        return layer
    return layer.assign_coords(name=("endmember", task.names))


def _create_stores(scene: xr.DataArray, task: FitBlock, folder: Path) -> None:
    """Write the stores without their values.

    Each block is one chunk, that is one file, so that no two blocks write to the same file.
    """
    # Imported here, since zarr is slow to import and most calls write no maps.
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


def _write_block(folder: Path, block: Block, maps: dict[str, Array]) -> None:
    from selfdict.scene.write import write_zarr_block

    for name, values in maps.items():
        if name == "valid":
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
