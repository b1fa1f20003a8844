"""Passes over many blocks on a ``dask.distributed`` cluster, with one task per block.

Only a few tasks are submitted at a time, and their answers are small.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict.compute.threads import thread_limit

Item = TypeVar("Item")
Answer = TypeVar("Answer")
# tasks submitted for each thread of the cluster: one runs, the others wait there
_TASKS_PER_THREAD = 3
# the number of threads is looked up again each time that this many answers have come
_ANSWERS_PER_CHECK = 32


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """Connect to a dask scheduler and yield its ``distributed.Client``.

    Parameters
    ----------
    scheduler : str
        The address that ``dask scheduler`` prints, such as ``tcp://host:8786``.
    """
    distributed = optional("distributed")
    try:
        client = distributed.Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:  # TimeoutError is an OSError
        reason = type(error).__name__
        if str(error):
            reason = str(error).splitlines()[0]
        raise InputError(f"no dask scheduler answers at {scheduler!r}: {reason}") from error
    try:
        yield client
    finally:
        client.close()


def map_blocks(
    client: Any, task: Callable[[Item], Answer], items: Iterable[Item]
) -> Iterator[Answer]:
    """Run ``task`` on every item in the cluster and yield the answers in the order of the items.

    Only a few tasks per thread are submitted at any time, so neither the scheduler nor this process
    ever holds all items or all answers. The order of the answers, and with it the rounding of sums
    over them, depends on nothing else. If a worker dies, its task runs again on another one: a task
    must give the same answer, and write the same files, if it runs twice.

    Parameters
    ----------
    client : distributed.Client
    task : callable
        Is pickled, and so are the items and the answers: all three should be small.
    items : iterable
        Read one by one, as the cluster finishes tasks.

    Yields
    ------
    answer of the next item

    Examples
    --------
    >>> from distributed import Client
    >>> from selfdict.backends.dask_ import map_blocks
    >>> options = dict(processes=False, n_workers=1, dashboard_address=":0")
    >>> with Client(**options, set_as_default=False) as client:
    ...     list(map_blocks(client, abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    remaining = iter(items)
    submitted: deque[Any] = deque()
    try:
        for count in itertools.count():
            if count % _ANSWERS_PER_CHECK == 0:  # clusters grow and shrink
                limit = max(2, _TASKS_PER_THREAD * sum(client.nthreads().values()))
            for _, item in zip(range(limit - len(submitted)), remaining):
                # pure=False: dask must not take an equal task for one that it has answered before.
                submitted.append(client.submit(_run, task, item, pure=False))
            if not submitted:
                return
            # Removed only after its answer was used: until then it is cancelled on an error.
            yield submitted[0].result()
            submitted.popleft()
    finally:
        client.cancel(list(submitted))


def _run(task: Callable[[Item], Answer], item: Item) -> Answer:
    """Run a task on one thread: the cluster runs as many tasks at a time as it has cores."""
    with thread_limit(1):
        return task(item)
