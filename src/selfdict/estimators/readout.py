"""What FGNSR reads out of its solution: points, groups, proofs."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from selfdict._validation import Array
from selfdict.abundances import Variability
from selfdict.abundances.nnls import affords_fits
from selfdict.compute.deadline import Deadline
from selfdict.model.solution import Solution
from selfdict.readout import Proof, groups_of_present, prove_groups
from selfdict.readout.evidence import Evidence, atoms_alike, groups_of_rows
from selfdict.readout.selection import select_from
from selfdict.reductions.recipe import denoise_again


class SolutionReadout:
    """The methods of :class:`selfdict.FGNSR` that read its solution."""

    denoise: Any
    dictionary: Any
    postprocess: str
    endmembers: str
    indices_: Array
    solution_: Solution
    groups_: tuple[Array, ...]
    spread_: Array | None
    group_counts_: Array | None
    variability_: Variability | None

    def select(self, r: int) -> Array:
        """Return the indices of r points, or atoms, read out of the solution that ``fit`` found.

        Parameters
        ----------
        r : int
            Any rank; the model does not depend on it but through the heuristic for μ.

        Returns
        -------
        (r,) ndarray of int
        """
        check_is_fitted(self)
        return self._selected(r, Deadline())

    def _selected(self, r: int, deadline: Deadline) -> Array:
        solution = self.solution_
        if self.denoise == "auto":
            # judged by the data denoised for the rank in question
            solution = denoise_again(solution, r)
        return select_from(Evidence.of(solution), r, self.postprocess, deadline)

    def _gather_groups(
        self, points: Array, pixels: Array, sample_weight: Array | None, deadline: Deadline
    ) -> Array:
        """Store the groups of the selected pixels; return these pixels, or averages."""
        self.spread_ = None
        self.group_counts_ = None
        self.variability_ = None
        if self.dictionary is not None:
            self.groups_ = atoms_alike(self.solution_, self.indices_)
            return pixels
        # two rounds of shares, and what follows from them
        if not affords_fits(deadline, 3, pixels.T, points.T):
            return self._without_groups(pixels, deadline)
        groups = groups_of_present(points.T, self.indices_, sample_weight)
        self.groups_ = groups.members
        if self.endmembers == "pixels":
            self.variability_ = groups.pixel_variability
            return pixels
        self.spread_ = np.ascontiguousarray(groups.spread.T)
        self.group_counts_ = groups.counts
        self.variability_ = groups.variability
        return np.ascontiguousarray(groups.spectra.T)

    def _without_groups(self, pixels: Array, deadline: Deadline) -> Array:
        """Store groups of the selected points alone, for which there is no time."""
        self.groups_ = tuple(self.indices_[:, None])
        if self.endmembers == "pixels":
            deadline.skip("groups of nearly pure points were not gathered")
            return pixels
        deadline.skip("components are single points, not averages over groups")
        self.spread_ = np.zeros_like(pixels)
        self.group_counts_ = np.ones(len(pixels), dtype=np.intp)
        return pixels

    def _variability(self) -> Variability | None:
        return self.variability_

    def _components_are_points(self) -> bool:
        # averages have the brightness of their group, spectra of a dictionary their own
        return self.dictionary is None and self.endmembers == "pixels"

    def prove(
        self, *, tol: float = 1e-6, max_seconds: float | None = None, budget: float | None = None
    ) -> Proof:
        """Prove how far ``groups_`` suffice, and how far each of them is needed.

        With ``candidates`` the statements are about the representatives: each group stands for
        those of its rows that are representatives, or for the nearest one.

        Parameters
        ----------
        tol : float
            The gap to which the model is solved for this; a smaller one closes more rows.
        max_seconds : float, optional
            Time limit of each solve.
        budget : float, optional
            Seconds for all of it; what needs longer is left unproven.

        Returns
        -------
        Proof
            See :func:`selfdict.prove_groups`.
        """
        check_is_fitted(self)
        groups = groups_of_rows(self.solution_, self.groups_)
        return prove_groups(self.solution_, groups, tol=tol, max_seconds=max_seconds, budget=budget)
