"""Passes over many blocks on a ``dask.distributed`` cluster, with one task per block.

Only a few tasks are submitted at a time, and their answers are small.
"""

import itertools
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
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
    client: Any, task: Callable[..., Answer], items: Iterable[Any], share_task: bool = False
) -> Iterator[Answer]:
    """Run ``task`` on every item in the cluster and yield the answers in the order of the items.

    Only a few tasks per thread are submitted at any time, so neither the scheduler nor this process
    ever holds all items or all answers. The order of the answers, and with it the rounding of sums
    over them, depends on nothing else. If a worker dies, its task runs again on another one: a task
    must give the same answer, and write the same files, if it runs twice. As long as the workers
    stay the same, the same one is asked first for the items of the same number: it may have kept
    something of them.

    Parameters
    ----------
    client : distributed.Client
    task : callable
        Is pickled, and so are the items and the answers: all three should be small.
    items : iterable
        Read one by one, as the cluster finishes tasks.
    share_task : bool
        Whether the task is large: it is then sent to each worker once instead of with each item,
        and called with the elements of an item, which is a tuple.

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
    remaining = enumerate(items)
    submitted: deque[Any] = deque()
    send = _sender(client, task, share_task)
    try:
        for count in itertools.count():
            if count % _ANSWERS_PER_CHECK == 0:  # clusters grow and shrink
                threads = client.nthreads()
                limit = max(2, _TASKS_PER_THREAD * sum(threads.values()))
                preferences = _preferences(threads)
            for _, (number, item) in zip(range(limit - len(submitted)), remaining):
                submitted.append(send(item, preferences[number % len(preferences)]))
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


def _sender(
    client: Any, task: Callable[..., Any], share_task: bool
) -> Callable[[Any, dict[str, Any]], Any]:
    """Return the function that submits an item to a worker and returns the future of its answer."""
    # pure=False: dask must not take an equal task for one that it has answered before.
    submit = partial(client.submit, pure=False)
    if not share_task:
        return lambda item, preference: submit(_run, task, item, **preference)
    # As the answer of a task it is copied from worker to worker, and made again if it is lost with
    # one. The scheduler holds its bytes.
    dask = optional("dask")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        shared = submit(pickle.loads, pickle.dumps(task))
    return lambda item, preference: submit(_run_shared, shared, item, **preference)


def _run_shared(task: Callable[..., Answer], item: tuple[Any, ...]) -> Answer:
    """Run a task on the elements of an item, on one thread."""
    with thread_limit(1):
        return task(*item)


def _run(task: Callable[[Item], Answer], item: Item) -> Answer:
    """Run a task on one thread: the cluster runs as many tasks at a time as it has cores."""
    with thread_limit(1):
        return task(item)
