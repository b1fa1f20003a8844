"""What can be asked of a fitted FGNSR: other ranks, proofs, bundles."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from selfdict._validation import Array
from selfdict.compute.deadline import Deadline
from selfdict.model.solution import Solution
from selfdict.readout import Bundles, Proof, bundles, prove_groups
from selfdict.readout.evidence import Evidence, groups_of_rows
from selfdict.readout.selection import select_from
from selfdict.reductions.recipe import denoise_again


class SolutionReadout:
    """The methods of :class:`selfdict.FGNSR` that read its solution."""

    denoise: Any
    postprocess: str
    indices_: Array
    solution_: Solution
    groups_: tuple[Array, ...]

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

    def bundles(self, r: int | None = None, *, radius: float = 0.5) -> Bundles:
        """Return the points, or atoms, of the support around each selected one.

        Parameters
        ----------
        r : int, optional
            For another rank; by default around ``indices_``.
        radius : float
            How near a point must be: see :func:`selfdict.bundles`.

        Returns
        -------
        Bundles
            Points are columns there: the abundances of ``X`` are ``bundles.abundances(X.T).T``.
        """
        check_is_fitted(self)
        K = self.indices_
        if r is not None:
            K = self.select(r)
        return bundles(self.solution_, K, radius=radius)
