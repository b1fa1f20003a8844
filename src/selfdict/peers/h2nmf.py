"""Hierarchical clustering by rank-two NMF."""

from bisect import insort
from dataclasses import dataclass
from operator import attrgetter
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix, as_rank
from selfdict.compute.scaling import ordinary_squares
from selfdict.compute.threads import for_slices, n_threads, single_threaded_blas
from selfdict.kernels.rank_two import correlate
from selfdict.peers.leaves import (
    COLUMNS_PER_LEAF_SLICE,
    Leaf,
    LeafColumns,
    leaf_columns,
    smaller_gram,
    unit_scale,
)


@dataclass(frozen=True)
class Clusters:
    """A partition of the columns of M, with one representative per cluster.

    Attributes
    ----------
    labels : (n,) ndarray of int
        The cluster of each column, 0 … C − 1.
    indices : (C,) ndarray of int
        The column of M that represents each cluster.
    sizes : (C,) ndarray of int
        The number of columns of each cluster.
    tree : (C − 1,) ndarray of int
        The splits in the order in which they were made. Node 0 holds all columns; split t divides
        node ``tree[t]`` into the nodes 2t + 1 and 2t + 2. The clusters are the nodes that are not
        divided, in increasing order.
    """

    labels: Array
    indices: Array
    sizes: Array
    tree: Array


def h2nmf(M: ArrayLike, n_clusters: int, *, previous: Clusters | None = None) -> Clusters:
    """Cluster the columns of M hierarchically by rank-two NMF (H2NMF).

    Each step divides one cluster in two: the one whose division most lowers the error of
    approximating every cluster by rank one. Negative entries of M count as zero.

    Parameters
    ----------
    M : (m, n) array_like
        One data point per column, in any memory order; it may be a ``np.memmap``. Up to 2²⁷ entries
        (134 million) the columns are copied and kept sorted by cluster. A larger matrix is not
        copied but read block by block, which is slow unless it is column-major.
    n_clusters : int
        The number of clusters.
    previous : Clusters, optional
        An earlier result for the same M with at most ``n_clusters`` clusters, which is refined.

    Returns
    -------
    Clusters
        Fewer than ``n_clusters`` if no cluster can be divided further: columns that are multiples
        of one another are never separated.

    Notes
    -----
    Let λ₁ ≥ λ₂ be the leading eigenvalues of A Aᵀ for the columns A of a cluster. A division into
    A₁ and A₂ gains λ₁(A₁) + λ₁(A₂) − λ₁(A), and never more than λ₂(A), because the rank-one
    approximations of the parts are together one of rank two of A. So a cluster need only be tried
    if its λ₂ is at least the best gain known.

    A Aᵀ is computed for the smaller part; that of the larger part is the difference to the whole.
    Each column is therefore read O(log C) times if the parts are balanced.

    Beyond 2²² entries (4 million) the columns are read as float32. A Aᵀ is then summed in float32
    after the part along the mean is taken out, whose products are summed in float64. The leading
    vectors have an error of about 1e-7, and so has the share of a column that decides to which part
    it belongs. If λ₂ and λ₃ nearly coincide, the division depends on the last digits in any
    precision.

    Examples
    --------
    >>> import selfdict
    >>> M = [[1.0, 0.9, 0.1, 0.0], [0.0, 0.2, 0.9, 1.0], [0.5, 0.5, 0.5, 0.6]]
    >>> selfdict.h2nmf(M, 2).labels
    array([1, 1, 0, 0])
    """
    M = as_matrix(M, finite=False)
    n_clusters = as_rank(n_clusters, M.shape[1], "n_clusters")
    splits, nodes, groups = _start(M.shape[1], n_clusters, previous)
    with single_threaded_blas():
        leaves = _first_leaves(np.asarray(M), nodes, groups)
        _Growth(leaves, splits, n_clusters).run()
        return _describe(leaves, splits)


