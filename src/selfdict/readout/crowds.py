"""Crowds: the pixels of a group that show a material rather than its mixtures.

A selected pixel is an extreme one: it carries noise and a variant of its material. An average over
many pixels carries neither, but where pixels thin out towards the corner it is a mixture. The
scatter of a group tells which of the two it is. *Elsewhere*, in directions that no mixture with the
other materials explains, pixels scatter by noise and by variants of the material: σ in a typical
one of these directions. The most extreme of N pixels that scatter in this way is σ √(2 ln N) from
their centre, and so far off the selected pixel may be. The centre is off by mixing: by about the
scatter *towards* the other materials. The smaller of the two decides.

As long as a group scatters towards the other materials by more than σ √(2 ln N), its purer half
takes its place. What is left is a crowd. Its centre is the average of its pixels without outliers.
If hardly any pixel is left, the selected one stands for itself.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaincinv

from selfdict._validation import Array
from selfdict.abundances.illumination import evenly
from selfdict.abundances.shares import unit_shares
from selfdict.abundances.uncertainty import Variability
from selfdict.compute.linear_algebra import smaller_moments
from selfdict.kernels.columns import dense_columns, squared_norms

_LEAST = 5  # fewer pixels do not tell how they scatter
_SAMPLE = 10_000  # pixels of a group that are looked at; more would not tell more
_ENTRIES = 1 << 18  # of pixels of a group that are kept to tell how they differ: 1 MiB
_MOST_STEPS = 100  # towards the centre of a group
_KEPT = 0.9  # of a normally distributed crowd is averaged; what is further out is an outlier


@dataclass(frozen=True)
class Pixels:
    """Columns and their lengths."""

    M: Any
    lengths: Array

    @classmethod
    def of(cls, M: Any) -> "Pixels":
        return cls(M, np.sqrt(squared_norms(M)))

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
class Crowd:
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


def find_crowd(pixels: Pixels, members: Array, k: int, selected: Array) -> Crowd:
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
            return Crowd(columns, direction, brightness, averaged.shape[1])
        group = group[: len(group) // 2]
    brightness = float(np.median(pixels.lengths[members]))
    return Crowd(selected[:, [k]], selected[:, k], brightness, 1)


def _without_outliers(columns: Array) -> Array:
    """Return the columns of length one that are to be averaged.

    As in reweighted least trimmed squares: the half of the columns nearest to their own average
    tells how columns scatter, and those beyond the 90 % quantile of that scatter are outliers.
    """
    nearest = np.ones(columns.shape[1], dtype=bool)
    for _ in range(_MOST_STEPS):
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


def variability_of(crowds: list[Crowd], directions: Array) -> Variability:
    """Return how the pixels of each crowd differ from a direction."""
    deviations = []
    for k, crowd in enumerate(crowds):
        at_most = max(250, _ENTRIES // len(directions))
        columns = crowd.columns[:, evenly(np.arange(crowd.columns.shape[1]), at_most)]
        deviations.append((columns - directions[:, [k]]).astype(np.float32))
    return Variability(tuple(deviations))


def alike_materials(
    pixels: Pixels, members: tuple[Array, ...], directions: Array
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
