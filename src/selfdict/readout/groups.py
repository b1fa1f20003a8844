"""Groups: for each selected pixel the pixels that are nearly pure in the same material.

A single pixel carries noise, impurity and an arbitrary brightness. An average over nearly pure
pixels carries less of the first two, and its brightness is a typical one. Two rounds are made,
starting from the selected pixels: shares of all pixels; the group of a material are the pixels that
consist of it by at least three quarters; its spectrum is the average of the group. More rounds
would let the average drift away from what was selected.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_indices, as_matrix
from selfdict.abundances.illumination import PURITY
from selfdict.abundances.shares import unit_shares
from selfdict.abundances.uncertainty import Variability
from selfdict.compute.scaling import exponent_from_squares, times_power_of_two
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms

# where few pixels are that pure, the purest ones with this part of a material's shares are taken
LEAST_PART = 0.05
LEAST_PIXELS = 5
ROUNDS = 2
# part of a group, the pixels furthest from its average, that the average leaves out
TRIMMED = 0.25


@dataclass(frozen=True)
class Groups:
    """r disjoint groups of nearly pure pixels, and what they have in common.

    Attributes
    ----------
    members : tuple of r ndarrays of int
        The pixels of each group: the selected one first, then the others by falling share.
    spectra : (m, r) ndarray
        The average of each group: of directions, with the group's median length.
    spread : (m, r) ndarray
        The standard deviation in each band of the pixels averaged, scaled to that length.
    counts : (r,) ndarray of int
        How many pixels were averaged; the others of the group lie furthest from the average.
    purity : (r,) ndarray
        The least share of a pixel in the group, the selected one apart.
    variability : Variability
        How the pixels averaged differ from the average, as the standard errors of shares need it:
        see :func:`selfdict.shares`.
    pixel_variability : Variability
        How they differ from the selected pixel.
    """

    members: tuple[Array, ...]
    spectra: Array
    spread: Array
    counts: Array
    purity: Array
    variability: Variability
    pixel_variability: Variability


def pure_groups(M: ArrayLike, indices: ArrayLike) -> Groups:
    """Gather the pixels that are nearly pure in the materials of the selected pixels.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        Pixels as columns.
    indices : (r,) array_like of int
        The selected pixels, none of them zero.

    Returns
    -------
    Groups

    Examples
    --------
    >>> import numpy as np
    >>> import selfdict
    >>> M = np.array([[1.0, 0.9, 0.0, 0.1], [0.0, 0.1, 1.0, 0.8]])
    >>> [group.tolist() for group in selfdict.pure_groups(M, [0, 2]).members]
    [[0, 1], [2, 3]]
    """
    M = as_matrix(M, sparse=True)
    K = as_indices(indices, M.shape[1])
    squares = squared_norms(M)
    exponent = exponent_from_squares(M, squares)
    if exponent != 0:
        M = times_power_of_two(M, -exponent)
        squares = squared_norms(M)
    lengths = np.sqrt(squares)
    pixels = dense_columns(M, K).astype(np.float64)
    spectra = pixels
    for _ in range(ROUNDS):
        parts = unit_shares(spectra, M)
        members = _members(parts, K)
        with single_threaded_blas():  # the products are too small for several threads
            directions = [_average(_unit_columns(M, group, lengths)) for group in members]
        spectra = np.stack([direction.mean for direction in directions], axis=1)
    averaged = [group[d.kept] for group, d in zip(members, directions, strict=True)]
    # a typical brightness, so that coefficients relative to the average mean something
    scale = np.array([np.median(lengths[group]) for group in members])
    scale /= np.sqrt(squared_norms(spectra))
    spread = np.stack([direction.spread for direction in directions], axis=1)
    return Groups(
        members=members,
        spectra=times_power_of_two((spectra * scale).astype(M.dtype), exponent),
        spread=times_power_of_two((spread * scale).astype(M.dtype), exponent),
        counts=np.array([len(group) for group in averaged]),
        purity=np.array([_least_share(parts[k], group) for k, group in enumerate(members)]),
        variability=_variability(M, averaged, lengths, spectra),
        pixel_variability=_variability(M, averaged, lengths, pixels),
    )


def _members(parts: Array, K: Array) -> tuple[Array, ...]:
    """Return the nearly pure pixels of each material, each pixel in one group at most."""
    largest = parts.argmax(axis=0)
    groups = []
    for k, selected in enumerate(K):
        share = np.where(largest == k, parts[k], 0.0)
        share[K] = 0.0  # each of these leads its own group, whatever its share has become
        count = max(LEAST_PIXELS, int(LEAST_PART * parts[k].sum()))
        count = min(count, share.size)
        threshold = min(PURITY, np.partition(share, -count)[-count])
        # less than half of a material is a mixture, however few pixels there are
        others = np.flatnonzero(share >= max(threshold, 0.5))
        order = np.argsort(-share[others], kind="stable")
        groups.append(np.append(selected, others[order]))
    return tuple(groups)


def _unit_columns(M: Any, group: Array, lengths: Array) -> Array:
    """Return the pixels of a group scaled to length one; those of zeros stay."""
    columns = dense_columns(M, group).astype(np.float64)
    return columns / np.maximum(lengths[group], np.finfo(float).tiny)


@dataclass(frozen=True)
class _Direction:
    """An average of unit-length pixels, their standard deviation, and which they are."""

    mean: Array
    spread: Array
    kept: Array


def _average(columns: Array) -> _Direction:
    """Average the three quarters of the columns that are nearest to their average."""
    mean = columns.mean(axis=1)
    for _ in range(3):
        # by angle: for columns of length one the product with the mean falls with it
        nearness = columns.T @ mean
        kept = nearness >= np.quantile(nearness, TRIMMED)
        mean = columns[:, kept].mean(axis=1)
    return _Direction(mean, columns[:, kept].std(axis=1), kept)


def _variability(M: Any, groups: list[Array], lengths: Array, spectra: Array) -> Variability:
    """Return how the pixels of each group differ from its spectrum, all scaled to length one."""
    directions = spectra / np.sqrt(squared_norms(spectra))
    products = []
    traces = []
    for k, group in enumerate(groups):
        deviations = _unit_columns(M, group, lengths) - directions[:, [k]]
        with single_threaded_blas():
            seen = directions.T @ deviations
            products.append(seen @ seen.T / len(group))
        traces.append(float(squared_norms(deviations).mean()))
    return Variability(np.stack(products), np.array(traces))


def _least_share(share: Array, group: Array) -> float:
    """Return the least share of a group but that of the selected pixel; 1 if it is alone."""
    return float(share[group[1:]].min(initial=1.0))


def groups_of_present(M: Array, indices: Array, sample_weight: Array | None) -> Groups:
    """Return :func:`pure_groups` among the columns with weight: one without weight is absent."""
    if sample_weight is None or (sample_weight > 0).all():
        return pure_groups(M, indices)
    present = np.union1d(np.flatnonzero(sample_weight > 0), indices)
    groups = pure_groups(M[:, present], np.searchsorted(present, indices))
    return replace(groups, members=tuple(present[members] for members in groups.members))
