"""Checks of user input. Each failure is one sentence: what was seen, and what was expected."""

import numbers
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfdict._errors import InputError

Array = NDArray[Any]

_BLOCK = 1 << 22  # entries that are looked at together


def as_matrix(M: ArrayLike, name: str = "M", *, finite: bool = True, sparse: bool = False) -> Array:
    """Return ``M`` as a 2-D array of floats: float32 and float64 stay, integers become float32."""
    # A memmap of floats is not loaded; its values are checked by whoever reads them (finite=False).
    # A sparse array, where it is allowed, comes back in CSC form.
    if is_sparse(M):
        if not sparse:
            raise TypeError(
                f"{name} is sparse, which is not supported here; "
                f"pass {name}.toarray() if it fits into memory"
            )
        return _as_sparse(M, name)
    array = np.asanyarray(M)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; drop or fill the masked entries first")
    if array.dtype.kind in "biu":
        array = array.astype(np.float32)
    elif array.dtype.kind != "f":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    else:
        # Of another byte order, too: a dtype equals np.float32 only if its byte order is native.
        dtype = _float_dtype(array.dtype)
        if array.dtype != dtype:
            array = array.astype(dtype)
    if array.ndim != 2:
        raise InputError(
            f"{name} must have 2 dimensions (features, points), "
            f"got {array.ndim}: shape {array.shape}"
        )
    if array.size == 0:
        raise InputError(f"{name} must not be empty, got shape {array.shape}")
    if finite and not all_finite(array):
        raise InputError(f"{name} contains NaN or infinity")
    return array if isinstance(array, np.memmap) else np.asarray(array)


def is_sparse(M: Any) -> bool:
    """Whether ``M`` is a sparse matrix or array of SciPy."""
    # Whoever made one has imported the module, which takes a third of a second.
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(M))


def _float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to compute in for data of a floating dtype: float32 or float64, native."""
    if dtype.itemsize <= 4:
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def _as_sparse(M: Any, name: str) -> Array:
    """Return a sparse matrix as a ``csc_array`` without duplicate entries, by the same rules."""
    if M.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {M.dtype}")
    if M.ndim != 2 or 0 in M.shape:
        raise InputError(
            f"{name} must have 2 dimensions and must not be empty, got shape {M.shape}"
        )
    dtype = np.dtype(np.float32)
    if M.dtype.kind == "f":
        dtype = _float_dtype(M.dtype)
    array = sys.modules["scipy.sparse"].csc_array(M, dtype=dtype)
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    if not all_finite(array):
        raise InputError(f"{name} contains NaN or infinity")
    checked: Array = (
        array  # which it is not, but it has what its readers use: shape, dtype, T, @ and slices
    )
    return checked


def all_finite(array: Array) -> bool:
    """Whether every entry is finite, looking at a block of rows at a time."""
    if is_sparse(array):
        return bool(np.isfinite(array.data).all())
    rows = max(1, _BLOCK // max(1, array[0].size))
    return all(bool(np.isfinite(array[a : a + rows]).all()) for a in range(0, array.shape[0], rows))


def largest_entry(array: Array) -> float:
    """Return the largest absolute value, looking at a block of rows at a time."""
    if is_sparse(array):
        return float(np.abs(array.data).max(initial=0.0))
    rows = max(1, _BLOCK // max(1, array[0].size))
    largest = 0.0
    for start in range(0, array.shape[0], rows):
        part = array[start : start + rows]
        largest = max(largest, float(part.max()), -float(part.min()))
    return largest


def as_vector(
    values: ArrayLike | None,
    n: int,
    name: str,
    dtype: Any,
    *,
    default: Any = None,
    positive: bool = False,
) -> Array:
    """Return a vector of n finite numbers, all ≥ 0 (or > 0); ``None`` gives ``default``."""
    if values is None:
        values = default
    vector = np.asarray(values)
    if vector.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {vector.dtype}")
    if vector.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), got {vector.shape}")
    vector = np.ascontiguousarray(vector, dtype=dtype)
    if not np.isfinite(vector).all():
        raise InputError(f"{name} contains NaN or infinity")
    if positive and (vector <= 0).any():
        raise InputError(f"{name} must be positive, got {vector.min()} as its smallest entry")
    if (vector < 0).any():
        raise InputError(f"{name} must not be negative, got {vector.min()} as its smallest entry")
    return vector


def check_factors(values: Array, name: str, dtype: np.dtype[Any]) -> None:
    """Refuse positive numbers whose products with squares of data would leave the dtype's range."""
    # Data of an unusual unit are scaled to entries of at most 2²⁰⁰ (2²⁴ for float32), so that
    # products of two of them with a few of these factors stay inside the range.
    limit = 1e12
    if dtype == np.float64:
        limit = 1e30
    positive = values[values > 0]
    for extreme in (positive.min(initial=1.0), positive.max(initial=1.0)):
        if not 1 / limit <= extreme <= limit:
            raise InputError(
                f"{name} must be 0 or between {1 / limit:g} and {limit:g} for data in {dtype}; got "
                f"{extreme:.1g}"
            )


def as_rank(r: Any, n: int, name: str = "r", of: str = "points") -> int:
    """Return the number of columns to select, between 1 and n."""
    if not isinstance(r, numbers.Integral) or isinstance(r, bool):
        raise TypeError(f"{name} must be an integer, got {r!r}")
    rank = int(r)
    if not 1 <= rank <= n:
        raise InputError(f"{name} must lie between 1 and the number of {of}, {n}, got {r}")
    return rank


def as_count(value: Any, name: str, *, minimum: int = 1) -> int:
    """Return an integer of at least ``minimum``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise InputError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def as_scalar(value: Any, name: str, *, minimum: float = 0.0, strict: bool = False) -> float:
    """Return a finite real number ≥ ``minimum`` (or > it)."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    number = float(value)
    if not np.isfinite(number) or number < minimum or (strict and number == minimum):
        raise InputError(
            f"{name} must be finite and {'>' if strict else '≥'} {minimum:g}, got {value}"
        )
    return number


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a ``numpy.random.Generator`` from None, a seed, a Generator or a ``RandomState``."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)


def as_indices(indices: ArrayLike, n: int, name: str = "indices") -> Array:
    """Return distinct column numbers, at least one, each between 0 and n − 1."""
    K = np.asarray(indices)
    if K.ndim != 1 or K.size == 0 or K.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must be a vector of integers, got shape {K.shape} and dtype {K.dtype}"
        )
    if K.min() < 0 or K.max() >= n or np.unique(K).size < K.size:
        raise InputError(f"{name} must be distinct and lie between 0 and {n - 1}, got {K.tolist()}")
    return K
