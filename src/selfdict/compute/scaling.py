"""Data of any unit: divided by a power of two before squares are taken, and scaled back at the end.

Squares of very large or small numbers leave the range of floating point. A power of two changes no
digit, so what is computed from scaled data has the digits that data of an ordinary unit would give.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, largest_entry


def unusual_exponent(A: Array) -> int:
    """Return the exponent of the largest entry if squares of it come near the ends of the range."""
    exponent = _exponent(largest_entry(A))
    if abs(exponent) <= _ordinary_exponent(A):
        return 0
    return exponent


def exponent_from_squares(A: Array, squares: Any) -> int:
    """Return the exponent of the largest entry of A if sums of its squares are unusual, else 0."""
    # ``squares`` are sums that the caller has computed anyway: A is read only if they are unusual.
    if ordinary_squares(squares, A.dtype):
        return 0
    return _exponent(largest_entry(A))


def ordinary_squares(squares: Any, dtype: np.dtype[Any]) -> bool:
    """Whether the largest of some sums of squares is far from the ends of the range."""
    # Sums over a whole scene of float32 are larger than the square of one entry, and 2**100 leaves
    # enough of the range to products in float32.
    limit = 2.0**100
    if dtype == np.float64:
        limit = 2.0**400
    return bool(1 / limit < np.max(squares) < limit)


def unusual_column_exponents(A: Array) -> Array:
    """Return the exponents of the largest entries of the columns of A; 0 for ordinary columns."""
    exponents = column_exponents(A)
    exponents[abs(exponents) <= _ordinary_exponent(A)] = 0
    return exponents


def column_exponents(A: Array) -> Array:
    """Return the exponent of the largest entry of each column; 0 if it is zero or not finite."""
    largest = abs(A).max(axis=0)
    if issparse(largest):
        largest = largest.toarray()
    exponents: Array = np.frexp(largest)[1].astype(np.int64)
    exponents[~np.isfinite(largest)] = 0
    return exponents


def times_power_of_two(A: Array, exponent: int) -> Array:
    """Return 2ᵏ A, dense or sparse, in its dtype."""
    if exponent == 0:
        return A
    if issparse(A):
        scaled: Any = A.copy()
        scaled.data = _ldexp(A.data, exponent)
        dense_like: Array = scaled
        return dense_like
    return _ldexp(A, exponent)


def times_powers_of_two(A: Array, exponents: Array) -> Array:
    """Return A with each column, or each entry if dense, multiplied by a power of two."""
    if issparse(A):
        scaled: Any = A.copy()
        scaled.data = _ldexp(A.data, np.repeat(exponents, np.diff(scaled.indptr)))
        dense_like: Array = scaled
        return dense_like
    return _ldexp(A, exponents)


def squared_unit(value: float, exponent: int) -> float:
    """Return 4ᵏ times a sum of squares; raise if float64 cannot represent it in full precision."""
    scaled = float(_ldexp(np.float64(value), 2 * exponent))
    if value > 0 and not np.finfo(np.float64).tiny <= scaled < np.inf:
        raise InputError(
            "the squares of the entries of M leave the range of float64, got entries of the "
            f"order of 2**{exponent}; scale M"
        )
    return scaled


def _exponent(largest: float) -> int:
    """Return the exponent of a number; 0 if it is zero or not finite."""
    if not np.isfinite(largest):
        return 0
    return int(np.frexp(largest)[1])


def _ordinary_exponent(A: Array) -> int:
    """Return the exponent up to which squares, and sums of many of them, stay inside the range."""
    # Of 1023 for float64 and 127 for float32: fourth powers occur, too.
    if A.dtype == np.float64:
        return 200
    return 24


def _ldexp(values: Any, exponents: Any) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(values, exponents))
