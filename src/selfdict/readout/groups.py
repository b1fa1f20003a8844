"""Groups: the pixels of the same material as each selected pixel, and their average spectrum.

The group of a material is the purer half of the pixels in which its share is at least 50 %. The
average is taken over its *crowd*, the pixels that show the material rather than its mixtures: as
long as a group scatters towards the other materials by more than σ √(2 ln N), its purer half takes
its place. That is how far the most extreme of N pixels, such as the selected one, is from their
centre if they scatter by σ; σ is measured in directions that no mixture explains. If hardly any
pixel is left, the selected one stands for itself. See :doc:`/answer`.

In the smooth model (:doc:`/smooth`) the groups are the pixels with open rows, which share the
weight. Each belongs to the selected pixel nearest to it, and the averages are weighted by the
gates. Open pixels that are similar to none of the selected ones are left out of the averages.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaincinv

from selfdict._validation import Array, as_indices, as_matrix
from selfdict.abundances.illumination import evenly
from selfdict.abundances.shares import unit_shares
from selfdict.abundances.uncertainty import Variability
from selfdict.compute.linear_algebra import smaller_moments
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.metrics import angles_between

_LEAST = 5  # fewer pixels do not tell how they scatter
_SAMPLE = 10_000  # pixels of a group that are looked at; more would not tell more
_ENTRIES = 1 << 18  # of pixels of a group that are kept to tell how they differ: 1 MiB
_KEPT = 0.9  # of a normally distributed crowd is averaged; what is further out is an outlier


@dataclass(frozen=True)
class Groups:
    """r disjoint groups of pixels, with their spectra and spread.

    Attributes
    ----------
    members : tuple of r ndarrays of int
        The pixels of each group: the selected one first, then the others by falling share.
    spectra : (m, r) ndarray
        The spectrum of each group: the average of its crowd as unit-length spectra without
        outliers, scaled to their median length; or the selected pixel, scaled to the median length
        of the group.
    spread : (m, r) ndarray
        The standard deviation of the crowd in each band, outliers included, scaled to the length of
        the spectrum; zero if the selected pixel is used.
    counts : (r,) ndarray of int
        How many pixels were averaged; 1 if the selected pixel is used.
    variability : Variability
        How the pixels of the crowd differ from the spectrum; the standard errors of
        :func:`selfdict.shares` need it.
    pixel_variability : Variability
        How they differ from the selected pixel.
    alike : tuple of tuples of int
        Materials whose spectra differ by less than the pixels of their groups do, such as (0, 2):
        they may be the same material.
    left_aside : tuple of Kind
        With the smooth model, the open pixels that are similar to none of the selected ones, in
        sets of similar pixels, by falling weight.
    """

    members: tuple[Array, ...]
    spectra: Array
    spread: Array
    counts: Array
    variability: Variability
    pixel_variability: Variability
    alike: tuple[tuple[int, ...], ...]
    left_aside: tuple["Kind", ...] = ()


@dataclass(frozen=True)
class Kind:
    """Open pixels that are similar to one another, and to none of the selected ones.

    Attributes
    ----------
    index : int
        The pixel with the largest gate.
    count : int
        How many pixels there are.
    weight : float
        Their part of the sum of all gates.
    """

    index: int
    count: int
    weight: float


@dataclass(frozen=True)
class _Pixels:
    """Columns, with their lengths."""

    M: Any

    @cached_property
    def lengths(self) -> Array:
        return np.sqrt(squared_norms(self.M))

    def members(self, K: Array) -> tuple[Array, ...]:
        """Return the purer half of the pixels that consist of each material by half or more."""
        parts = unit_shares(dense_columns(self.M, K), self.M)
        largest = parts.argmax(axis=0)
        largest[K] = -1  # each of these leads its own group, whatever the others' shares are
        groups = []
        for k, selected in enumerate(K):
            mostly = np.flatnonzero((largest == k) & (parts[k] >= 0.5))
            # the selected pixel itself has a share of one
            middle = np.quantile(np.append(parts[k, mostly], 1.0), 0.5, method="lower")
            pure = mostly[parts[k, mostly] >= middle]
            order = np.argsort(-parts[k, pure], kind="stable")
            groups.append(np.append(selected, pure[order]))
        return tuple(groups)

    def directions(self, group: Array) -> Array:
        """Return pixels scaled to length one, (m, k); those of zeros stay."""
        columns = dense_columns(self.M, group).astype(np.float64)
        return np.asarray(columns / np.maximum(self.lengths[group], np.finfo(float).tiny))


@dataclass(frozen=True)
class _Crowd:
    """Pixels of length one that show a material, and their centre."""

    columns: Array  # (m, n)
    direction: Array  # (m,), of length one
    brightness: float  # the typical length of the pixels
    count: int  # how many of them were averaged

    @property
    def spread(self) -> Array:
        """The standard deviation from the average in each band, (m,)."""
        deviations = self.columns - self.direction[:, None]
        return np.asarray(np.sqrt(np.mean(deviations**2, axis=1)))


def pure_groups(M: ArrayLike, indices: ArrayLike) -> Groups:
    """Group the pixels of the same material as each selected pixel, and average the groups.

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
    pixels = _Pixels(M)
    members = pixels.members(K)
    selected = pixels.directions(K)
    with single_threaded_blas():  # the products are too small for several threads
        crowds = [_find_crowd(pixels, group, k, selected) for k, group in enumerate(members)]
    return _groups(pixels, members, crowds, selected)


