"""Hierarchical clustering by rank-two NMF."""

from bisect import insort
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix, as_rank
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices, n_threads
from selfdict.kernels.leading_eigen import leading_eigenpairs
from selfdict.kernels.rank_two import correlate
from selfdict.peers._columns import require_finite
from selfdict.peers.leaf_columns import SLICE, LeafColumns, leaf_columns
from selfdict.peers.rank_two import first_part, gram

_SAME_DIRECTION = 1e-13  # columns with λ₂ below this share of λ₁ are multiples of one column
# Down to this λ₂, as a share of the trace that was added up, a Gram matrix may come from
# subtraction.
_SUBTRACT, _SUBTRACT_ROUGH = 1e-6, 1e-4


@dataclass(frozen=True)
class Clusters:
    """A partition of the columns of M, with one representative each.

    Attributes
    ----------
    labels : (n,) ndarray of int
        The cluster of each column, 0 … C − 1.
    indices : (C,) ndarray of int
        For each cluster the column of M that represents it.
    sizes : (C,) ndarray of int
        For each cluster the number of its columns.
    tree : (C − 1,) ndarray of int
        The splits in the order in which they were made. Node 0 holds all columns; split t divides
        node ``tree[t]`` into the nodes 2t + 1 and 2t + 2. The clusters are the nodes never divided,
        in increasing order.
    """

    labels: Array
    indices: Array
    sizes: Array
    tree: Array


