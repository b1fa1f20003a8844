"""Abundances and residuals of every pixel, block by block: into memory, or straight into zarr stores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.abundances import fcls, nnls
from selfdict.scene.blocks import block_matrix, blocks, map_of
from selfdict.scene.check import Dictionary, SceneCheck
from selfdict.scene.files import as_bands, read_scene
from selfdict.scene.passes import Block, over_blocks
from selfdict.scene.staging import staged

ABUNDANCES: dict[str, Callable[[Array, Array], Array]] = {"nnls": nnls, "fcls": fcls}


@dataclass(frozen=True)
class Maps:
    """The maps of a scene, and what is known of all its pixels together."""

    abundances: xr.DataArray
    residual: xr.DataArray
    valid: xr.DataArray
    n_valid: int
    relative_error: float
    peaks: Array  # for each endmember, where its map is highest
    check: SceneCheck | None


def map_scene(
    scene: xr.DataArray,
    task: "FitBlock",
    folder: Path | None,
    client: Any,
    report: Callable[[float], Any],
) -> Maps:
    """Fit all pixels in one pass.

    With a ``folder`` each block is written there by whoever has fitted it, and the maps returned
    read it lazily; the folder appears when all blocks are written.
    """
    if folder is None:
        shape, dtype = scene.shape[1:], task.U.dtype
        values = {
            "abundances": np.empty((task.U.shape[1], *shape), dtype),
            "residual": np.empty(shape, dtype),
            "valid": np.empty(shape, dtype=bool),
        }
        return _describe(scene, task, values, *_run(scene, task, client, report, values))
    with staged(folder) as hidden:
        hidden.mkdir()
        _create(scene, task, hidden)
        totals = _run(scene, replace(task, folder=hidden), client, report, {})
    abundances, residual = (
        read_scene(folder / name).data for name in ("abundances.zarr", "residual.zarr")
    )
    values = {"abundances": abundances, "residual": residual[0], "valid": ~np.isnan(residual[0])}
    return _describe(scene, task, values, *totals)


@dataclass(frozen=True)
class FitBlock:
    """Fit the pixels of a block to the endmembers U (m, r).

    Called with a :class:`Block` it returns the maps, if there is no folder to write them to; the
    sums: number of valid pixels, ‖M − U H‖², ‖M‖², and those of the check; and for each endmember
    the most of it in a pixel, and in which.
    """

    bands: Array
    U: Array
    method: str
    dictionary: Dictionary | None = None
    folder: Path | None = None
    names: Array | None = None

    def __call__(self, block: Block) -> tuple[dict[str, Array], Array, Array]:
        M, flags = block_matrix(block.scene, slice(None), slice(None), self.bands)
        valid = flags.reshape(block.scene.shape[1:])
        maps = {
            "abundances": np.full((self.U.shape[1], *valid.shape), np.nan, dtype=self.U.dtype),
            "residual": np.full(valid.shape, np.nan, dtype=self.U.dtype),
            "valid": valid,
        }
        sums = np.zeros(3 if self.dictionary is None else 5 + self.dictionary.D.shape[1])
        peaks = np.full((self.U.shape[1], 2), -1.0)
        if valid.any():
            M = np.maximum(M[:, flags], 0)
            if self.dictionary is not None:
                sums[3:] = self.dictionary.sums(M)
            H = ABUNDANCES[self.method](self.U, M)
            norms = np.einsum("ij,ij->j", M, M, dtype=np.float64)
            M -= self.U @ H
            errors = np.einsum("ij,ij->j", M, M, dtype=np.float64)
            maps["abundances"][:, valid] = H
            # a pixel without any positive value is explained perfectly by nothing
            maps["residual"][valid] = np.sqrt(errors / np.where(norms > 0, norms, 1.0))
            sums[:3] = flags.sum(), errors.sum(), norms.sum()
            peaks = np.stack([H.max(axis=1), block.pixels[flags][H.argmax(axis=1)]], axis=1)
        if self.folder is not None:
            self._write(block, maps)
            maps = {}
        return maps, sums, peaks

    def _write(self, block: Block, maps: dict[str, Array]) -> None:
        from selfdict.scene.formats.zarr_ import write_block

        assert self.folder is not None
        write_block(
            self.folder / "abundances.zarr",
            "abundance",
            block.rows,
            block.columns,
            maps["abundances"],
        )
        write_block(
            self.folder / "residual.zarr",
            "residual",
            block.rows,
            block.columns,
            maps["residual"][None],
        )


def _run(
    scene: xr.DataArray,
    task: FitBlock,
    client: Any,
    report: Callable[[float], Any],
    values: dict[str, Array],
) -> tuple[Array, Array]:
    """Run the pass, put the maps of the blocks into ``values`` and return the sums, and where the peaks are."""
    totals, peaks = np.zeros(1), np.full((task.U.shape[1], 2), -1.0)
    for part, (maps, sums, highest) in over_blocks(scene, task, client, report):
        totals = totals + sums
        peaks = np.where(highest[:, :1] > peaks[:, :1], highest, peaks)
        for name, block in maps.items():
            values[name][..., *part] = block
    return totals, peaks[:, 1].astype(np.intp)


def _create(scene: xr.DataArray, task: FitBlock, folder: Path) -> None:
    """Write the stores without their values, a chunk for each block: no two blocks write to one file."""
    import dask.array

    from selfdict.scene.formats.zarr_ import create

    rows, columns = blocks(scene)[0]
    r, chunks = task.U.shape[1], (rows.stop, columns.stop)
    nothing = dask.array.full(
        (r, *scene.shape[1:]), np.nan, dtype=task.U.dtype, chunks=(r, *chunks)
    )
    create(as_bands(_abundances(scene, nothing, task.names)), folder / "abundances.zarr")
    create(as_bands(map_of(scene, nothing[0], "residual")), folder / "residual.zarr")


def _describe(
    scene: xr.DataArray, task: FitBlock, values: dict[str, Array], totals: Array, peaks: Array
) -> Maps:
    n_valid, squared_error, squared_norm = totals[:3]
    return Maps(
        abundances=_abundances(scene, values["abundances"], task.names),
        residual=map_of(scene, values["residual"], "residual"),
        valid=map_of(scene, values["valid"], "valid"),
        n_valid=int(n_valid),
        relative_error=float(np.sqrt(squared_error / squared_norm)) if squared_norm else 0.0,
        peaks=peaks,
        check=None if task.dictionary is None else task.dictionary.verdict(totals[3:]),
    )


def _abundances(scene: xr.DataArray, values: Array, names: Array | None) -> xr.DataArray:
    maps = map_of(scene, values, "abundance", endmember=np.arange(1, len(values) + 1))
    return maps if names is None else maps.assign_coords(name=("endmember", names))
