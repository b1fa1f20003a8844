"""Hierarchical clustering by rank-two NMF."""

from bisect import insort
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix, as_rank
from selfdict.compute.threads import for_slices, n_threads, single_threaded_blas
from selfdict.kernels.rank_two import correlate
from selfdict.peers.leaves import COLUMNS_PER_LEAF_SLICE, Leaf, LeafColumns, smaller_gram

_MAX_DOUBLE_ENTRIES = 1 << 22  # a larger M is read in single precision, which is enough


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


def h2nmf(M: ArrayLike, n_clusters: int) -> Clusters:
    """Cluster the columns of M hierarchically by rank-two NMF (H2NMF).

    Each step divides one cluster in two: the one whose division most lowers the error of
    approximating every cluster by rank one. Negative entries of M count as zero.

    Parameters
    ----------
    M : (m, n) array_like
        One data point per column, in any memory order; it may be a ``np.memmap``. The columns are
        copied and kept sorted by cluster.
    n_clusters : int
        The number of clusters.

    Returns
    -------
    Clusters
        Fewer than ``n_clusters`` if no cluster can be divided further: columns that are multiples
        of one another are never separated.

    Notes
    -----
    Let λ₁ ≥ λ₂ be the leading eigenvalues of A Aᵀ for the columns A of a cluster. A division into
    A₁ and A₂ gains λ₁(A₁) + λ₁(A₂) − λ₁(A). This is never more than λ₂(A), because the rank-one
    approximations of the parts together are a rank-two approximation of A. So a cluster need only
    be tried if its λ₂ is at least the best gain known.

    A Aᵀ is computed for the smaller part; that of the larger part is the difference to the whole.
    Each column is therefore read O(log C) times if the parts are balanced.

    Beyond 2²² entries (4 million) the columns are copied as float32. A Aᵀ is then summed in float32
    after the component along the mean is removed, whose products are summed in float64. The leading
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
    M = as_matrix(M)
    n_clusters = as_rank(n_clusters, M.shape[1], "n_clusters")
    return clusters_of(M, n_clusters, single_precision=M.size > _MAX_DOUBLE_ENTRIES)


def clusters_of(M: Array, n_clusters: int, *, single_precision: bool) -> Clusters:
    """Return the clusters of checked data."""
    with single_threaded_blas():
        columns = LeafColumns.of(M, single_precision)
        leaves, splits = _grow(Leaf.of(columns, smaller_gram(columns)), n_clusters)
        return _describe(leaves, splits)


def _grow(whole: Leaf, n_clusters: int) -> tuple[dict[int, Leaf], list[int]]:
    """Divide the leaf with the largest gain until there are enough; return leaves and splits."""
    # To try a leaf means to compute the parts that a division would give. The result depends on the
    # gains alone, not on which leaves were tried.
    leaves = {0: whole}  # by their node
    splits: list[int] = []  # the nodes that were divided
    # (−value, whether the leaf was tried, node) of the leaves that can be divided, where the value
    # is the gain or, before the leaf was tried, its bound. Sorted: the largest value first; among
    # equals, a bound before a gain, then the older node.
    queue: list[tuple[float, bool, int]] = []

    def add_to_queue(node: int) -> None:
        leaf = leaves[node]
        if leaf.children is None and leaf.bound > 0:
            insort(queue, (-leaf.bound, False, node))
        elif leaf.children:
            insort(queue, (-leaf.gain, True, node))

    add_to_queue(0)
    while queue and len(leaves) < n_clusters:
        _, is_tried, node = queue[0]
        if is_tried:
            del queue[0]
            children = leaves.pop(node).children or ()
            for new, child in enumerate(children, start=2 * len(splits) + 1):
                leaves[new] = child
                add_to_queue(new)
            splits.append(node)
            continue
        # A leaf that is further back in the queue than divisions are missing is hardly needed.
        untried = [entry for entry in queue[: n_clusters - len(leaves)] if not entry[1]]
        # two per thread, so that threads wait little for one another
        untried = untried[: 2 * n_threads()]
        _divide([leaves[node] for _, _, node in untried])
        for entry in untried:
            queue.remove(entry)
            add_to_queue(entry[2])
    return leaves, splits


def _divide(leaves: list[Leaf]) -> None:
    """Find the parts of leaves: of one by all threads together, of several by one thread each."""
    for_slices(lambda k, _: leaves[k].divide(), len(leaves), 1)


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
        correlate(columns.rows[start:stop], direction, cosine[start:stop])

    for_slices(task, cosine.size, COLUMNS_PER_LEAF_SLICE)
    return int(columns.indices[cosine == cosine.max()].min())
