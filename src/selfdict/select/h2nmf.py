"""Hierarchical clustering by rank-two NMF."""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix, as_rank
from selfdict.kernels.blas import single_threaded_blas
from selfdict.kernels.leading_eigen import leading_eigenpairs
from selfdict.kernels.threads import for_slices
from selfdict.select._columns import require_finite
from selfdict.select.leaf_columns import LeafColumns, leaf_columns
from selfdict.select.rank_two import first_part, gram, products

_SAME_DIRECTION = 1e-13  # columns with λ₂ below this share of λ₁ are multiples of one column
_SMALL = 16_384  # columns up to which a leaf is divided by one thread
_TOGETHER = 2  # such leaves tried at a time
_SUBTRACT = 1e-2  # down to this share of the trace that was added up, a Gram matrix may come from subtraction


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
        The splits in the order in which they were made. Node 0 holds all columns; split t divides node ``tree[t]``
        into the nodes 2t + 1 and 2t + 2. The clusters are the nodes never divided, in increasing order.
    """

    labels: Array
    indices: Array
    sizes: Array
    tree: Array


def h2nmf(M: ArrayLike, n_clusters: int, *, previous: Clusters | None = None) -> Clusters:
    """Cluster the columns of M hierarchically by rank-two NMF (H2NMF).

    Each step divides in two the cluster whose division lowers most the error of approximating every cluster by
    rank one. Negative entries of M count as zero.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns; any memory order, also a ``np.memmap``. Up to 512 MiB the columns are copied
        and kept sorted by cluster; a larger matrix is read where it lies, a block of columns at a time, which
        is slow if its columns do not lie in one piece.
    n_clusters : int
        How many clusters to make.
    previous : Clusters, optional
        An earlier result for the same M with at most ``n_clusters`` clusters, from which to go on.

    Returns
    -------
    Clusters
        Fewer than ``n_clusters`` if no cluster can be divided further: columns that are multiples of one another
        are never put apart.

    Notes
    -----
    With λ₁ ≥ λ₂ the leading eigenvalues of A Aᵀ for the columns A of a cluster, a division into A₁, A₂ gains
    λ₁(A₁) + λ₁(A₂) − λ₁(A), and never more than λ₂(A): the rank-one approximations of the parts are together one of
    rank two of A. So a cluster is tried only when its λ₂ is at least the best gain known.

    A Aᵀ is computed for the smaller part; the larger one's is the difference to the whole. Each column is
    therefore read O(log C) times where the parts are balanced.

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
        _grow(leaves, splits, n_clusters)
        return _describe(leaves, splits)


def _grow(leaves: "dict[int, _Leaf]", splits: list[int], n_clusters: int) -> None:
    """Divide leaves (by their node) until there are enough, or none can be divided; note the splits."""
    # The largest gain or bound first; among equals a bound before a gain, then the older node.
    queue = [(-leaf.bound, False, node) for node, leaf in leaves.items() if leaf.bound > 0]
    heapify(queue)
    while len(leaves) < n_clusters and queue:
        if queue[0][1]:
            node = heappop(queue)[2]
            for new, child in enumerate(leaves.pop(node).children, start=2 * len(splits) + 1):
                leaves[new] = child
                if child.bound > 0:
                    heappush(queue, (-child.bound, False, new))
            splits.append(node)
            continue
        # The next leaves to try, one a thread: they are rarely tried in vain. A large one takes all threads itself.
        batch = [heappop(queue)[2]]
        while leaves[batch[-1]].is_small and len(batch) < _TOGETHER and queue and not queue[0][1]:
            if not leaves[queue[0][2]].is_small:
                break
            batch.append(heappop(queue)[2])
        for_slices(lambda k, _: leaves[batch[k]].divide(), len(batch), 1)  # noqa: B023 (called at once)
        for node in batch:
            if leaves[node].children:
                heappush(queue, (-leaves[node].gain, True, node))


@dataclass
class _Leaf:
    """Some columns A of M, the two leading eigenpairs of A Aᵀ, and the parts A would be divided into."""

    columns: LeafColumns
    eigenvalues: Array
    U: Array
    gram: Array | None
    summed: float  # the trace of the Gram matrix that was added up and from which this one was subtracted
    children: "tuple[_Leaf, ...]" = ()

    @classmethod
    def of(cls, columns: LeafColumns, G: Array, summed: float = 0.0) -> Self:
        eigenvalues, U = leading_eigenpairs(G)
        # A leaf of few columns takes less room than its Gram matrix, which is soon computed again.
        gram = G if columns.indices.size > G.shape[0] else None
        return cls(columns, eigenvalues, U, gram, summed or float(np.trace(G)))

    @property
    def bound(self) -> float:
        """What a division can gain at most, rounded up; zero where the columns are multiples of one another."""
        first, second = self.eigenvalues
        return float(second + 1e-14 * first) if second > _SAME_DIRECTION * first else 0.0

    @property
    def is_small(self) -> bool:
        """Whether one thread suffices."""
        return self.columns.indices.size <= _SMALL

    def divide(self) -> None:
        """Find the two parts; none where one would be empty."""
        self.children, self.gram = _divide(self), None

    @property
    def gain(self) -> float:
        return float(sum(child.eigenvalues[0] for child in self.children) - self.eigenvalues[0])


def _divide(leaf: _Leaf) -> tuple[_Leaf, ...]:
    """Return the two parts of a leaf, or nothing where one would be empty."""
    first = first_part(leaf.columns, leaf.U)
    if first.all() or not first.any():
        return ()
    parts = leaf.columns.divide(first)
    small = int(parts[1].indices.size < parts[0].indices.size)
    grams, summed = [gram(parts[small])] * 2, [0.0, 0.0]
    if leaf.gram is not None and np.trace(leaf.gram) - np.trace(grams[small]) > _SUBTRACT * leaf.summed:
        grams[1 - small] = leaf.gram - grams[small]
        summed[1 - small] = leaf.summed
    else:
        grams[1 - small] = gram(parts[1 - small])
    return tuple(map(_Leaf.of, parts, grams, summed))


def _start(n: int, n_clusters: int, previous: Clusters | None) -> tuple[list[int], list[int], list[Array]]:
    """Return the splits already made, the nodes that are leaves, and the columns of each."""
    if previous is None:
        return [], [0], [np.arange(n)]
    if previous.labels.shape != (n,):
        raise ValueError(f"previous holds labels of {previous.labels.size} columns, but M has {n}")
    if previous.sizes.size > n_clusters:
        raise ValueError(f"n_clusters must be at least the {previous.sizes.size} of previous, got {n_clusters}")
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
    along, total, square = products(leaf.columns, np.column_stack([direction, np.ones_like(direction)]))
    spread = np.sqrt(np.maximum(square - total**2 / direction.size, 0.0))
    # A constant column has no angle; it is typical only where all are constant.
    cosine = np.divide(along, spread, out=np.full_like(along, -np.inf), where=spread > 0)
    return int(leaf.columns.indices[cosine == cosine.max()].min())
