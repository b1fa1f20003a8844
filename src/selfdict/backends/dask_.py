"""Passes over many blocks on a ``dask.distributed`` cluster: a task for each block, small answers, few under way."""

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
_AHEAD = 3  # tasks handed out for each thread of the cluster: one runs, the next ones are at hand
_ASK = 32  # answers after which the number of threads is asked for again


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """Connect to the scheduler at an address such as ``tcp://host:8786``; yield its ``distributed.Client``.

    Parameters
    ----------
    scheduler : str
        The address that ``dask scheduler`` prints.
    """
    distributed = optional("distributed")
    try:
        client = distributed.Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:  # TimeoutError is an OSError
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"no dask scheduler answers at {scheduler!r}: {reason}") from error
    try:
        yield client
    finally:
        client.close()


def map_blocks(
    client: Any, task: Callable[[Item], Answer], items: Iterable[Item]
) -> Iterator[Answer]:
    """Run ``task`` on every item somewhere in the cluster and yield the answers in the order of the items.

    A few tasks a thread are under way at any time, so neither the scheduler nor this process ever
    holds all items or all answers. The order of the answers, and with it the rounding of sums over
    them, depends on nothing else. A task whose worker dies runs again on another: it must give the
    same answer, and leave the same files, if it runs twice.

    Parameters
    ----------
    client : distributed.Client
    task : callable
        Is pickled, and so are the items and the answers: all three should be small.
    items : iterable
        Taken one by one as the cluster gets on.

    Yields
    ------
    answer of the next item

    Examples
    --------
    >>> from distributed import Client
    >>> from selfdict.backends.dask_ import map_blocks
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0", set_as_default=False) as client:
    ...     list(map_blocks(client, abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    waiting = iter(items)
    under_way: deque[Any] = deque()
    try:
        for count in itertools.count():
            if count % _ASK == 0:  # clusters grow and shrink
                limit = max(2, _AHEAD * sum(client.nthreads().values()))
            for _, item in zip(range(limit - len(under_way)), waiting):
                under_way.append(client.submit(_run, task, item, pure=False))
            if not under_way:
                return
            yield under_way[0].result()
            under_way.popleft()
    finally:
        client.cancel(list(under_way))


def _run(task: Callable[[Item], Answer], item: Item) -> Answer:
    """Run a task on one thread: the cluster runs several at a time, and has the cores."""
    with thread_limit(1):
        return task(item)
