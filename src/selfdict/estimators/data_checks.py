"""Warnings about data that the model is not meant for: centred features, too many components."""

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import warn_caller
from selfdict._validation import Array

# part of a feature's standard deviation below which its mean counts as zero
CENTRED_MEAN = 1e-3
# part of the features that must be centred; some bands of plain data may hold nothing but noise
CENTRED_SHARE = 0.95


def warn_if_centred(points: Array) -> None:
    """Warn if the features have been centred, as by ``StandardScaler``.

    Cones and abundances refer to the origin, which is another point then. Noise around a positive
    mean does not trigger this, since nearly all features must have the mean zero to three digits.

    Parameters
    ----------
    points : (n_samples, n_features) ndarray or sparse array
        Sparse data has not been centred.
    """
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
