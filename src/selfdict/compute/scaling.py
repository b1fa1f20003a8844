"""Data of any unit: divided by a power of two before squares are taken, and scaled back at the end.

Squares of very large or small numbers leave the range of floating point. A power of two changes no
digit, so what is computed from scaled data has the digits that data of an ordinary unit would give.
What no power of two can help is refused.
"""

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, largest_entry

# decimal exponents of objectives and penalties that leave room for sums, and for all their digits
LARGEST_EXPONENT = 298


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


def check_range(A: Array, name: str) -> None:
    """Refuse data whose sums of squares, which objectives are, leave the range of float64."""
    largest = largest_entry(A)
    if largest > 0 and not 1e-145 < largest < 1e145:
        raise InputError(
            f"the squares of the entries of {name} leave the range of float64, got {largest:.1g} "
            f"as the largest entry; scale {name}"
        )


def check_penalty(name: str, factor: float, p: Array) -> None:
    """Refuse a penalty so near to the ends of the range that products with it lose digits."""
    if factor == 0:
        return
    smallest = math.log10(factor) + math.log10(p.min())
    largest = math.log10(factor) + math.log10(p.max())
    if smallest < -LARGEST_EXPONENT or largest > LARGEST_EXPONENT:
        raise InputError(
            f"{name} must be zero or between 1e-{LARGEST_EXPONENT} and 1e{LARGEST_EXPONENT}; "
            f"got {factor:.1g} times values between {p.min():.1g} and {p.max():.1g}"
        )


def check_coefficients(w: Array, v: Array, dtype: np.dtype[Any]) -> None:
    """Refuse a dictionary whose coefficients, as large as w_j/v_i, leave the range of the dtype."""
    limit = 2.0**90
    if dtype == np.float64:
        limit = 2.0**300
    if not v.any() or not w.any():
        return
    largest = float(w.max()) / float(np.min(v, where=v > 0, initial=np.inf))
    smallest = float(w.max()) / float(v.max())
    if largest > limit or smallest < 1 / limit:
        raise InputError(
            f"the units of M and D differ by too much for {dtype}: w/v is between {smallest:.1g} "
            f"and {largest:.1g}; scale D"
        )


def check_smallest(sizes: Array, dtype: np.dtype[Any], part: str, name: str) -> None:
    """Refuse columns that are so much smaller than others that both cannot be computed with.

    The score of a row does not depend on the length of its column, so that a small column counts
    as much as a large one. X_ij may be as large as w_j/w_i, and data of an unusual unit is scaled:
    both must stay far inside the range of the dtype.
    """
    limit = 2.0**90
    if dtype == np.float64:
        limit = 2.0**300
    smallest = np.min(sizes, where=sizes > 0, initial=np.inf)
    largest = np.max(sizes, initial=0.0)
    if largest / limit > smallest:
        index = int(np.argmax(sizes == smallest))
        raise InputError(
            f"{part} {index} of {name} is too small beside others for {dtype}, got {smallest:.1g} "
            f"and {largest:.1g}; set it to zero or leave it out"
        )
