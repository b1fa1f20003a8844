"""Groups: the pixels of the same material as each selected pixel, and their average spectrum.

The group of a material is the purer half of the pixels in which its share is at least 50 %. The
average is taken over the part of it that is a crowd: see :mod:`selfdict.readout.crowds`.

In the smooth model (:doc:`/smooth`) the groups are the pixels with open rows, which share the
weight. Each belongs to the selected pixel nearest to it, and the averages are weighted by the
gates. Open pixels that are similar to none of the selected ones are left out of the averages.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_indices, as_matrix
from selfdict.abundances.uncertainty import Variability
from selfdict.compute.threads import single_threaded_blas
from selfdict.metrics import angles_between
from selfdict.readout.crowds import Crowd, Pixels, alike_materials, find_crowd, variability_of


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
    pixels = Pixels.of(M)
    members = pixels.members(K)
    selected = pixels.directions(K)
    with single_threaded_blas():  # the products are too small for several threads
        crowds = [find_crowd(pixels, group, k, selected) for k, group in enumerate(members)]
    return _groups(pixels, members, crowds, selected)


def open_groups(M: Array, K: Array, rows: Array, gates: Array) -> Groups:
    """Assign the open rows of a solution to the selected pixels K; average them by their gates."""
    # Every open pixel is in the group of the selected pixel nearest to it by angle. It is left
    # aside if that angle is at least half of the one between the selected pixel and the next one.
    pixels = Pixels.of(as_matrix(M, sparse=True))
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
        crowd = Crowd(selected[:, [k]], selected[:, k], brightness, 1)
        if gates[like].any():
            direction = columns[:, like] @ gates[like]
            direction /= np.linalg.norm(direction)
            crowd = Crowd(columns[:, like], direction, brightness, len(like))
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
    pixels: Pixels, members: tuple[Array, ...], crowds: list[Crowd], selected: Array
) -> Groups:
    """Return what the crowds of the groups have in common."""
    with single_threaded_blas():
        directions = np.stack([crowd.direction for crowd in crowds], axis=1)
        spread = np.stack([crowd.spread for crowd in crowds], axis=1)
        variability = variability_of(crowds, directions)
        pixel_variability = variability_of(crowds, selected)
        alike = alike_materials(pixels, members, directions)
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
