"""Bundles: the pixels of the support that show the same material as a selected one."""

from dataclasses import dataclass

import numpy as np
import scipy.spatial.distance
from numpy.typing import ArrayLike

from selfdict._display import line, shortened, table
from selfdict._errors import InputError
from selfdict._validation import Array, as_indices, as_scalar
from selfdict.abundances import fcls, nnls
from selfdict.kernels.columns import dense_columns
from selfdict.metrics import mean_removed_angles
from selfdict.model.objective import problem_of
from selfdict.model.omega import column_norms
from selfdict.model.solution import Solution
from selfdict.readout.evidence import Evidence


@dataclass(frozen=True)
class Bundles:
    """r bundles of columns of M, each around a selected column.

    Attributes
    ----------
    members : tuple of r (k,) ndarrays of int
        The columns of each bundle: the selected one first, then the others by falling diagonal
        entry of X.
    diagonal : tuple of r (k,) ndarrays
        These diagonal entries, as in :class:`Solution`; 0 for a selected column outside the
        support.
    spectra : tuple of r (m, k) ndarrays
        These columns of M.
    angles : tuple of r (k,) ndarrays
        Their mean-removed spectral angles with the selected column, from 0 to 100 as in
        :func:`selfdict.metrics.mrsa`.
    """

    members: tuple[Array, ...]
    diagonal: tuple[Array, ...]
    spectra: tuple[Array, ...]
    angles: tuple[Array, ...]

    def _facts(self) -> dict[str, str]:
        """What there is to say about the bundles in a few words."""
        selected = [str(group[0]) for group in self.members]
        sizes = [str(group.size) for group in self.members]
        largest = [f"{angles.max():.2g}" for angles in self.angles]
        return {
            "around columns": shortened(selected),
            "sizes": shortened(sizes),
            "largest angles, of 100": shortened(largest),
        }

    def __repr__(self) -> str:
        return line("Bundles", self._facts())

    def _repr_html_(self) -> str:
        return table(f"{len(self.members)} bundles", self._facts())

    @property
    def mean(self) -> Array:
        """The mean spectrum of each bundle, (m, r)."""
        return np.stack([columns.mean(axis=1) for columns in self.spectra], axis=1)

    @property
    def std(self) -> Array:
        """The standard deviation of each bundle in each band, (m, r)."""
        return np.stack([columns.std(axis=1) for columns in self.spectra], axis=1)

    @property
    def lower(self) -> Array:
        """The lowest value of each bundle in each band, (m, r)."""
        return np.stack([columns.min(axis=1) for columns in self.spectra], axis=1)

    @property
    def upper(self) -> Array:
        """The highest value of each bundle in each band, (m, r)."""
        return np.stack([columns.max(axis=1) for columns in self.spectra], axis=1)

    def abundances(self, M: ArrayLike, *, sum_to_one: bool = False) -> Array:
        """Return the abundance of each bundle in every column of M: the sum over its members.

        Parameters
        ----------
        M : (m, n) array_like
            The data, or others with the same features.
        sum_to_one : bool
            Whether the abundances of a column sum to one (``fcls``) or are nonnegative only
            (``nnls``).

        Returns
        -------
        (r, n) ndarray
        """
        spectra = np.hstack(self.spectra)
        if sum_to_one:
            H = fcls(spectra, M)
        else:
            H = nnls(spectra, M)
        sizes = [columns.size for columns in self.members]
        starts = np.cumsum([0, *sizes[:-1]])
        sums: Array = np.add.reduceat(H, starts, axis=0)
        return sums


def bundles(
    solution: Solution,
    indices: ArrayLike,
    *,
    radius: float = 0.5,
) -> Bundles:
    """Gather the pixels of the support around the selected ones, for materials that vary.

    The optimum of model (6) shares the weight of a material among near-duplicates that differ in
    what mixing cannot explain: illumination, moisture, age. A row of the support joins the nearest
    selected column if its distance is less than ``radius`` times that column's distance to the next
    selected one. Distances are in ℓ1, between columns scaled to ℓ1 norm one. What is near to none,
    such as an outlier or a mixture, stays out.

    Parameters
    ----------
    solution : Solution
        With its problem; it may be one of representatives (:class:`Candidates`).
    indices : (r,) array_like of int
        The selected columns of the data (with a dictionary: atoms), from :func:`select_indices` or
        anywhere else.
    radius : float
        From 0, the selected columns alone, to 1; up to 0.5 no column could have joined two bundles.
        A single selected column gathers the whole support unless it is 0.

    Returns
    -------
    Bundles

    Examples
    --------
    >>> from selfdict import bundles, working_set
    >>> M = [[1.0, 1.0, 0.0, 0.5], [0.0, 0.2, 1.0, 0.5], [0.2, 0.0, 0.0, 0.1]]
    >>> found = bundles(working_set(M, 1e-3), [0, 2])
    >>> [members.tolist() for members in found.members]
    [[0, 1], [2]]
    """
    points = Evidence.of(solution).points
    columns = problem_of(solution).root.atoms  # as they were given, without sample weights
    K = as_indices(indices, columns.shape[1])
    radius = as_scalar(radius, "radius")
    if radius > 1:
        raise InputError(f"radius must be at most 1, got {radius:g}")
    diagonal = np.zeros(columns.shape[1], dtype=solution.diagonal.dtype)
    diagonal[points] = solution.diagonal
    members = _members(columns, K, points[solution.support], diagonal, radius)
    spectra = tuple(dense_columns(columns, group) for group in members)
    return Bundles(
        members=members,
        diagonal=tuple(diagonal[group] for group in members),
        spectra=spectra,
        angles=tuple(mean_removed_angles(S[:, :1], S)[0] for S in spectra),
    )


def _members(
    columns: Array, K: Array, support: Array, diagonal: Array, radius: float
) -> tuple[Array, ...]:
    """Return the columns of each bundle: the selected one, then others by falling diagonal."""
    centres = _normalised(dense_columns(columns, K))
    between = scipy.spatial.distance.cdist(centres, centres, "cityblock")
    np.fill_diagonal(between, np.finfo(between.dtype).max)
    others = np.setdiff1d(support, K)
    others = others[np.argsort(-diagonal[others], kind="stable")]
    candidates = _normalised(dense_columns(columns, others))
    distance = scipy.spatial.distance.cdist(candidates, centres, "cityblock")
    nearest = distance.argmin(axis=1)
    joins = distance.min(axis=1) < radius * between.min(axis=1)[nearest]
    groups = []
    for k, selected in enumerate(K):
        groups.append(np.append(selected, others[joins & (nearest == k)]))
    return tuple(groups)


def _normalised(M: Array) -> Array:
    """Return the columns of M as rows of ℓ1 norm one."""
    norms = column_norms(M)
    return np.ascontiguousarray((M / np.where(norms > 0, norms, 1.0)).T, dtype=np.float64)
