"""Groups: for each selected pixel the pixels of the same material, and what they say about it.

A selected pixel is an extreme one: it carries noise and a variant of its material. An average over
many pixels carries neither, but where pixels thin out towards the corner it is a mixture. The
scatter of a group tells which of the two it is. *Elsewhere*, in directions that no mixture with the
other materials explains, pixels scatter by noise and by variants of the material: σ in a typical
one of these directions. The most extreme of N pixels that scatter in this way is σ √(2 ln N) from
their centre, and so far off the selected pixel may be. The centre is off by mixing: by about the
scatter *towards* the other materials. The smaller of the two decides.

So the group of a material is the purer half of the pixels that consist of it by half or more. As
long as a group scatters towards the other materials by more than σ √(2 ln N), its purer half takes
its place. What is left is averaged, without the half that is further from the centre. If hardly any
pixel is left, the selected one stands for itself.

The smooth model (:doc:`/smooth`) gathers groups by itself: the pixels with open rows, which share
the weight. Each belongs to the selected pixel nearest to it, and the averages are weighted by the
gates. Where the open pixels are of more kinds than were selected, some are like none of these; they
are left aside.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from selfdict._validation import Array, as_indices, as_matrix
from selfdict.abundances.illumination import evenly
from selfdict.abundances.shares import unit_shares
from selfdict.abundances.uncertainty import Variability
from selfdict.compute.scaling import exponent_from_squares, times_power_of_two
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms

_LEAST = 5  # fewer pixels do not tell how they scatter
_SAMPLE = 10_000  # pixels of a group that are looked at; more would not tell more
_MOST_STEPS = 100  # towards the half of a group that is nearest to its own centre


@dataclass(frozen=True)
class Groups:
    """r disjoint groups of pixels, with their spectra and spread.

    Attributes
    ----------
    members : tuple of r ndarrays of int
        The pixels of each group: the selected one first, then the others by falling share.
    spectra : (m, r) ndarray
        The average of each group: of directions, with the median length of the crowd. Or the
        direction of the selected pixel, with the median length of the group.
    spread : (m, r) ndarray
        The standard deviation from it in each band of the crowd whose nearer half was averaged,
        scaled to that length; zero if the selected pixel stands for itself.
    counts : (r,) ndarray of int
        How many pixels were averaged; 1 if the selected pixel stands for itself.
    variability : Variability
        How the pixels of the crowd differ from the spectrum, as the standard errors of shares need
        it: see :func:`selfdict.shares`.
    pixel_variability : Variability
        How they differ from the selected pixel.
    alike : tuple of tuples of int
        Materials whose spectra differ by less than the pixels of their groups do, such as (0, 2):
        they may be one material.
    left_aside : tuple of Kind
        Of :func:`open_groups`: kinds of open pixels that are like none of the selected ones, by
        falling weight.
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
    """Open pixels that are like one another, and like none of the selected ones.

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


def pure_groups(M: ArrayLike, indices: ArrayLike) -> Groups:
    """Group the pixels of each selected pixel's material, and average the groups that are crowds.

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
    pixels = _Pixels.of(M)
    members = pixels.members(K)
    selected = pixels.directions(K)
    with single_threaded_blas():  # the products are too small for several threads
        crowds = [_crowd(pixels, group, k, selected) for k, group in enumerate(members)]
    return _groups(pixels, members, crowds, selected)


def open_groups(M: ArrayLike, indices: ArrayLike, rows: Array, gates: Array) -> Groups:
    """Divide the open rows of a solution among the selected pixels; average them by their gates.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        Pixels as columns.
    indices : (r,) array_like of int
        The selected pixels, none of them zero.
    rows : (k,) ndarray of int
        The pixels whose rows are open.
    gates : (k,) ndarray
        Their weights on the diagonal of X.

    Returns
    -------
    Groups
        Every open pixel is in a group: that of the selected pixel nearest to it by angle. Those
        that are not nearer to it than half of the angle from there to the next selected pixel are
        of another kind: they are not averaged, and ``left_aside`` says what they weigh.
    """
    M = as_matrix(M, sparse=True)
    K = as_indices(indices, M.shape[1])
    pixels = _Pixels.of(M)
    typical = pixels.members(K)
    selected = pixels.directions(K)
    columns = pixels.directions(rows)
    with single_threaded_blas():
        angles = _angles(selected, columns)
        between = _angles(selected, selected)
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
        is_near = is_left & (_angles(columns[:, [first]], columns)[0] < reach)
        is_near[first] = True
        is_left &= ~is_near
        kinds.append(Kind(int(rows[first]), int(is_near.sum()), float(weights[is_near].sum())))
    return tuple(sorted(kinds, key=lambda kind: -kind.weight))


def _angles(U: Array, V: Array) -> Array:
    """Return the angles between columns of length one."""
    return np.asarray(np.arccos(np.clip(U.T @ V, -1.0, 1.0)))