def _first_leaves(M: Array, nodes: list[int], groups: list[Array]) -> dict[int, Leaf]:
    """Return the leaves that the tree grows from, by their nodes."""
    leaves, total = _leaves(nodes, leaf_columns(M, groups))
    # Sums are taken in float64, whatever the dtype of M.
    if not ordinary_squares(total, np.dtype(np.float64)):
        # Squares leave the range or come near its ends. Powers of two change no division.
        leaves, total = _leaves(nodes, leaf_columns(M, groups, unit_scale(M)))
        if not np.isfinite(total):
            raise InputError("M contains NaN or infinity")
    return leaves


def _leaves(nodes: list[int], parts: list[LeafColumns]) -> tuple[dict[int, Leaf], float]:
    """Return leaves by their nodes, and the sum of all squares; no more leaves if it overflows."""
    leaves = {}
    total = 0.0
    for node, columns in zip(nodes, parts):
        G = smaller_gram(columns)
        total += float(np.trace(G))
        if not np.isfinite(total):
            break
        leaves[node] = Leaf.of(columns, G)
    return leaves, total


class _Growth:
    """The tree while it grows: leaves are tried, and the one with the largest gain is divided."""

    # To try a leaf means to compute the parts that a division would give. Each thread tries another
    # leaf: the one that is next or, if another thread is trying it, one that will probably be
    # needed later, which may be part of a leaf that is not divided yet. The result depends on the
    # gains alone, not on which thread has tried which leaf.

    def __init__(self, leaves: dict[int, Leaf], splits: list[int], n_clusters: int) -> None:
        self.leaves = leaves  # the leaves of the tree, by their node
        self.splits = splits
        self.n_clusters = n_clusters
        # (−value, whether the leaf was tried, node) of the leaves that can be divided, where the
        # value is the gain or, before the leaf was tried, its bound. Sorted: the largest value
        # first; among equals, a bound before a gain, then the older node.
        self.queue: list[tuple[float, bool, int]] = []
        self.untried: list[Leaf] = []  # by priority, ascending
        # Bare locks instead of a condition: an interruption while a condition, which is Python
        # code, is entered or left would leave it locked.
        self.lock = Lock()
        self.waiting: list[Lock] = []  # one per thread that waits for a change; released to wake it
        for node, leaf in leaves.items():
            self.add_to_queue(node)
            self.add_untried(leaf)

    def run(self) -> None:
        """Divide leaves until there are enough, or none can be divided."""
        while True:
            leaf = self.next_leaf()
            if leaf is None:
                return
            # By all threads together, since at first there is no other leaf to try.
            self.try_leaf(leaf)
            if len(self.untried) > 1:
                for_slices(lambda *_: self.work(), n_threads(), 1)

    def work(self) -> None:
        """Try leaves, as one of several threads, until nothing is left to do."""
        try:
            while True:
                leaf = self.next_leaf()
                if leaf is None:
                    return
                self.try_leaf(leaf)
        except BaseException:
            self.n_clusters = 0  # so that the other threads stop as well
            with self.lock:
                self.wake_threads()
            raise

    def next_leaf(self) -> Leaf | None:
        """Divide the leaves first in the queue that are tried; return the next to try, or None."""
        while True:
            with self.lock:
                while self.queue and self.queue[0][1] and len(self.leaves) < self.n_clusters:
                    self.split(self.queue.pop(0)[2])
                if len(self.leaves) >= self.n_clusters or not self.queue:
                    return None
                leaf = self.choose_untried()
                if leaf is not None:
                    self.untried.remove(leaf)
                    return leaf
                change = Lock()
                change.acquire()
                self.waiting.append(change)
            # With a timeout, because a second interruption may keep the first from waking threads.
            change.acquire(timeout=1.0)

    def wake_threads(self) -> None:
        """Let the threads that wait for a change continue."""
        for change in self.waiting:
            change.release()
        self.waiting.clear()

    def choose_untried(self) -> Leaf | None:
        """Return the leaf that is first in the queue or, if a thread is trying it, another one."""
        first = self.leaves[self.queue[0][2]]
        if first in self.untried:
            return first
        if not self.untried:
            return None
        # If the queue holds as many leaves as divisions are missing, a leaf below the last of
        # these is probably not needed.
        missing = self.n_clusters - len(self.leaves)
        least = 0.0
        if len(self.queue) >= missing:
            least = -self.queue[missing - 1][0]
        candidate = self.untried[-1]
        if candidate.priority >= least:
            return candidate
        return None

    def try_leaf(self, leaf: Leaf) -> None:
        """Compute the parts of a leaf and record them; it may join the tree in the meantime."""
        children = leaf.parts()
        with self.lock:
            leaf.children = children
            for child in children:
                self.add_untried(child, min(leaf.priority, leaf.gain))
            if leaf.node is not None:
                self.queue.remove((-leaf.bound, False, leaf.node))
                self.add_to_queue(leaf.node)
            self.wake_threads()

    def add_untried(self, leaf: Leaf, limit: float = np.inf) -> None:
        """Let a leaf be tried; ``limit`` is the least value among those before it."""
        leaf.priority = min(leaf.bound, limit)
        if leaf.bound > 0:
            insort(self.untried, leaf, key=attrgetter("priority"))

    def add_to_queue(self, node: int) -> None:
        """Queue a leaf of the tree by its gain or, if it was not tried, by its bound."""
        leaf = self.leaves[node]
        leaf.node = node
        if leaf.children is None and leaf.bound > 0:
            insort(self.queue, (-leaf.bound, False, node))
        elif leaf.children:
            insort(self.queue, (-leaf.gain, True, node))

    def split(self, node: int) -> None:
        """Replace a leaf by its parts."""
        children = self.leaves.pop(node).children or ()
        for new, child in enumerate(children, start=2 * len(self.splits) + 1):
            self.leaves[new] = child
            self.add_to_queue(new)
        self.splits.append(node)


