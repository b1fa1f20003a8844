"""The last pass over a scene: the pixels of one block, fitted by the endmembers."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.abundances import (
    Illumination,
    Variability,
    column_residuals,
    fcls,
    nnls,
    standard_errors,
)
from selfdict.abundances.shares import as_shares, unit_columns
from selfdict.scene.blocks import block_matrix
from selfdict.scene.check import Dictionary
from selfdict.scene.passes import Block


@dataclass(frozen=True)
class MapArrays:
    """The maps of a scene or of a block without coordinates, as NumPy or dask arrays."""

    abundances: Any  # (r, y, x)
    uncertainty: Any  # (r, y, x), or None
    brightness: Any  # (y, x), or None
    residual: Any  # (y, x)
    valid: Any  # (y, x), booleans

    def put(self, rows: slice, columns: slice, block: "MapArrays") -> None:
        """Copy the maps of a block into these."""
        self.abundances[:, rows, columns] = block.abundances
        if self.uncertainty is not None:
            self.uncertainty[:, rows, columns] = block.uncertainty
        if self.brightness is not None:
            self.brightness[rows, columns] = block.brightness
        self.residual[rows, columns] = block.residual
        self.valid[rows, columns] = block.valid


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
    check: Array = field(default_factory=lambda: np.zeros(0))  # the sums of the check, if any

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
            check=self.check + other.check,
        )

    @property
    def relative_error(self) -> float:
        """‖M − U H‖_F / ‖M‖_F."""
        return self._relative(self.squared_error)

    @property
    def other_errors(self) -> list[float]:
        """The same for the other sets of spectra."""
        return [self._relative(error) for error in self.squared_other_errors]

    def _relative(self, squared_error: float) -> float:
        if self.squared_norm == 0:
            return 0.0
        return float(np.sqrt(squared_error / self.squared_norm))


@dataclass(frozen=True)
class FittedBlock:
    """What :class:`FitBlock` returns for a block."""

    maps: MapArrays | None  # None if they have been written to the folder
    totals: Totals
    peaks: Array  # (r, 2), the highest abundance of each endmember, and the position of its pixel


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
    dictionary: Dictionary | None = None  # of the check over all pixels
    folder: Path | None = None  # with the stores that each block is written to
    names: Array | None = None  # of the endmembers

    def no_totals(self) -> Totals:
        """Return the totals of no pixels."""
        no_errors = np.zeros(len(self.others))
        if self.dictionary is None:
            return Totals(squared_other_errors=no_errors)
        return Totals(squared_other_errors=no_errors, check=self.dictionary.no_sums())

    def __call__(self, block: Block) -> FittedBlock:
        """Fit the pixels of the block; write the maps if there is a folder for them."""
        M, flags = block_matrix(block.scene, slice(None), slice(None), self.bands)
        valid = flags.reshape(block.scene.shape[1:])
        maps = self._empty_maps(valid)
        totals = self.no_totals()
        # Below every abundance, so that a block without valid pixels sets no peak.
        peaks = np.full((self.U.shape[1], 2), -1.0)
        if valid.any():
            totals, H = self._fit(M[:, flags], maps)
            peaks = np.stack([H.max(axis=1), block.pixels[flags][H.argmax(axis=1)]], axis=1)
        if self.folder is None:
            return FittedBlock(maps, totals, peaks)
        _write_block(self.folder, block, maps)
        return FittedBlock(None, totals, peaks)

    def _empty_maps(self, valid: Array) -> MapArrays:
        """Return maps of NaN for a block."""
        shape = (self.U.shape[1], *valid.shape)
        uncertainty = None
        if self.with_uncertainty:
            uncertainty = np.full(shape, np.nan, dtype=self.U.dtype)
        brightness = None
        if self.illumination is not None:
            brightness = np.full(valid.shape, np.nan, dtype=self.U.dtype)
        return MapArrays(
            abundances=np.full(shape, np.nan, dtype=self.U.dtype),
            uncertainty=uncertainty,
            brightness=brightness,
            residual=np.full(valid.shape, np.nan, dtype=self.U.dtype),
            valid=valid,
        )

    def _fit(self, M: Array, maps: MapArrays) -> tuple[Totals, Array]:
        """Fit pixels M (m, n), which is overwritten; fill the maps and return the abundances."""
        check = np.zeros(0)
        if self.dictionary is not None:
            check = self.dictionary.sums(M)
        n_values = M.size
        n_negative = int(np.count_nonzero(M < 0))
        lowest = float(M.min())
        other_errors = np.array([_squared_error(U, M) for U in self.others])
        H, U = self._coefficients(M)
        # Summed in float64: the sum over many float32 pixels would lose digits.
        norms = np.einsum("ij,ij->j", M, M, dtype=np.float64)
        M -= U @ H
        errors = np.einsum("ij,ij->j", M, M, dtype=np.float64)
        if maps.uncertainty is not None:
            maps.uncertainty[:, maps.valid] = self._standard_errors(U, H, np.sqrt(errors))
        if maps.brightness is not None:
            maps.brightness[maps.valid] = H.sum(axis=0)
        if self.method in ("shares", "unit"):
            H = as_shares(H)
        maps.abundances[:, maps.valid] = H
        # A pixel of zeros is fitted exactly by no endmember at all.
        maps.residual[maps.valid] = np.sqrt(errors / np.where(norms > 0, norms, 1.0))
        totals = Totals(
            n_valid=M.shape[1],
            squared_norm=float(norms.sum()),
            squared_error=float(errors.sum()),
            n_values=n_values,
            n_negative=n_negative,
            lowest=lowest,
            squared_other_errors=other_errors,
            check=check,
        )
        return totals, H

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


def _squared_error(U: Array, M: Array) -> float:
    """Return ‖M − U H‖² for the best H ≥ 0."""
    residuals = column_residuals(U, M, nnls(U, M))
    return float(residuals @ residuals)


def _write_block(folder: Path, block: Block, maps: MapArrays) -> None:
    from selfdict.scene.write import write_zarr_block

    stores = {"abundances": ("abundance", maps.abundances)}
    if maps.uncertainty is not None:
        stores["uncertainty"] = ("uncertainty", maps.uncertainty)
    if maps.brightness is not None:
        stores["brightness"] = ("brightness", maps.brightness[None])
    stores["residual"] = ("residual", maps.residual[None])
    for store, (variable, values) in stores.items():
        write_zarr_block(folder / f"{store}.zarr", variable, block.rows, block.columns, values)
