"""Checks of user input. Each failure is one sentence: what was seen, and what was expected."""

import numbers
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfdict._errors import InputError

Array = NDArray[Any]

# Numbers up to these, and down to their inverses, can be computed with: squares of data, times a
# few weights, stay inside the range of the dtype.
_LARGEST = {np.dtype(np.float32): 1e12, np.dtype(np.float64): 1e30}


def as_matrix(M: Any, name: str = "M", *, sparse: bool = False) -> Array:
    """Return data as a 2-D array of floats whose columns are of a size to compute with.

    float32 and float64 stay, integers become float32. A memmap is not loaded. A sparse array, where
    it is allowed, comes back in CSC form; a torch tensor as an array.
    """
    array = as_floats(M, name, sparse=sparse)
    check_columns(array, name)
    return array


def as_coefficients(X: Any, name: str) -> Array:
    """Return a 2-D array of finite floats of any size."""
    array = as_floats(X, name)
    if not np.isfinite(array).all():
        raise InputError(f"{name} contains NaN or infinity")
    return array


def as_floats(M: Any, name: str = "M", *, sparse: bool = False) -> Array:
    """Return a 2-D array of floats without looking at its values."""
    if is_sparse(M):
        if not sparse:
            raise TypeError(
                f"{name} is sparse, which is not supported here; "
                f"pass {name}.toarray() if it fits into memory"
            )
        return _as_sparse(M, name)
    array = np.asanyarray(to_numpy(M))
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; drop or fill the masked entries first")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
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
    return np.asarray(array)


def is_tensor(array: Any) -> bool:
    """Whether ``array`` is a torch tensor; torch is not imported to find out."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def to_numpy(array: Any) -> Any:
    """Return a tensor as a numpy array, and anything else as it is."""
    if is_tensor(array):
        refuse_gradient(array)
        return array.cpu().numpy()
    return array


def refuse_gradient(tensor: Any) -> None:
    """Raise an error for a tensor whose gradient is recorded, which would end here in silence."""
    if tensor.requires_grad:
        raise InputError(
            "gradients are not supported: pass tensor.detach() for a tensor with requires_grad"
        )


def is_sparse(M: Any) -> bool:
    """Whether ``M`` is a sparse matrix or array of SciPy."""
    # Whoever made one has imported the module, which takes a third of a second.
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(M))


def _float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to compute in: float64 for floats of more than 32 bits, else float32."""
    if dtype.kind == "f" and dtype.itemsize > 4:
        return np.dtype(np.float64)
    return np.dtype(np.float32)


def _as_sparse(M: Any, name: str) -> Array:
    """Return a sparse matrix as a ``csc_array`` without duplicate entries, by the same rules."""
    if M.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {M.dtype}")
    if M.ndim != 2 or 0 in M.shape:
        raise InputError(
            f"{name} must have 2 dimensions and must not be empty, got shape {M.shape}"
        )
    array = sys.modules["scipy.sparse"].csc_array(M, dtype=_float_dtype(M.dtype))
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    # not an ndarray, but it has what its readers use: shape, dtype, T, @ and slices
    checked: Array = array
    return checked


def largest_size(dtype: Any) -> float:
    """Return the largest number to compute with in a dtype; the smallest one is its inverse."""
    return _LARGEST[np.dtype(dtype)]


def check_columns(M: Array, name: str = "M", dtype: Any = None, first: int = 0) -> None:
    """Refuse NaN, infinity, and columns so large or so small that squares leave the range.

    The size of a column is that of its largest entry: all others may be as small as they like. The
    range is that of ``dtype``, by default that of M. In a message columns count from ``first``.
    """
    dtype = np.dtype(dtype or M.dtype)
    limit = largest_size(dtype)
    columns_per_block = max(1, (1 << 22) // M.shape[0])
    for start in range(0, M.shape[1], columns_per_block):
        sizes = _column_sizes(M[:, start : start + columns_per_block])
        if not np.isfinite(sizes).all():
            raise InputError(f"{name} contains NaN or infinity")
        is_wrong = (sizes > limit) | ((sizes > 0) & (sizes < 1 / limit))
        if is_wrong.any():
            j = int(np.argmax(is_wrong))
            raise InputError(
                f"column {first + start + j} of {name} has {sizes[j]:.1g} as its largest "
                f"magnitude, which must be 0 or between {1 / limit:g} and {limit:g} in {dtype}: "
                f"rescale {name}, or leave it out"
            )


def _column_sizes(M: Array) -> Array:
    """Return the largest absolute value of each column; NaN or infinity if it is not finite."""
    if is_sparse(M):
        # SciPy's maximum does not see every NaN.
        if not np.isfinite(M.data).all():
            return np.full(1, np.nan)
        largest: Any = abs(M).max(axis=0)
        return np.asarray(largest.toarray()).ravel()
    return np.asarray(np.maximum(M.max(axis=0), -M.min(axis=0)))


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


def check_sizes(values: Array, name: str, limit: float) -> None:
    """Refuse numbers other than 0 that are above a limit or below its inverse."""
    is_wrong = (values > limit) | ((values > 0) & (values < 1 / limit))
    if is_wrong.any():
        raise InputError(
            f"{name} must be 0 or between {1 / limit:g} and {limit:g}; got "
            f"{values[is_wrong][0]:.1g}"
        )


def as_rank(r: Any, n: int, name: str = "r", of: str = "points") -> int:
    """Return the number of columns to select, between 1 and n."""
    if not isinstance(r, numbers.Integral) or isinstance(r, bool):
        raise TypeError(f"{name} must be an integer, got {r!r}")
    rank = int(r)
    if not 1 <= rank <= n:
        raise InputError(f"{name} must be between 1 and {n} (the number of {of}); got {r}")
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
        raise InputError(f"{name} must be distinct and between 0 and {n - 1}; got {K.tolist()}")
    return K
