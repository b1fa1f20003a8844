"""The pixels of one block fitted by the endmembers."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from selfdict._validation import Array
from selfdict.abundances import Illumination, Variability, fcls, nnls, standard_errors
from selfdict.abundances.shares import as_shares, unit_columns
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.scene.blocks import block_matrix
from selfdict.scene.passes import Block

# A residual stands out if it is above the median by so many median deviations.
_DEVIATIONS = 6
_MOST_OUTLIERS = 512  # of a block whose spectra are kept
_COLUMNS = 1024  # pixels whose residuals are formed at a time: they stay in cache
# The maps by the names that a result has for them, and the name of the values in each.
VALUES = {
    "abundances": "abundance",
    "uncertainty": "uncertainty",
    "brightness": "brightness",
    "residual": "residual",
    "valid": "valid",
}


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
class Outliers:
    """Pixels with large residuals, some of each block."""

    pixels: Array  # (k,), their positions in the scene
    M: Array  # (m, k)

    @classmethod
    def none(cls, n_bands: int) -> "Outliers":
        """Return no pixels."""
        return cls(np.zeros(0, dtype=np.intp), np.zeros((n_bands, 0)))

    @classmethod
    def of(cls, M: Array, pixels: Array, errors: Array) -> "Outliers":
        """Return pixels of a block (m, n) whose errors stand out from those of the block."""
        found = np.flatnonzero(errors > outlier_limit(errors))
        # evenly, so that there are some of every place
        found = found[:: 1 + found.size // _MOST_OUTLIERS]
        return cls(pixels[found], M[:, found])


def outlier_limit(errors: Array) -> float:
    """Return the residual from which on one stands out."""
    typical = np.median(errors)
    return float(typical + _DEVIATIONS * np.median(np.abs(errors - typical)))


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
        M, flags = block_matrix(block.scene, self.bands)
        valid = flags.reshape(block.scene.shape[1:])
        maps = self.empty_maps(valid.shape, np.nan)
        maps["valid"] = valid
        totals = self.no_totals()
        errors = np.full(valid.shape, np.nan, dtype=self.U.dtype)
        outliers = Outliers.none(len(M))
        if valid.any():
            pixels = block.pixels
            # Indexing by booleans copies, which is not needed if all pixels hold data.
            if not flags.all():
                M = M[:, flags]
                pixels = pixels[flags]
            totals = self._fit(M, pixels, maps, errors)
            outliers = Outliers.of(M, pixels, errors[valid])
        if self.folder is None:
            return FittedBlock(maps, errors, outliers, totals)
        _write_block(self.folder, block, maps)
        return FittedBlock(None, errors, outliers, totals)

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

    def _fit(self, M: Array, pixels: Array, maps: dict[str, Array], errors_map: Array) -> Totals:
        """Fit pixels M (m, n) and fill the maps."""
        n_negative = int(np.count_nonzero(M < 0))
        lowest = float(M.min())
        other_errors = np.array([_squared_error(U, M) for U in self.others])
        H, U = self._coefficients(M)
        norms = squared_norms(M)
        errors = _squared_residuals(U, M, H)
        valid = maps["valid"]
        if self.with_uncertainty:
            maps["uncertainty"][:, valid] = self._standard_errors(U, H, np.sqrt(errors))
        if self.illumination is not None:
            maps["brightness"][valid] = H.sum(axis=0)
        if self.method in ("shares", "unit"):
            H = as_shares(H)
        maps["abundances"][:, valid] = H
        # A pixel of zeros is fitted exactly by no endmember at all.
        errors_map[valid] = np.sqrt(errors)
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
    errors: Array  # (y, x), ‖m − U h‖ of each pixel; NaN without data
    outliers: Outliers
    totals: Totals


def _squared_error(U: Array, M: Array) -> float:
    """Return ‖M − U H‖² for the best H ≥ 0."""
    return float(_squared_residuals(U, M, nnls(U, M)).sum())


def _squared_residuals(U: Array, M: Array, H: Array) -> Array:
    """Return ‖m − U h‖² of every pixel, in the precision of M and summed in float64."""
    squares = np.empty(M.shape[1])

    def task(start: int, stop: int) -> None:
        columns = slice(start, stop)
        squares[columns] = squared_norms(M[:, columns] - U @ H[:, columns])

    with single_threaded_blas():
        for_slices(task, len(squares), _COLUMNS)
    return squares


def _write_block(folder: Path, block: Block, maps: dict[str, Array]) -> None:
    from selfdict.scene.write import write_zarr_block

    for name, values in maps.items():
        if name == "valid":
            continue
        # Stores have bands.
        bands = values.reshape(-1, *values.shape[-2:])
        store = folder / f"{name}.zarr"
        write_zarr_block(store, VALUES[name], block.rows, block.columns, bands)