def _start(
    n: int, n_clusters: int, previous: Clusters | None
) -> tuple[list[int], list[int], list[Array]]:
    """Return the splits already made, the nodes that are leaves, and the columns of each."""
    if previous is None:
        return [], [0], [np.arange(n)]
    if previous.labels.shape != (n,):
        raise InputError(f"previous holds labels of {previous.labels.size} columns, but M has {n}")
    if previous.sizes.size > n_clusters:
        raise InputError(
            f"n_clusters must be at least the {previous.sizes.size} of previous, got {n_clusters}"
        )
    splits = previous.tree.tolist()
    nodes = sorted(set(range(2 * len(splits) + 1)) - set(splits))
    order = np.argsort(previous.labels, kind="stable")
    return splits, nodes, np.split(order, np.cumsum(previous.sizes)[:-1])


def _describe(leaves: dict[int, Leaf], splits: list[int]) -> Clusters:
    """Return the result for the leaves, in the order of their nodes."""
    ordered = [leaves[node] for node in sorted(leaves)]
    sizes = np.array([leaf.columns.indices.size for leaf in ordered])
    labels = np.empty(sizes.sum(), dtype=np.intp)
    for label, leaf in enumerate(ordered):
        labels[leaf.columns.indices] = label
    indices = np.array(for_slices(lambda k, _: _most_typical(ordered[k]), len(ordered), 1))
    return Clusters(labels, indices, sizes, np.array(splits, dtype=np.intp))


def _most_typical(leaf: Leaf) -> int:
    """Return the first column with the least mean-removed angle to the first singular vector."""
    direction = np.abs(leaf.U[:, 0])
    direction -= direction.mean()
    columns = leaf.columns
    cosine = np.empty(columns.indices.size)

    def task(start: int, stop: int) -> None:
        correlate(columns.rows(start, stop), direction, cosine[start:stop])

    for_slices(task, cosine.size, COLUMNS_PER_LEAF_SLICE)
    return int(columns.indices[cosine == cosine.max()].min())