def h2nmf(M: ArrayLike, n_clusters: int, *, previous: Clusters | None = None) -> Clusters:
    """Cluster the columns of M hierarchically by rank-two NMF (H2NMF).

    Each step divides in two the cluster whose division lowers most the error of approximating every
    cluster by rank one. Negative entries of M count as zero.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns; any memory order, also a ``np.memmap``. Up to 2²⁷ entries (134
        million) the columns are copied and kept sorted by cluster; a larger matrix is read where it
        lies, a block of columns at a time, which is slow if its columns do not lie in one piece.
    n_clusters : int
        How many clusters to make.
    previous : Clusters, optional
        An earlier result for the same M with at most ``n_clusters`` clusters, from which to go on.

    Returns
    -------
    Clusters
        Fewer than ``n_clusters`` if no cluster can be divided further: columns that are multiples
        of one another are never put apart.

    Notes ----- With λ₁ ≥ λ₂ the leading eigenvalues of A Aᵀ for the columns A of a cluster, a
    division into A₁, A₂ gains λ₁(A₁) + λ₁(A₂) − λ₁(A), and never more than λ₂(A): the rank-one
    approximations of the parts are together one of rank two of A. So a cluster need only be tried
    when its λ₂ is at least the best gain known.

    A Aᵀ is computed for the smaller part; the larger one's is the difference to the whole. Each
    column is therefore read O(log C) times where the parts are balanced.

    Beyond 2²² entries (4 million) the columns are read as float32, and A Aᵀ is summed in float32
    after the part along the mean is taken out, whose products are summed in float64: the leading
    vectors are then right to about 1e-7, and so is the share of a column that decides where it
    goes. Where λ₂ and λ₃ nearly coincide the division hangs on the last digits in any precision.

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
    parts = leaf_columns(np.asarray(M), groups)
    with single_threaded_blas():
        leaves = {}
        for node, columns in zip(nodes, parts):
            G = gram(columns)
            require_finite(np.trace(G), M)
            leaves[node] = _Leaf.of(columns, G)
        _Growth(leaves, splits, n_clusters).run()
        return _describe(leaves, splits)


class _Growth:
    """The tree while it grows: leaves are tried, and the one with the largest gain is divided.

    Each thread tries another leaf: the one whose turn it is or, if that is being tried, the next
    one, which may be part of a leaf that is still to be divided. What comes out depends on the
    gains alone, not on who has tried what.
    """

    def __init__(self, leaves: "dict[int, _Leaf]", splits: list[int], n_clusters: int) -> None:
        self.leaves, self.splits, self.n_clusters = (
            leaves,
            splits,
            n_clusters,
        )  # leaves by their node
        # In order: the largest gain or bound first; among equals a bound before a gain, then the
        # older node.
        self.queue: list[tuple[float, bool, int]] = []
        self.untried: list[_Leaf] = []  # those whose turn comes first last
        # Bare locks: an interruption while a condition is entered or left, which is Python code,
        # would leave it locked.
        self.lock = Lock()
        self.asleep: list[Lock] = []  # one for each thread that waits for a change
        for node, leaf in leaves.items():
            self.enter(node)
            self.offer(leaf)

    def run(self) -> None:
        """Divide leaves until there are enough, or none can be divided."""
        while (leaf := self.take()) is not None:
            self.attempt(leaf)  # by all threads: at first there is no other
            if len(self.untried) > 1:
                for_slices(lambda *_: self.work(), n_threads(), 1)

    def work(self) -> None:
        """Try leaves, as one of several threads, until all is done."""
        try:
            while (leaf := self.take()) is not None:
                self.attempt(leaf)
        except BaseException:
            self.n_clusters = 0  # the other threads stop as well
            with self.lock:
                self.wake()
            raise

    def take(self) -> "_Leaf | None":
        """Divide the leaves whose turn has come; return the next one to try, None if none will come."""
        while True:
            with self.lock:
                while self.queue and self.queue[0][1] and len(self.leaves) < self.n_clusters:
                    self.split(self.queue.pop(0)[2])
                if len(self.leaves) >= self.n_clusters or not self.queue:
                    return None
                if (leaf := self.candidate()) is not None:
                    self.untried.remove(leaf)
                    return leaf
                sleep = Lock()
                sleep.acquire()
                self.asleep.append(sleep)
            sleep.acquire(
                timeout=1.0
            )  # then look again: a second interruption may keep the first from waking others

    def wake(self) -> None:
        """Let the threads that wait look again."""
        for sleep in self.asleep:
            sleep.release()
        self.asleep.clear()

    def candidate(self) -> "_Leaf | None":
        """Return the leaf whose turn it is; if it is being tried, another one whose turn will probably come."""
        first = self.leaves[self.queue[0][2]]
        if first in self.untried:
            return first
        missing = self.n_clusters - len(self.leaves)
        least = -self.queue[missing - 1][0] if len(self.queue) >= missing else 0.0
        return self.untried[-1] if self.untried and self.untried[-1].turn >= least else None

    def attempt(self, leaf: "_Leaf") -> None:
        """Find the parts of a leaf, then make them known: meanwhile the leaf may have become one of the tree."""
        children = leaf.parts()
        with self.lock:
            leaf.children = children
            for child in children:
                self.offer(child, min(leaf.turn, leaf.gain))
            if leaf.node is not None:
                self.queue.remove((-leaf.bound, False, leaf.node))
                self.enter(leaf.node)
            self.wake()

    def offer(self, leaf: "_Leaf", turn: float = np.inf) -> None:
        """Let a leaf be tried, if it can be divided; ``turn`` is the least value of those to be divided before it."""
        leaf.turn = min(leaf.bound, turn)
        if leaf.bound > 0:
            insort(self.untried, leaf, key=attrgetter("turn"))

    def enter(self, node: int) -> None:
        """Queue a leaf of the tree by its gain or, as long as that is not known, by its bound, if it can be divided."""
        leaf = self.leaves[node]
        leaf.node = node
        if leaf.children is None and leaf.bound > 0:
            insort(self.queue, (-leaf.bound, False, node))
        elif leaf.children:
            insort(self.queue, (-leaf.gain, True, node))

    def split(self, node: int) -> None:
        """Replace a leaf by its parts."""
        for new, child in enumerate(
            self.leaves.pop(node).children or (), start=2 * len(self.splits) + 1
        ):
            self.leaves[new] = child
            self.enter(new)
        self.splits.append(node)


@dataclass(eq=False)
class _Leaf:
    """Some columns A of M, the two leading eigenpairs of A Aᵀ, and the parts A would be divided into."""

    columns: LeafColumns
    eigenvalues: Array
    U: Array
    gram: Array | None
    summed: float  # the trace of the Gram matrix that was added up and from which this one was subtracted
    children: "tuple[_Leaf, ...] | None" = None  # None as long as it was not tried
    node: int | None = None  # None as long as it is not in the tree
    turn: float = 0.0  # at which value its turn comes: its bound, or the least gain among those it is a part of

    @classmethod
    def of(cls, columns: LeafColumns, G: Array, summed: float = 0.0) -> Self:
        pairs = leading_eigenpairs(G)
        # A leaf of few columns takes less room than its Gram matrix, which is soon computed again.
        gram = G if columns.indices.size > G.shape[0] else None
        return cls(columns, pairs[0], pairs[1:], gram, summed or float(np.trace(G)))

    @cached_property
    def bound(self) -> float:
        """What a division can gain at most, rounded up; zero where the columns are multiples of one another."""
        first, second = self.eigenvalues
        return float(second + 1e-14 * first) if second > _SAME_DIRECTION * first else 0.0

    @property
    def gain(self) -> float:
        return float(
            sum(child.eigenvalues[0] for child in self.children or ()) - self.eigenvalues[0]
        )

    def parts(self) -> "tuple[_Leaf, ...]":
        """Return the two parts; none where one would be empty."""
        first = first_part(self.columns, self.U)
        if first.all() or not first.any():
            return ()
        parts = self.columns.divide(first)
        smaller, larger = sorted(parts, key=lambda part: part.indices.size)
        G = gram(smaller)
        small, large = (
            _Leaf.of(smaller, G),
            self._without(G, larger) or _Leaf.of(larger, gram(larger)),
        )
        return (small, large) if smaller is parts[0] else (large, small)

    def _without(self, G: Array, columns: LeafColumns) -> "_Leaf | None":
        """Return what remains without a part that has the Gram matrix G, if rounding errors are small beside it."""
        if self.gram is None:
            return None
        rest = _Leaf.of(columns, np.subtract(self.gram, G, out=self.gram), self.summed)
        self.gram = None
        least = _SUBTRACT_ROUGH if columns.rough else _SUBTRACT
        return rest if rest.eigenvalues[1] >= least * self.summed else None


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


def _describe(leaves: dict[int, _Leaf], splits: list[int]) -> Clusters:
    ordered = [leaves[node] for node in sorted(leaves)]
    sizes = np.array([leaf.columns.indices.size for leaf in ordered])
    labels = np.empty(sizes.sum(), dtype=np.intp)
    for label, leaf in enumerate(ordered):
        labels[leaf.columns.indices] = label
    indices = np.array(for_slices(lambda k, _: _most_typical(ordered[k]), len(ordered), 1))
    return Clusters(labels, indices, sizes, np.array(splits, dtype=np.intp))


def _most_typical(leaf: _Leaf) -> int:
    """Return the column with the least mean-removed angle to the first singular vector, the first one in ties."""
    direction = np.abs(leaf.U[:, 0])
    direction -= direction.mean()
    columns = leaf.columns
    cosine = np.empty(columns.indices.size)
    for_slices(
        lambda a, b: correlate(columns.rows(a, b), direction, cosine[a:b]), cosine.size, SLICE
    )
    return int(columns.indices[cosine == cosine.max()].min())
