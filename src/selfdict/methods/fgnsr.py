"""FGNSR: solve the model, select points from the solution, and gather their groups."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array, as_matrix
from selfdict.abundances import Variability
from selfdict.abundances.least_squares import affords_fits
from selfdict.compute.deadline import Announcer, Deadline
from selfdict.kernels.columns import column_norms
from selfdict.methods.base import Method, selected_rows
from selfdict.model.losses import Loss, Squared, as_loss
from selfdict.model.problem import Problem, Target, jitter
from selfdict.model.solution import Callback, Progress, Solution, Status
from selfdict.peers import Clusters
from selfdict.readout import (
    Kind,
    Proof,
    groups_of_present,
    open_groups,
    prove_groups,
    select_indices,
)
from selfdict.readout.proof import groups_of_rows
from selfdict.readout.selection import Evidence, atoms_alike, select_from
from selfdict.reductions import Candidates, Denoising
from selfdict.reductions.automatic import choose_by_samples, choose_penalty
from selfdict.solvers import FastGradient, Feature, Solver, WorkingSet

# parts of a time limit: for the solver, and of what is left then, for the choice of points
SOLVER_SHARE = 0.5
CHOICE_SHARE = 0.8


@dataclass(eq=False, repr=False, kw_only=True)
class FGNSRMethod(Method):
    """FGNSR; see :class:`selfdict.FGNSR` for its parameters and what it finds."""

    dictionary: ArrayLike | None = None
    solver: str | Solver = "auto"
    candidates: int | str | Candidates | None = "auto"
    loss: Loss | str = "squared"
    denoise: bool = True
    mu: str | float = "auto"
    smooth: float = 0.0
    target: Target | None = None
    postprocess: str = "auto"
    tol: float | None = None
    max_seconds: float | None = None
    endmembers: str = "pixels"
    verbose: bool | None = None
    callback: Callback | None = None

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
        return select_indices(self.solution_, r, self.postprocess)

    def prove(self, *, tol: float = 1e-6, max_seconds: float | None = None) -> Proof:
        """Prove how close ``groups_`` alone come to the optimum, and what leaving one out costs.

        With ``candidates`` the statements are about the representatives: each group consists of
        those of its rows that are representatives, or of the nearest one.

        Parameters
        ----------
        tol : float
            The gap to which the model is solved for this; a smaller one closes more rows.
        max_seconds : float, optional
            Time limit; what is not proven by then stays unproven.

        Returns
        -------
        Proof
            See :func:`selfdict.prove_groups`.
        """
        self._check_fitted()
        groups = groups_of_rows(self.solution_, self.groups_)
        return prove_groups(self.solution_, groups, tol=tol, max_seconds=max_seconds)

    def _choose(self, points: Array, atoms: Array, sample_weight: Array | None) -> Array:
        """Solve the model, select the points and gather their groups; return the components."""
        if self.dictionary is not None and self.endmembers == "average":
            raise InputError(
                "endmembers='average' cannot be combined with a dictionary; use 'pixels'"
            )
        deadline = Deadline(self.max_seconds)
        with Announcer("FGNSR", self.verbose) as announcer:
            announcer.step("solving the model")
            self.solution_ = self._solve(points, atoms, sample_weight, deadline)
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
        self.mu_ = self.solution_.mu
        self.gap_ = self.solution_.gap
        self.n_iter_ = max(1, self.solution_.n_iter)
        self.skipped_ = tuple(deadline.skipped)
        self._warn_of_an_early_end()
        return components

    def _solve(
        self, points: Array, atoms: Array, sample_weight: Array | None, deadline: Deadline
    ) -> Solution:
        """Return the solution of the model, reduced as the parameters say."""
        M = points.T
        D = None
        if self.dictionary is not None:
            D = atoms.T
        w = None
        if sample_weight is not None:
            # a point without weight is absent: it explains no other point
            w = np.where(sample_weight > 0, column_norms(M, np.float64), 0.0)
        mu = None
        if not isinstance(self.mu, str):
            mu = float(self.mu)
        problem = Problem(
            M, mu, D=D, w=w, sample_weight=sample_weight, loss=self.loss, target=self.target
        )
        solver = as_solver(self.solver, self.loss, self.tol, self.max_seconds)
        self.solver_ = solver
        candidates, self.candidates_reason_ = _as_candidates(
            self.candidates, problem, self.n_components, solver
        )
        _check(problem, solver, candidates, self.smooth)
        deadline = deadline.part(SOLVER_SHARE)
        noisy = problem
        is_plain = isinstance(problem.loss, Squared) and self.target is None
        if self.denoise and D is not None and is_plain:
            problem = Denoising(int(self.n_components)).reduce(problem)
        self.clusters_: Clusters | None = None
        if candidates is not None:
            self.clusters_ = candidates.cluster(noisy)
            problem = candidates.reduce_to(problem, self.clusters_)
        problem = problem.changed(p=jitter(problem.n_atoms, self._generator()))
        if mu is None:
            mu = choose_penalty(problem, self.n_components, deadline)
        problem = problem.changed(mu=mu, smooth=float(self.smooth) * mu)
        if deadline.left is not None:
            solver = _with_settings(solver, max_seconds=deadline.left)
        return solver.solve(problem, callback=self._report)

    def _gather_groups(
        self, points: Array, pixels: Array, sample_weight: Array | None, deadline: Deadline
    ) -> Array:
        """Store the groups of the selected pixels; return these pixels, or averages."""
        self.spread_: Array | None = None
        self.group_counts_: Array | None = None
        self.variability_: Variability | None = None
        self.alike_: tuple[tuple[int, ...], ...] = ()
        self.left_aside_: tuple[Kind, ...] = ()
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
        atoms = as_matrix(self.dictionary, "dictionary")
        if atoms.shape[1] != points.shape[1]:
            raise InputError(
                f"the dictionary must have {points.shape[1]} features like X, got {atoms.shape[1]}"
            )
        return atoms

    def _warn_of_an_early_end(self) -> None:
        """Warn if the solver ended above its tolerance or off its target, or if time was short."""
        sentences = []
        solution = self.solution_
        tol = getattr(self.solver_, "tol", 0.0)
        is_done = solution.status in (Status.CONVERGED, Status.EXACT)
        missed_target = self.target is not None and not is_done
        if tol > 0 and (solution.gap > tol or missed_target):
            sentences.append(
                f"{solution.status} The certified gap is {solution.gap:.1e}, tol is {tol:g}."
            )
        if self.skipped_:
            sentences.append(f"Because of the time limit, {'; '.join(self.skipped_)}.")
        if sentences:
            # Imported here: scikit-learn takes half a second.
            from sklearn.exceptions import ConvergenceWarning

            warn_caller(" ".join(sentences), ConvergenceWarning)

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


def as_solver(
    solver: str | Solver, loss: Loss | str, tol: float | None, max_seconds: float | None
) -> Solver:
    """Return the solver object; ``tol`` and ``max_seconds`` replace its own if given."""
    if solver == "auto":
        solver = WorkingSet()
        if not as_loss(loss).quadratic:
            solver = FastGradient()
    if isinstance(solver, str):
        if solver not in Solver.registered:
            names = ", ".join(["auto", *Solver.registered])
            raise InputError(f"solver must be one of {names}, or a Solver, got {solver!r}")
        solver = Solver.registered[solver]()
    return _with_settings(solver, tol=tol, max_seconds=max_seconds)


def _with_settings(solver: Solver, **settings: float | None) -> Solver:
    """Return the solver with settings in place of its own, except for those that are None."""
    for name, value in settings.items():
        if value is None:
            continue
        if not hasattr(solver, name):
            raise InputError(
                f"the solver {solver.name} has no setting {name}, got {name}={value!r}"
            )
        solver = replace(solver, **{name: value})  # type: ignore[type-var]  # all are dataclasses
    return solver


def _as_candidates(
    candidates: int | str | Candidates | None, problem: Problem, n_components: int, solver: Solver
) -> tuple[Candidates | None, str]:
    """Return the reduction that a number of clusters, or "auto", stands for, and why."""
    if candidates is None:
        return None, "All points are candidates, as asked for."
    if candidates != "auto":
        if not isinstance(candidates, Candidates):
            candidates = Candidates(int(candidates))
        n_clusters = candidates.n_clusters
        return candidates, f"{n_clusters} cluster representatives are the candidates, as asked for."
    is_plain = problem.D is None and not problem.is_sparse and isinstance(problem.loss, Squared)
    if not is_plain or not isinstance(solver, WorkingSet):
        return None, (
            "All points are candidates: only dense data, the squared loss and the solver "
            "working_set are reduced by default."
        )
    choice = choose_by_samples(problem, n_components, solver.max_seconds)
    if choice.n_clusters is None:
        return None, choice.reason
    return Candidates(choice.n_clusters), choice.reason


def _check(problem: Problem, solver: Solver, candidates: Candidates | None, smooth: float) -> None:
    """Refuse before any work what the reduced problem will ask of the solver."""
    asked = solver.asked(problem)
    n_points = problem.n_points
    n_atoms = problem.n_atoms
    if smooth > 0:
        asked |= {Feature.SMOOTH}
    if candidates is not None:
        candidates.check(problem)
        asked |= {Feature.SAMPLE_WEIGHT}
        n_points = min(n_points, candidates.n_clusters)
        if problem.D is None:
            n_atoms = n_points
    solver.check_features(asked, max(n_points, n_atoms))
