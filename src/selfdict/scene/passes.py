"""Passes over a scene, a block at a time: in this process, or on the workers of a dask cluster."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import blocks, flat_indices, in_row_chunks

Answer = TypeVar("Answer")
_TOGETHER = 256  # blocks


@dataclass(frozen=True)
class Block:
    """Some rows and columns of a scene, which are read when they are asked for.

    Attributes
    ----------
    number : int
        Counted from 0 over the scene.
    rows, columns : slice
        Where the block lies in the scene.
    width : int
        Columns of the whole scene.
    scene : xarray.DataArray
        The block as a scene of its own.
    """

    number: int
    rows: slice
    columns: slice
    width: int
    scene: xr.DataArray

    @property
    def pixels(self) -> Array:
        """The positions of its pixels in the scene, counted row by row, (n,)."""
        return flat_indices(self.width, self.rows, self.columns)


def over_blocks(
    scene: xr.DataArray,
    task: Callable[[Block], Answer],
    client: Any = None,
    report: Callable[[float], Any] | None = None,
) -> Iterator[tuple[tuple[slice, slice], Answer]]:
    """Yield rows and columns of each block with what ``task`` says about it, in the order of the blocks.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
    task : callable
        Takes a :class:`Block`; with a ``client`` it is pickled.
    client : distributed.Client, optional
        Where the tasks run; by default in this process, one after the other.
    report : callable, optional
        Called with the share done.
    """
    parts = blocks(scene)
    if client is None:
        answers: Iterator[Answer] = map(task, _cut(scene, parts))
    else:
        from selfdict.backends.dask_ import map_blocks

        answers = map_blocks(client, task, _cut_for_travel(in_row_chunks(scene), parts))
    for number, (part, answer) in enumerate(zip(parts, answers), start=1):
        yield part, answer
        if report is not None:
            report(number / len(parts))


def _cut(scene: xr.DataArray, parts: list[tuple[slice, slice]]) -> Iterator[Block]:
    width = scene.sizes["x"]
    for number, (rows, columns) in enumerate(parts):
        yield Block(number, rows, columns, width, scene.isel(y=rows, x=columns))


def _cut_for_travel(scene: xr.DataArray, parts: list[tuple[slice, slice]]) -> Iterator[Block]:
    """Yield the blocks, each with the dask tasks that read it and no others.

    Finding these takes time in proportion to all tasks there are: it is done for many blocks
    together first.
    """
    for first in range(0, len(parts), _TOGETHER):
        group = parts[first : first + _TOGETHER]
        top, bottom = group[0][0].start, group[-1][0].stop
        strip = _own_tasks(scene.isel(y=slice(top, bottom)))
        shifted = [(slice(rows.start - top, rows.stop - top), columns) for rows, columns in group]
        for (rows, _), block in zip(group, _cut(strip, shifted)):
            yield replace(
                block, number=first + block.number, rows=rows, scene=_own_tasks(block.scene)
            )


def _own_tasks(scene: xr.DataArray) -> xr.DataArray:
    import dask

    (data,) = dask.optimize(scene.data)
    return scene.copy(data=data)