def _groups(
    pixels: "_Pixels", members: tuple[Array, ...], crowds: list["_Crowd"], selected: Array
) -> Groups:
    """Return what the crowds of the groups have in common."""
    with single_threaded_blas():
        directions = np.stack([crowd.direction for crowd in crowds], axis=1)
        spread = np.stack([crowd.spread for crowd in crowds], axis=1)
        variability = _variability(crowds, directions)
        pixel_variability = _variability(crowds, selected)
        alike = _alike(pixels, members, directions)
    # a typical brightness, so that coefficients relative to the spectrum mean something
    brightness = np.array([crowd.brightness for crowd in crowds])
    return Groups(
        members=members,
        spectra=pixels.in_units_of_data(directions * brightness),
        spread=pixels.in_units_of_data(spread * brightness),
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
            words.append("single pixel: few are alike")
    return tuple(words)


@dataclass(frozen=True)
class _Pixels:
    """Columns in a unit in which their squares neither overflow nor vanish, and their lengths."""

    M: Any
    lengths: Array
    exponent: int  # the data are M times this power of two

    @classmethod
    def of(cls, M: Any) -> "_Pixels":
        squares = squared_norms(M)
        exponent = exponent_from_squares(M, squares)
        if exponent != 0:
            M = times_power_of_two(M, -exponent)
            squares = squared_norms(M)
        return cls(M, np.sqrt(squares), exponent)

    def in_units_of_data(self, values: Array) -> Array:
        """Return spectra in the unit and the precision of the data."""
        return times_power_of_two(values.astype(self.M.dtype), self.exponent)

    def members(self, K: Array) -> tuple[Array, ...]:
        """Return the purer half of the pixels that consist of each material by half or more."""
        return _members(unit_shares(dense_columns(self.M, K), self.M), K)

    def directions(self, group: Array) -> Array:
        """Return pixels scaled to length one, (m, k); those of zeros stay."""
        columns = dense_columns(self.M, group).astype(np.float64)
        return np.asarray(columns / np.maximum(self.lengths[group], np.finfo(float).tiny))


def _members(parts: Array, K: Array) -> tuple[Array, ...]:
    """Return the purer half of the pixels that consist of a material by half or more."""
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


@dataclass(frozen=True)
class _Crowd:
    """Pixels of length one that show a material, and the average of the half near their centre."""

    columns: Array  # (m, n)
    direction: Array  # (m,), of length one
    brightness: float  # the typical length of the pixels
    count: int  # how many were averaged

    @property
    def spread(self) -> Array:
        """The standard deviation from the average in each band, (m,)."""
        deviations = self.columns - self.direction[:, None]
        return np.asarray(np.sqrt(np.mean(deviations**2, axis=1)))


def _crowd(pixels: _Pixels, members: Array, k: int, selected: Array) -> _Crowd:
    """Return the largest part of a group that is a crowd, or the selected pixel alone."""
    others = np.delete(selected, k, axis=1)
    group = members
    while len(group) >= _LEAST:
        sample = evenly(group, _SAMPLE)
        columns = pixels.directions(sample)
        nearest = _nearest_half(columns)
        direction = columns[:, nearest].mean(axis=1)
        direction /= np.linalg.norm(direction)
        if _is_crowd(columns, direction, others, len(group)):
            # of all pixels: of those with noise, the bright ones are nearest to the centre
            brightness = float(np.median(pixels.lengths[sample]))
            return _Crowd(columns, direction, brightness, int(nearest.sum()))
        group = group[: len(group) // 2]
    brightness = float(np.median(pixels.lengths[members]))
    return _Crowd(selected[:, [k]], selected[:, k], brightness, 1)


def _nearest_half(columns: Array) -> Array:
    """Return which half of the columns, of length one, is nearest to its own centre."""
    nearest = np.ones(columns.shape[1], dtype=bool)
    for _ in range(_MOST_STEPS):
        # by angle: for columns of length one the product with the centre falls with it
        nearness = columns[:, nearest].mean(axis=1) @ columns
        nearer = nearness >= np.median(nearness)
        if np.array_equal(nearer, nearest):
            break
        nearest = nearer
    return nearest


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
    n = len(squares)
    # the squared products of all pairs add up to ‖DᵀD‖² = ‖DDᵀ‖²: take the smaller product
    if n > len(deviations):
        deviations = deviations.T
    products = deviations.T @ deviations
    of_pairs = float(np.vdot(products, products) - np.vdot(squares, squares))
    return max(0.0, of_pairs / ((n - 1) * total))


def _variability(crowds: list[_Crowd], directions: Array) -> Variability:
    """Return how the pixels of each crowd differ from a direction."""
    products = []
    traces = []
    for k, crowd in enumerate(crowds):
        deviations = crowd.columns - directions[:, [k]]
        seen = directions.T @ deviations
        products.append(seen @ seen.T / deviations.shape[1])
        traces.append(float(squared_norms(deviations).mean()))
    return Variability(np.stack(products), np.array(traces))


def _alike(
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


def groups_of_present(M: Array, indices: Array, sample_weight: Array | None) -> Groups:
    """Return :func:`pure_groups` among the columns with weight: one without weight is absent."""
    if sample_weight is None or (sample_weight > 0).all():
        return pure_groups(M, indices)
    present = np.union1d(np.flatnonzero(sample_weight > 0), indices)
    groups = pure_groups(M[:, present], np.searchsorted(present, indices))
    return replace(groups, members=tuple(present[members] for members in groups.members))
