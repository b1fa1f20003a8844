"""Passes over a scene block by block: in this process, or on the workers of a dask cluster."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import blocks, flat_indices, in_row_chunks

Answer = TypeVar("Answer")
_BLOCKS_PER_GROUP = 256  # blocks whose dask tasks are separated from all others in one step


@dataclass(frozen=True)
class Block:
    """Some rows and columns of a scene, whose values are read on use."""

    number: int  # counted from 0 over the scene
    rows: slice  # where the block lies in the scene
    columns: slice
    width: int  # number of columns of the whole scene
    scene: xr.DataArray  # the block as a scene of its own

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
    """Yield the rows and columns of each block with the answer of ``task``, in order.

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
        answers: Iterator[Answer] = map(task, _read_ahead(_cut(scene, parts)))
    else:
        # Imported here, since dask.distributed is optional.
        from selfdict.backends.dask_ import map_blocks

        answers = map_blocks(client, task, _cut_to_pickle(in_row_chunks(scene), parts))
    for number, (part, answer) in enumerate(zip(parts, answers), start=1):
        yield part, answer
        if report is not None:
            report(number / len(parts))


def run_on_blocks(
    scene: xr.DataArray,
    task: Callable[[Block, Any], Answer],
    numbers: Iterable[int],
    parts: Iterable[Any],
    client: Any = None,
) -> Iterator[Answer]:
    """Yield ``task(block, part)`` of some blocks, each with a part of its own, in order.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
    task : callable
        With a ``client`` it is sent to each worker once, whatever its size.
    numbers : iterable of int
        The blocks, increasing, counted from 0 over the scene.
    parts : iterable
        What belongs to each of these blocks; with a ``client`` it is pickled.
    client : distributed.Client, optional
        Where the tasks run; by default in this process, one after the other.
    """
    wanted = set(numbers)
    if client is None:
        chosen = (block for block in _cut(scene, blocks(scene)) if block.number in wanted)
        for block, part in zip(_read_ahead(chosen), parts):
            yield task(block, part)
        return
    from selfdict.backends.dask_ import map_blocks

    cut = _cut_to_pickle(in_row_chunks(scene), blocks(scene))
    chosen = (block for block in cut if block.number in wanted)
    yield from map_blocks(client, task, zip(chosen, parts), share_task=True)


def _cut(scene: xr.DataArray, parts: list[tuple[slice, slice]]) -> Iterator[Block]:
    width = scene.sizes["x"]
    for number, (rows, columns) in enumerate(parts):
        yield Block(number, rows, columns, width, scene.isel(y=rows, x=columns))


def _read_ahead(cut: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks whose values are in memory; the next one is read while one is used."""
    with ThreadPoolExecutor(1) as reader:
        coming: deque[Future[Block]] = deque()
        for block in cut:
            coming.append(reader.submit(_loaded, block))
            if len(coming) > 1:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _loaded(block: Block) -> Block:
    return replace(block, scene=block.scene.compute())


def _cut_to_pickle(scene: xr.DataArray, parts: list[tuple[slice, slice]]) -> Iterator[Block]:
    """Yield the blocks, each with the dask tasks that read it and no others.

    A part of a dask array refers to the tasks of the whole array, and all would be pickled with it.
    To find those of a block takes time proportional to the number of tasks: it is done for a group
    of blocks first, and then for each block among the tasks of its group.
    """
    for first in range(0, len(parts), _BLOCKS_PER_GROUP):
        group = parts[first : first + _BLOCKS_PER_GROUP]
        top = group[0][0].start
        bottom = group[-1][0].stop
        strip = _own_tasks(scene.isel(y=slice(top, bottom)))
        in_strip = [(slice(rows.start - top, rows.stop - top), columns) for rows, columns in group]
        for (rows, _), block in zip(group, _cut(strip, in_strip)):
            # Numbers and rows were counted within the strip.
            yield replace(
                block, number=first + block.number, rows=rows, scene=_own_tasks(block.scene)
            )


def _own_tasks(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene without the dask tasks that its values do not need."""
    import dask

    (data,) = dask.optimize(scene.data)
    return scene.copy(data=data)
