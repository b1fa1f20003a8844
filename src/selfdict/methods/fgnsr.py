"""FGNSR: the model is solved, points are selected from the solution, and groups are gathered."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError, UnsupportedError
from selfdict._validation import Array
from selfdict.abundances import Variability
from selfdict.abundances.least_squares import affords_fits
from selfdict.compute.deadline import Announcer, Deadline
from selfdict.kernels.columns import column_norms
from selfdict.methods.base import Method
from selfdict.methods.checks import selected_rows
from selfdict.methods.settings import (
    as_atoms,
    as_candidates,
    as_mu,
    as_solver,
    clusters_of,
    in_words_of_solver,
    missed_tolerance,
    warn_of_an_early_end,
)
from selfdict.model.losses import Loss, Squared
from selfdict.model.problem import Problem, Target
from selfdict.model.solution import Callback, Progress, Solution
from selfdict.peers import Clusters
from selfdict.readout import Kind, Proof, groups_of_present, open_groups, prove_groups
from selfdict.readout.evidence import Evidence, atoms_alike, groups_of_rows
from selfdict.readout.selection import select_from
from selfdict.reductions import Candidates, Denoising, Recipe
from selfdict.solvers import Solver

# parts of a time limit: for the solver, and of what is left then, for the choice of points
SOLVER_SHARE = 0.5
CHOICE_SHARE = 0.8


class FGNSRMethod(Method):
    """FGNSR; see :class:`selfdict.FGNSR` for its parameters and what it finds."""

    solver_: Solver
    solution_: Solution
    mu_: float
    gap_: float
    n_iter_: int
    clusters_: Clusters | None
    skipped_: tuple[str, ...]
    candidates_reason_: str
    groups_: tuple[Array, ...]
    spread_: Array | None
    group_counts_: Array | None
    alike_: tuple[tuple[int, ...], ...]
    left_aside_: tuple[Kind, ...]
    variability_: Variability | None

    def __init__(
        self,
        n_components: int = 2,
        *,
        dictionary: ArrayLike | None = None,
        solver: str | Solver = "auto",
        candidates: int | str | Candidates | None = "auto",
        loss: Loss | str = "squared",
        denoise: bool = True,
        mu: str | float = "auto",
        smooth: float = 0.0,
        target: Target | None = None,
        postprocess: str = "auto",
        tol: float | None = None,
        max_seconds: float | None = None,
        endmembers: str = "pixels",
        random_state: Any = None,
        verbose: bool | None = None,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(n_components, random_state=random_state)
        self.dictionary = dictionary
        self.solver = solver
        self.candidates = candidates
        self.loss = loss
        self.denoise = denoise
        self.mu = mu
        self.smooth = smooth
        self.target = target
        self.postprocess = postprocess
        self.tol = tol
        self.max_seconds = max_seconds
        self.endmembers = endmembers
        self.verbose = verbose
        self.callback = callback

    def select(self, r: int) -> Array:
        """Return the indices of r points, or atoms, selected from the solution that ``fit`` found.

        Parameters
        ----------
        r : int
            Any rank; the model depends on it only through the heuristic for μ.

        Returns
        -------
        (r,) ndarray of int
        """
        self._check_fitted()
        return select_from(Evidence.of(self.solution_), r, self.postprocess)

    def prove(
        self, *, tol: float = 1e-6, max_seconds: float | None = None, budget: float | None = None
    ) -> Proof:
        """Prove how close ``groups_`` alone come to the optimum, and what leaving one out costs.

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
        self._check_fitted()
        groups = groups_of_rows(self.solution_, self.groups_)
        return prove_groups(self.solution_, groups, tol=tol, max_seconds=max_seconds, budget=budget)

    def _choose(self, points: Array, atoms: Array, sample_weight: Array | None) -> Array:
        """Solve the model, select the points and gather their groups; return the components."""
        if self.dictionary is not None and self.endmembers == "average":
            raise InputError("averages are of points: they do not go with a dictionary")
        deadline = Deadline(self.max_seconds)
        with Announcer("FGNSR", self.verbose) as announcer:
            announcer.step("solving the model")
            ending = self._solve(points.T, atoms.T, sample_weight, deadline)
            announcer.step("choosing the points")
            self.indices_ = select_from(
                Evidence.of(self.solution_),
                self.n_components,
                self.postprocess,
                deadline.part(CHOICE_SHARE),
            )
            pixels = selected_rows(atoms, self.indices_, points.dtype)
            announcer.step("gathering groups of nearly pure points")
            components = self._gather_groups(points, pixels, sample_weight, deadline)
        self.skipped_ = tuple(deadline.skipped)
        warn_of_an_early_end(ending, self.skipped_)
        return components

    def _solve(
        self, M: Array, atoms: Array, sample_weight: Array | None, deadline: Deadline
    ) -> str:
        """Set the solution; return a sentence if the solver did not come to its end."""
        D = None
        if self.dictionary is not None:
            D = atoms
        w = None
        if sample_weight is not None:
            # a point without weight is absent: it explains no other point
            w = np.where(sample_weight > 0, column_norms(M, np.float64), 0.0)
        problem = Problem(
            M,
            as_mu(self.mu),
            D=D,
            w=w,
            sample_weight=sample_weight,
            loss=self.loss,
            target=self.target,
        )
        recipe, self.candidates_reason_ = self._recipe(problem)
        self.solver_ = recipe.solver
        try:
            recipe.check(problem)
        except UnsupportedError as error:
            raise UnsupportedError(in_words_of_solver(str(error))) from error
        solution = recipe.solve(
            problem,
            self.n_components,
            random_state=self._generator(),
            callback=self._report,
            deadline=deadline.part(SOLVER_SHARE),
        )
        ending = missed_tolerance(solution, recipe.solver, self.target is not None)
        self.solution_ = solution
        self.clusters_ = clusters_of(solution)
        self.mu_ = solution.mu
        self.gap_ = solution.gap
        self.n_iter_ = max(1, solution.n_iter)
        return ending

    def _recipe(self, problem: Problem) -> tuple[Recipe, str]:
        """Return the steps that the parameters describe, and why these are the candidates."""
        solver = as_solver(self.solver, self.loss, self.tol, self.max_seconds)
        candidates, reason = as_candidates(self.candidates, problem, self.n_components, solver)
        denoising = None
        is_plain = isinstance(problem.loss, Squared) and problem.target is None
        if self.denoise and problem.D is not None and is_plain:
            denoising = Denoising(int(self.n_components))
        recipe = Recipe(
            solver=solver,
            denoising=denoising,
            candidates=candidates,
            mu=as_mu(self.mu),
            smooth=float(self.smooth),
        )
        return recipe, reason

    def _gather_groups(
        self, points: Array, pixels: Array, sample_weight: Array | None, deadline: Deadline
    ) -> Array:
        """Store the groups of the selected pixels; return these pixels, or averages."""
        self.spread_ = None
        self.group_counts_ = None
        self.variability_ = None
        self.alike_ = ()
        self.left_aside_ = ()
        if self.dictionary is not None:
            self.groups_ = atoms_alike(self.solution_, self.indices_)
            return pixels
        # the shares of all points, and what follows from them
        if not affords_fits(deadline, 2, pixels.T, points.T):
            return self._without_groups(pixels, deadline)
        if self.smooth > 0:
            support = self.solution_.support
            rows = Evidence.of(self.solution_).points[support]
            gates = self.solution_.diagonal[support]
            groups = open_groups(points.T, self.indices_, rows, gates)
        else:
            groups = groups_of_present(points.T, self.indices_, sample_weight)
        self.groups_ = groups.members
        self.alike_ = groups.alike
        self.left_aside_ = groups.left_aside
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

    def _atoms(self, points: Array) -> Array:
        if self.dictionary is None:
            return points
        return as_atoms(self.dictionary, points.shape[1])

    def _report(self, progress: Progress) -> Any:
        if self.verbose:
            print(
                f"[FGNSR] {progress.iteration:5d}: "
                f"objective {progress.objective:.6g}, gap {progress.gap:.1e}, "
                f"{progress.n_active} active, {progress.seconds:.1f} s"
            )
        if self.callback is None:
            return None
        return self.callback(progress)
