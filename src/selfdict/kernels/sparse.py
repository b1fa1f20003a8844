"""Products of sparse columns with each other, written row by row into dense rows in cache."""

from typing import Any

from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.kernels.jit import jit


def dense_columns(M: Any, index: Any) -> Array:
    """Return some columns of M as a dense array, whether M is sparse or not."""
    if issparse(M):
        dense: Array = M[:, index].toarray()
        return dense
    columns: Array = M[:, index]
    return columns


@jit
def add_gram_rows(
    pointers: Array,
    features: Array,
    values: Array,
    row_pointers: Array,
    points: Array,
    entries: Array,
    rows: Array,
    scale: Array,
    out: Array,
) -> None:
    """Add scale_i m_iᵀY to ``out[i]`` for the columns i = ``rows`` of M.

    M is in CSC form (``pointers``, ``features``, ``values``), Y in CSR form (``row_pointers``,
    ``points``, ``entries``): each feature of m_i adds a multiple of the row of Y that belongs to
    it.
    """
    for a in range(len(rows)):
        i = rows[a]
        products = out[a]
        for k in range(pointers[i], pointers[i + 1]):
            factor = scale[a] * values[k]
            feature = features[k]
            for e in range(row_pointers[feature], row_pointers[feature + 1]):
                products[points[e]] += factor * entries[e]