def open_groups(M: Array, K: Array, rows: Array, gates: Array) -> Groups:
    """Assign the open rows of a solution to the selected pixels K; average them by their gates."""
    # Every open pixel is in the group of the selected pixel nearest to it by angle. It is left
    # aside if that angle is at least half of the one between the selected pixel and the next one.
    pixels = _Pixels(as_matrix(M, sparse=True))
    typical = pixels.members(K)
    selected = pixels.directions(K)
    columns = pixels.directions(rows)
    with single_threaded_blas():
        angles = angles_between(selected, columns)
        between = angles_between(selected, selected)
    np.fill_diagonal(between, np.pi)
    reach = 0.5 * between.min(axis=1)
    nearest = angles.argmin(axis=0)
    is_like = angles.min(axis=0) < reach[nearest]
    order = np.argsort(-gates, kind="stable")
    members = []
    crowds = []
    for k, pixel in enumerate(K):
        mine = order[nearest[order] == k]
        members.append(np.append(pixel, rows[mine][rows[mine] != pixel]))
        brightness = float(np.median(pixels.lengths[typical[k]]))
        like = mine[is_like[mine]]
        crowd = _Crowd(selected[:, [k]], selected[:, k], brightness, 1)
        if gates[like].any():
            direction = columns[:, like] @ gates[like]
            direction /= np.linalg.norm(direction)
            crowd = _Crowd(columns[:, like], direction, brightness, len(like))
        crowds.append(crowd)
    others = order[~is_like[order]]
    weights = gates[others] / gates.sum()
    kinds = _kinds(columns[:, others], rows[others], weights, float(np.median(reach)))
    return replace(_groups(pixels, tuple(members), crowds, selected), left_aside=kinds)


def _kinds(columns: Array, rows: Array, weights: Array, reach: float) -> tuple[Kind, ...]:
    """Gather columns, by falling weight, around the heaviest ones that are left."""
    kinds = []
    is_left = np.ones(len(rows), dtype=bool)
    while is_left.any():
        first = int(np.argmax(is_left))
        is_near = is_left & (angles_between(columns[:, [first]], columns)[0] < reach)
        is_near[first] = True
        is_left &= ~is_near
        kinds.append(Kind(int(rows[first]), int(is_near.sum()), float(weights[is_near].sum())))
    return tuple(sorted(kinds, key=lambda kind: -kind.weight))


def _groups(
    pixels: _Pixels, members: tuple[Array, ...], crowds: list[_Crowd], selected: Array
) -> Groups:
    """Return what the crowds of the groups have in common."""
    with single_threaded_blas():
        directions = np.stack([crowd.direction for crowd in crowds], axis=1)
        spread = np.stack([crowd.spread for crowd in crowds], axis=1)
        variability = _variability_of(crowds, directions)
        pixel_variability = _variability_of(crowds, selected)
        alike = _alike_materials(pixels, members, directions)
    # a typical brightness, so that coefficients relative to the spectrum mean something
    brightness = np.array([crowd.brightness for crowd in crowds])
    return Groups(
        members=members,
        spectra=(directions * brightness).astype(pixels.M.dtype),
        spread=(spread * brightness).astype(pixels.M.dtype),
        counts=np.array([crowd.count for crowd in crowds]),
        variability=variability,
        pixel_variability=pixel_variability,
        alike=alike,
    )


def reasons(counts: Array) -> tuple[str, ...]:
    """Return in words, for each material, of what its spectrum is made."""
    words = []
    for count in counts:
        if count > 1:
            words.append(f"average of {count:,} pixels")
        else:
            words.append("single pixel: few pixels are similar")
    return tuple(words)


def groups_of_present(M: Array, indices: Array, sample_weight: Array | None) -> Groups:
    """Return :func:`pure_groups` among the columns with weight: one without weight is absent."""
    if sample_weight is None or (sample_weight > 0).all():
        return pure_groups(M, indices)
    present = np.union1d(np.flatnonzero(sample_weight > 0), indices)
    groups = pure_groups(M[:, present], np.searchsorted(present, indices))
    return replace(groups, members=tuple(present[members] for members in groups.members))


