"""Passes over a scene block by block: in this process, or on the workers of a dask cluster."""

import itertools
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import xarray as xr

from selfdict._errors import InputError, warn_caller
from selfdict._imports import optional
from selfdict.compute.threads import thread_limit
from selfdict.scene.blocks import Block, blocks, cut, in_row_chunks

Answer = TypeVar("Answer")
_BLOCKS_PER_GROUP = 256  # blocks whose dask tasks are separated from all others in one step


def over_blocks(
    scene: xr.DataArray,
    task: Callable[[Block], Answer],
    client: Any = None,
    report: Callable[[float], Any] | None = None,
) -> Iterator[tuple[tuple[slice, slice], Answer]]:
    """Yield the rows and columns of each block with ``task(block)``, and report the share done."""
    parts = blocks(scene)
    answers = run_on_blocks(scene, task, range(len(parts)), None, client)
    for number, (part, answer) in enumerate(zip(parts, answers), start=1):
        yield part, answer
        if report is not None:
            report(number / len(parts))


def run_on_blocks(
    scene: xr.DataArray,
    task: Callable[..., Answer],
    numbers: Iterable[int],
    further: Iterable[Any] | None,
    client: Any,
) -> Iterator[Answer]:
    """Yield ``task(block)`` of the blocks of rising numbers, or ``task(block, further)``."""
    wanted = set(numbers)
    if client is None:
        chosen = _read_ahead(block for block in cut(scene) if block.number in wanted)
    else:
        to_pickle = _cut_to_pickle(in_row_chunks(scene), blocks(scene))
        chosen = (block for block in to_pickle if block.number in wanted)
    items: Iterator[tuple[Any, ...]] = zip(chosen)
    if further is not None:
        items = zip(chosen, further)
    if client is None:
        return itertools.starmap(task, items)
    return map_blocks(client, task, items)


def _read_ahead(parts: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks whose values are in memory; the next one is read while one is used."""
    with ThreadPoolExecutor(1) as reader:
        coming: deque[Future[Block]] = deque()
        for block in parts:
            coming.append(reader.submit(_loaded, block))
            if len(coming) > 1:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _loaded(block: Block) -> Block:
    return replace(block, scene=block.scene.compute())


def _cut_to_pickle(scene: xr.DataArray, parts: list[tuple[slice, slice]]) -> Iterator[Block]:
    """Yield the blocks, each with the dask tasks that read it and no others."""
    # A part of a dask array refers to the tasks of the whole array, and all would be pickled with
    # it. To find those of a block takes time proportional to the number of tasks: it is done for a
    # group of blocks first, and then for each block among the tasks of its group.
    for first in range(0, len(parts), _BLOCKS_PER_GROUP):
        group = parts[first : first + _BLOCKS_PER_GROUP]
        top = group[0][0].start
        bottom = group[-1][0].stop
        strip = _own_tasks(scene.isel(y=slice(top, bottom)))
        in_strip = [(slice(rows.start - top, rows.stop - top), columns) for rows, columns in group]
        for (rows, _), block in zip(group, cut(strip, in_strip)):
            # Numbers and rows were counted within the strip.
            yield replace(
                block, number=first + block.number, rows=rows, scene=_own_tasks(block.scene)
            )


def _own_tasks(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene without the dask tasks that its values do not need."""
    import dask

    (data,) = dask.optimize(scene.data)
    return scene.copy(data=data)


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """Yield a ``distributed.Client`` of a scheduler, given by its address ``tcp://host:8786``."""
    distributed = optional("distributed")
    try:
        client = distributed.Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:  # TimeoutError is an OSError
        reason = type(error).__name__
        if str(error):
            reason = str(error).splitlines()[0]
        raise InputError(
            f"could not connect to a dask scheduler at {scheduler!r}: {reason}"
        ) from error
    try:
        if not client.nthreads():
            warn_caller("the cluster has no workers: waiting for the first one")
        yield client
    finally:
        client.close()


def map_blocks(
    client: Any, task: Callable[..., Answer], items: Iterable[tuple[Any, ...]]
) -> Iterator[Answer]:
    """Run ``task(*item)`` for every item in the cluster and yield the answers in order."""
    # A few tasks per thread are submitted at any time: nobody ever holds all items or answers. If a
    # worker dies, its task runs again on another one: it must give the same answer, and write the
    # same files. The same worker is asked first for the items of the same number: it may have kept
    # something of them.
    remaining = enumerate(items)
    submitted: deque[Any] = deque()
    # As the answer of a task it is copied from worker to worker, and made again if it is lost with
    # one. The scheduler holds its bytes.
    dask = optional("dask")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        shared = client.submit(pickle.loads, pickle.dumps(task), pure=False)
    try:
        for count in itertools.count():
            if count % 32 == 0:  # clusters grow and shrink
                threads = client.nthreads()
                # One task of each thread runs, two wait there.
                limit = max(2, 3 * sum(threads.values()))
                preferences = _preferences(threads)
            for _, (number, item) in zip(range(limit - len(submitted)), remaining):
                preference = preferences[number % len(preferences)]
                # pure=False: dask must not take an equal task for one that it has answered before.
                submitted.append(client.submit(_run, shared, item, pure=False, **preference))
            if not submitted:
                return
            # Removed only after its answer was used: until then it is cancelled on an error.
            yield submitted[0].result()
            submitted.popleft()
    finally:
        client.cancel(list(submitted))


def _preferences(threads: dict[str, int]) -> list[dict[str, Any]]:
    """Return what tells dask to ask a worker first, of each as often as it has threads."""
    preferences: list[dict[str, Any]] = []
    for address in sorted(threads):
        # another worker may take the item if this one has too much to do
        first = {"workers": [address], "allow_other_workers": True}
        preferences += threads[address] * [first]
    # a cluster without workers waits for the first one
    return preferences or [{}]


def _run(task: Callable[..., Answer], item: tuple[Any, ...]) -> Answer:
    """Run a task on one thread: the cluster runs as many tasks at a time as it has cores."""
    with thread_limit(1):
        return task(*item)
