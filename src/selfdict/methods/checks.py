"""Input of estimators: arrays of other packages, warnings about data, words of messages."""

import re
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import warn_caller
from selfdict._validation import Array, to_numpy
from selfdict.kernels.columns import dense_columns

# part of a feature's standard deviation below which its mean counts as zero
CENTRED_MEAN = 1e-3
# part of the features that must be centred; some bands of plain data may hold nothing but noise
CENTRED_SHARE = 0.95


def as_plain(X: Any) -> Any:
    """Return a torch tensor, a list or a tuple as an array in the byte order of the machine."""
    # scikit-learn takes float64 of another byte order for neither float32 nor float64.
    X = to_numpy(X)
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, and masked entries cannot be left out one by one: drop these "
            "points or features, or fill them"
        )
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and not X.dtype.isnative:
        return X.astype(X.dtype.newbyteorder("="))
    return X


def float_dtypes(X: Any) -> list[type[np.floating[Any]]]:
    """Return the dtypes that data may keep; scikit-learn converts all others to the first one."""
    # Integers of all sizes and half precision become float32, as everywhere here. What else there
    # is (objects, extended precision, numbers of pandas) becomes float64.
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and (dtype.kind in "biu" or dtype == np.float16):
        return [np.float32, np.float64]
    return [np.float64, np.float32]


def selected_rows(atoms: Array, indices: Array, dtype: Any) -> Array:
    """Return some rows of dense or sparse atoms, as a dense array."""
    return np.ascontiguousarray(dense_columns(atoms.T, indices).T, dtype=dtype)


def warn_if_centred(points: Array) -> None:
    """Warn if the features have been centred, as by ``StandardScaler``."""
    # Cones and abundances refer to the origin, which is another point then. Noise around a positive
    # mean does not trigger this: nearly all features must have the mean zero to three digits.
    if issparse(points) or not points.min() < 0:
        return
    n_samples = points.shape[0]
    mean = points.mean(axis=0, dtype=np.float64)
    square = np.einsum("ij,ij->j", points, points, dtype=np.float64) / n_samples
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    varies = deviation > 0
    if not varies.any():
        return
    is_centred = np.abs(mean[varies]) <= CENTRED_MEAN * deviation[varies]
    if is_centred.mean() < CENTRED_SHARE:
        return
    warn_caller(
        "X seems to be centred: the mean of its features is zero. Components and abundances refer "
        "to the origin, which centring moves into the middle of the data: pass data that is not "
        "centred, for example StandardScaler(with_mean=False)",
    )


def warn_of_too_many(n_components: int, n_features: int) -> None:
    """Warn if there are more components than features: abundances are not unique then."""
    if n_components <= n_features:
        return
    warn_caller(
        f"{n_components} components are more than the {n_features} features (bands): their "
        "abundances are not unique",
    )


def warn_if_dependent(components: Array) -> None:
    """Warn if the components are linearly dependent; more than features were warned of already."""
    n_components, n_features = components.shape
    if n_components > n_features:
        return
    # The unit of a component does not matter to its direction.
    lengths = np.abs(components).max(axis=1, keepdims=True)
    rank = int(np.linalg.matrix_rank(components / np.where(lengths > 0, lengths, 1.0)))
    if rank == n_components:
        return
    warn_caller(
        f"the {n_components} components span {rank} dimensions only: their abundances are not "
        "unique",
    )


def in_estimator_words(message: str) -> str:
    """Return an error message about r columns of M in the words of an estimator's user."""
    message = re.sub(r"\br must\b", "n_components must", message)
    message = message.replace("rows of M", "features")
    message = re.sub(r"\bcolumn (\d+) of M\b", r"point \1 of X", message)
    return re.sub(r"\bM\b", "X", message)