def _find_crowd(pixels: _Pixels, members: Array, k: int, selected: Array) -> _Crowd:
    """Return the largest part of a group that is a crowd, or the selected pixel alone."""
    others = np.delete(selected, k, axis=1)
    group = members
    while len(group) >= _LEAST:
        sample = evenly(group, _SAMPLE)
        columns = pixels.directions(sample)
        averaged = _without_outliers(columns)
        direction = _average(averaged)
        if _is_crowd(columns, direction, others, len(group)):
            brightness = float(np.median(pixels.lengths[sample]))
            return _Crowd(columns, direction, brightness, averaged.shape[1])
        group = group[: len(group) // 2]
    brightness = float(np.median(pixels.lengths[members]))
    return _Crowd(selected[:, [k]], selected[:, k], brightness, 1)


def _without_outliers(columns: Array) -> Array:
    """Return the columns to be averaged, as in reweighted least trimmed squares."""
    # the half of the columns nearest to their own average tells how columns scatter
    nearest = np.ones(columns.shape[1], dtype=bool)
    for _ in range(100):  # mostly a few steps towards the centre
        centre = _average(columns[:, nearest])
        # |x − c|² for x and c of length one, up to rounding
        squares = np.maximum(2.0 - 2.0 * (centre @ columns), 0.0)
        before = nearest
        nearest = squares <= np.median(squares)
        if (nearest == before).all():
            break
    half = columns[:, nearest] - centre[:, None]
    products = smaller_moments(half)
    if not products.any():
        return np.asarray(columns[:, nearest])
    # squared distances are about χ² with (tr C)²/tr C² degrees of freedom
    degrees = np.trace(products) ** 2 / np.vdot(products, products)
    limit = np.median(squares) * gammaincinv(degrees / 2, _KEPT) / gammaincinv(degrees / 2, 0.5)
    return np.asarray(columns[:, squares <= limit])


def _average(columns: Array) -> Array:
    """Return the average of columns, scaled to length one."""
    total = columns.sum(axis=1)
    return np.asarray(total / np.linalg.norm(total))


def _is_crowd(columns: Array, centre: Array, others: Array, count: int) -> bool:
    """Return whether columns scatter towards others by no more than their extremes elsewhere."""
    if others.shape[1] == 0:
        return True
    deviations = columns - np.outer(centre, centre @ columns)
    basis = np.linalg.qr(others - np.outer(centre, centre @ others))[0]
    towards = basis.T @ deviations
    elsewhere = deviations - basis @ towards
    variance = float(squared_norms(towards).mean()) / len(towards)
    rounding = 16 * np.finfo(np.float32).eps ** 2
    return bool(variance <= 2 * np.log(count) * _variance(elsewhere) + rounding)


def _variance(deviations: Array) -> float:
    """Return the variance of columns in the direction of another one of them: tr C² / tr C."""
    squares = squared_norms(deviations)
    total = float(squares.sum())
    if total == 0:
        return 0.0
    products = smaller_moments(deviations)
    # the squared products of all pairs add up to ‖DᵀD‖² = ‖DDᵀ‖²
    of_pairs = float(np.vdot(products, products)) - float(np.vdot(squares, squares))
    return max(0.0, of_pairs / ((len(squares) - 1) * total))


def _variability_of(crowds: list[_Crowd], directions: Array) -> Variability:
    """Return how the pixels of each crowd differ from a direction."""
    deviations = []
    for k, crowd in enumerate(crowds):
        at_most = max(250, _ENTRIES // len(directions))
        columns = crowd.columns[:, evenly(np.arange(crowd.columns.shape[1]), at_most)]
        deviations.append((columns - directions[:, [k]]).astype(np.float32))
    return Variability(tuple(deviations))


def _alike_materials(
    pixels: _Pixels, members: tuple[Array, ...], directions: Array
) -> tuple[tuple[int, ...], ...]:
    """Return the sets of materials whose directions differ by less than their pixels do."""
    r = len(members)
    squares = np.empty(r)
    for k, group in enumerate(members):
        columns = pixels.directions(evenly(group, _SAMPLE))
        squares[k] = squared_norms(columns - directions[:, [k]]).mean()
    differences = np.stack([squared_norms(directions - directions[:, [k]]) for k in range(r)])
    count, label = connected_components(differences <= squares + squares[:, None])
    sets = [tuple(np.flatnonzero(label == number).tolist()) for number in range(count)]
    return tuple(found for found in sets if len(found) > 1)
