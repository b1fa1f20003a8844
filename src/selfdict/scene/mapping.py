"""Abundances and residuals of every pixel, block by block, in memory or written to zarr stores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.abundances import fcls, nnls
from selfdict.abundances.shares import as_shares
from selfdict.kernels.column_norms import squared_norms
from selfdict.scene.blocks import block_matrix, blocks, map_of
from selfdict.scene.check import Dictionary, SceneCheck
from selfdict.scene.files import as_bands, read_scene
from selfdict.scene.passes import Block, over_blocks
from selfdict.scene.staging import staged

ABUNDANCES: dict[str, Callable[[Array, Array], Array]] = {"nnls": nnls, "fcls": fcls}
_N_FIT_SUMS = 3  # number of valid pixels, ‖M − U H‖² and ‖M‖²; the sums of the check follow


@dataclass(frozen=True)
class Maps:
    """The maps of a scene, and what is known of all its pixels together."""

    abundances: xr.DataArray
    residual: xr.DataArray
    valid: xr.DataArray
    n_valid: int
    relative_error: float
    peaks: Array  # for each endmember, the pixel that holds most of it
    check: SceneCheck | None


@dataclass(frozen=True)
class MapArrays:
    """The maps of a scene or of a block without coordinates, as NumPy or dask arrays."""

    abundances: Any  # (r, y, x)
    residual: Any  # (y, x)
    valid: Any  # (y, x), booleans


@dataclass(frozen=True)
class FittedBlock:
    """What :class:`FitBlock` returns for a block.

    Attributes
    ----------
    maps : MapArrays or None
        None if they have been written to the folder.
    sums : (k,) ndarray
        Number of valid pixels, ‖M − U H‖², ‖M‖², and the sums of the check.
    peaks : (r, 2) ndarray
        For each endmember the highest abundance, and the position in the scene of its pixel.
    """

    maps: MapArrays | None
    sums: Array
    peaks: Array


@dataclass(frozen=True)
class FitBlock:
    """The task that fits the pixels of a block by the endmembers.

    Attributes
    ----------
    bands : (n_bands,) ndarray of bool
        The used ones.
    U : (m, r) ndarray
        The endmembers.
    method : {"nnls", "fcls", "shares"}
        How abundances are fitted.
    dictionary : Dictionary, optional
        Of the check over all pixels.
    folder : Path, optional
        Where the stores are that each block is written to.
    names : (r,) ndarray of str, optional
        Of the endmembers.
    """

    bands: Array
    U: Array
    method: str
    dictionary: Dictionary | None = None
    folder: Path | None = None
    names: Array | None = None

    @property
    def n_sums(self) -> int:
        """Number of entries of ``FittedBlock.sums``."""
        if self.dictionary is None:
            return _N_FIT_SUMS
        n_atoms = int(self.dictionary.D.shape[1])
        return _N_FIT_SUMS + 2 + n_atoms

    def fitted(self, M: Array) -> tuple[Array, Array]:
        """Return coefficients, and the spectra that they are relative to."""
        if self.method != "shares":
            return ABUNDANCES[self.method](self.U, M), self.U
        # Relative to spectra of unit length, so that brightness does not matter.
        U = self.U / np.sqrt(squared_norms(self.U)).astype(self.U.dtype)
        return nnls(U, M), U

    def __call__(self, block: Block) -> FittedBlock:
        """Fit the pixels of the block; write the maps if there is a folder for them."""
        M, flags = block_matrix(block.scene, slice(None), slice(None), self.bands)
        valid = flags.reshape(block.scene.shape[1:])
        r = self.U.shape[1]
        abundances = np.full((r, *valid.shape), np.nan, dtype=self.U.dtype)
        residual = np.full(valid.shape, np.nan, dtype=self.U.dtype)
        sums = np.zeros(self.n_sums)
        # Below every abundance, so that a block without valid pixels sets no peak.
        peaks = np.full((r, 2), -1.0)
        if valid.any():
            # Negative values are noise in dark bands: the model is one of nonnegative data.
            M = np.maximum(M[:, flags], 0)
            if self.dictionary is not None:
                sums[_N_FIT_SUMS:] = self.dictionary.sums(M)
            H, U = self.fitted(M)
            # Summed in float64: the sum over many float32 pixels would lose digits.
            norms = np.einsum("ij,ij->j", M, M, dtype=np.float64)
            M -= U @ H
            errors = np.einsum("ij,ij->j", M, M, dtype=np.float64)
            if self.method == "shares":
                H = as_shares(H)
            abundances[:, valid] = H
            # A pixel without a positive value is fitted exactly by no endmember at all.
            residual[valid] = np.sqrt(errors / np.where(norms > 0, norms, 1.0))
            sums[:_N_FIT_SUMS] = flags.sum(), errors.sum(), norms.sum()
            peaks = np.stack([H.max(axis=1), block.pixels[flags][H.argmax(axis=1)]], axis=1)
        maps = MapArrays(abundances, residual, valid)
        if self.folder is None:
            return FittedBlock(maps, sums, peaks)
        _write_block(self.folder, block, maps)
        return FittedBlock(None, sums, peaks)


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
        shape = scene.shape[1:]
        maps = MapArrays(
            abundances=np.empty((task.U.shape[1], *shape), task.U.dtype),
            residual=np.empty(shape, task.U.dtype),
            valid=np.empty(shape, dtype=bool),
        )
        totals, peaks = _fit_blocks(scene, task, client, report, maps)
        return _describe(scene, task, maps, totals, peaks)
    with staged(folder) as hidden:
        hidden.mkdir()
        _create_stores(scene, task, hidden)
        totals, peaks = _fit_blocks(scene, replace(task, folder=hidden), client, report, None)
    abundances = read_scene(folder / "abundances.zarr").data
    residual = read_scene(folder / "residual.zarr").data[0]
    # Only the residual tells valid pixels apart: it is NaN for the others.
    maps = MapArrays(abundances, residual, ~np.isnan(residual))
    return _describe(scene, task, maps, totals, peaks)


def _fit_blocks(
    scene: xr.DataArray,
    task: FitBlock,
    client: Any,
    report: Callable[[float], Any],
    maps: MapArrays | None,
) -> tuple[Array, Array]:
    """Fit all blocks; return the sums and the positions of the peaks.

    The maps of the blocks are copied into ``maps``, if given.
    """
    totals = np.zeros(task.n_sums)
    peaks = np.full((task.U.shape[1], 2), -1.0)
    for (rows, columns), fitted in over_blocks(scene, task, client, report):
        totals = totals + fitted.sums
        is_higher = fitted.peaks[:, :1] > peaks[:, :1]
        peaks = np.where(is_higher, fitted.peaks, peaks)
        if maps is not None and fitted.maps is not None:
            maps.abundances[:, rows, columns] = fitted.maps.abundances
            maps.residual[rows, columns] = fitted.maps.residual
            maps.valid[rows, columns] = fitted.maps.valid
    return totals, peaks[:, 1].astype(np.intp)


def _create_stores(scene: xr.DataArray, task: FitBlock, folder: Path) -> None:
    """Write the stores without their values.

    Each block is one chunk, that is one file, so that no two blocks write to the same file.
    """
    # Imported here, since zarr is slow to import and most calls write no maps.
    from selfdict.scene.formats.zarr_ import create

    rows, columns = blocks(scene)[0]
    r = task.U.shape[1]
    # Never computed: only its shape, dtype and chunks are written.
    placeholder = dask.array.full(
        (r, *scene.shape[1:]),
        np.nan,
        dtype=task.U.dtype,
        chunks=(r, rows.stop, columns.stop),
    )
    abundances = _abundance_map(scene, placeholder, task.names)
    create(as_bands(abundances), folder / "abundances.zarr")
    create(as_bands(map_of(scene, placeholder[0], "residual")), folder / "residual.zarr")


def _write_block(folder: Path, block: Block, maps: MapArrays) -> None:
    from selfdict.scene.formats.zarr_ import write_block

    abundances_store = folder / "abundances.zarr"
    write_block(abundances_store, "abundance", block.rows, block.columns, maps.abundances)
    residual_store = folder / "residual.zarr"
    write_block(residual_store, "residual", block.rows, block.columns, maps.residual[None])


def _describe(
    scene: xr.DataArray, task: FitBlock, maps: MapArrays, totals: Array, peaks: Array
) -> Maps:
    """Return the maps with their coordinates, and what the sums over all pixels say."""
    n_valid, squared_error, squared_norm = totals[:_N_FIT_SUMS]
    relative_error = 0.0
    if squared_norm:
        relative_error = float(np.sqrt(squared_error / squared_norm))
    check = None
    if task.dictionary is not None:
        check = task.dictionary.verdict(totals[_N_FIT_SUMS:])
    return Maps(
        abundances=_abundance_map(scene, maps.abundances, task.names),
        residual=map_of(scene, maps.residual, "residual"),
        valid=map_of(scene, maps.valid, "valid"),
        n_valid=int(n_valid),
        relative_error=relative_error,
        peaks=peaks,
        check=check,
    )


def _abundance_map(scene: xr.DataArray, values: Array, names: Array | None) -> xr.DataArray:
    maps = map_of(scene, values, "abundance", endmember=np.arange(1, len(values) + 1))
    if names is None:
        return maps
    return maps.assign_coords(name=("endmember", names))
