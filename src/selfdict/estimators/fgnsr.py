"""FGNSR as a scikit-learn estimator."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.abundances import Variability
from selfdict.abundances.nnls import affords_fits
from selfdict.compute.deadline import Announcer, Deadline
from selfdict.estimators.base import SelfDictionaryEstimator
from selfdict.estimators.checks import selected_rows
from selfdict.estimators.settings import (
    as_atoms,
    as_candidates,
    as_mu,
    as_solver,
    clusters_of,
    in_words_of_solver,
    missed_tolerance,
    solver_class,
    warn_of_an_early_end,
)
from selfdict.kernels.columns import column_norms
from selfdict.model.features import Feature, UnsupportedError
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


class FGNSR(SelfDictionaryEstimator):
    """Select the points whose cone contains all the others, by nonnegative sparse regression.

    Model (6) of the paper, min ½‖M − MX‖_F² + μ pᵀdiag(X) over X ∈ Ω, is solved to a certified gap,
    and the points are selected from X. The data may contain negative entries. With a
    ``dictionary``, its atoms are selected instead: those whose cone is closest to all points.

    Parameters
    ----------
    n_components : int, default=2
        How many points, or atoms, to select.
    dictionary : (n_atoms, n_features) array_like, optional
        Rows to select from instead of the points themselves, such as the spectra of a library.
    solver : {"auto", "working_set", "fast_gradient", "conic"} or Solver, default="auto"
        "auto" is "working_set", or "fast_gradient" for a loss that is not quadratic. A name stands
        for the default settings; an object carries its own, such as ``WorkingSet(device="cuda")``.
        "fast_gradient" and "conic" suit few points, or ``candidates``.
    candidates : "auto", int, Candidates or None, default="auto"
        Solve the model on the representatives of this many clusters only (H2NMF): 100 and 500 are
        FGNSR-100 and FGNSR-500 of the paper. None: on all points. "auto": on all points if that is
        predicted to take at most a minute (about 340,000 points of 162 features for six
        components), or 0.4 of a time limit, else on 500 representatives. It is None for sparse
        data, with a ``dictionary``, and for other solvers and losses than the default. With a
        ``dictionary`` the representatives stand for the points only; all atoms may be selected.
    loss : "squared" or Loss, default="squared"
        What replaces ½‖M − MX‖_F²: :class:`selfdict.Weighted` (known variances) for every solver;
        :class:`selfdict.Huber` and losses of your own for "fast_gradient".
    denoise : bool, default=True
        With a ``dictionary``, the squared loss and no ``target``: solve the model for denoised data
        (:class:`selfdict.Denoising`). Without a dictionary the data are used as given.
    mu : "auto" or float, default="auto"
        The penalty; "auto" is :func:`selfdict.mu_heuristic`, or for denoised data the noise left.
    smooth : float, default=0.0
        The weight ν of the quadratic term in the penalty μ pᵀt + ½ν Σ t_i², t = diag(X), in units
        of μ: nearly identical points then share their weight, see :doc:`/smooth`.
    target : ("residual", eps) or ("trace", value), optional
        Steer the penalty until ‖M − MX‖_F is ``eps``, or the trace of X (the sum of the gates) is
        ``value``.
    postprocess : {"auto", "diagonal", "spa", "clusters", "exchange"}, default="auto"
        How points are selected from X: see :func:`selfdict.select_indices`.
    tol : float, optional
        The certified relative gap at which the solver may stop; by default 1e-3.
    max_seconds : float, optional
        Time limit of the solver, which gets half of it, and of the choice of points. The best
        solution and the best choice so far are used; ``skipped_`` and a warning say what was left
        out. Clusters and abundances are always computed.
    random_state : int, Generator or None, default=None
        Seed of the vector p = 1 + 0.01(u − ½), u uniform, which separates duplicates. None is the
        seed 0, so the same data give the same points.
    endmembers : {"pixels", "average"}, default="pixels"
        What ``components_`` are: the selected points themselves, or averages over their groups,
        which carry less noise (see :func:`selfdict.pure_groups`). Not with a ``dictionary``.
    verbose : bool or None, default=None
        Print every step and the solver's progress; None: one line on stderr if the fit takes longer
        than ten seconds; False: nothing.
    callback : callable, optional
        Called with the solver's :class:`~selfdict.model.Progress`; the solver stops if it returns a
        true value.

    Attributes
    ----------
    indices_ : (n_components,) ndarray of int
        The selected rows of the training data, or of the dictionary.
    components_ : (n_components, n_features) ndarray
        These rows, ``X[indices_]`` or ``dictionary[indices_]``; or the averages of their groups.
    groups_ : tuple of n_components ndarrays of int
        Disjoint groups of nearly pure rows of the training data, each with the selected one first;
        with ``smooth``, all open rows, each in the group of the selected row nearest to it; with a
        ``dictionary``, the atoms of the support that look like each selected one.
    spread_ : (n_components, n_features) ndarray or None
        How the points of each group vary in each feature, for averages.
    group_counts_ : (n_components,) ndarray of int or None
        How many points were averaged, for averages.
    alike_ : tuple of tuples of int
        Components that differ by less than the points of their groups do, such as (0, 2): they may
        stand for the same material, and their shares may be added.
    left_aside_ : tuple of Kind
        With ``smooth``: kinds of open rows that are like none of the selected ones; they are in
        ``groups_``, but in no average.
    variability_ : Variability or None
        How the points of each group differ from its component, for the standard errors of shares;
        None with a ``dictionary``.
    reconstruction_err_ : float
        ``min ‖X − H components_‖_F / ‖X‖_F`` over H ≥ 0; with ``sample_weight``, weighted.
    solver_ : Solver
        The solver that was used, with its settings.
    solution_ : Solution
        The solution of the model, with its problem; with ``candidates``, for the representatives:
        :func:`selfdict.lift` makes it one for all points. With a ``dictionary``, ``diagonal`` holds
        the gates of its atoms. With ``denoise`` it is one for the denoised data.
    mu_, gap_ : float
        The penalty at the end, and the certified relative gap.
    n_iter_ : int
        Iterations of the solver.
    skipped_ : tuple of str
        What was left out because of ``max_seconds``.
    candidates_reason_ : str
        Which points were the candidates, and why.
    clusters_ : Clusters or None
        The clusters, with ``candidates``; with ``sample_weight`` their sizes are the sums of the
        weights of their points.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Examples
    --------
    >>> from selfdict import FGNSR
    >>> from selfdict.datasets import make_mixtures
    >>> M, H, pure = make_mixtures(30, 200, 4, random_state=0)
    >>> model = FGNSR(4, random_state=0).fit(M.T)
    >>> sorted(model.indices_.tolist()) == sorted(pure.tolist())
    True
    >>> model.gap_ <= 1e-3
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SelfDictionaryEstimator._parameter_constraints,
        "dictionary": [None, "array-like"],
        "solver": [str, Solver],  # any registered name, also one of the user's own
        "candidates": [
            None,
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Candidates,
        ],
        "loss": [StrOptions({"squared"}), Loss],
        "denoise": ["boolean"],
        "mu": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "smooth": [Interval(Real, 0, None, closed="left")],
        "target": [None, tuple, list],
        "postprocess": [StrOptions({"auto", "diagonal", "spa", "clusters", "exchange"})],
        "tol": [None, Interval(Real, 0, None, closed="left")],
        "max_seconds": [None, Interval(Real, 0, None, closed="left")],
        "endmembers": [StrOptions({"pixels", "average"})],
        "verbose": ["boolean", None],
        "callback": [None, callable],
    }

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

    def fit(self, X: ArrayLike, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the model and select the points.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            The data, one point per row. It is kept, not copied, in ``solution_.problem``.
        y : None
            Not used.
        sample_weight : (n_samples,) array_like, optional
            How many points each row stands for, in every squared error; ones by default.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(
        self, X: ArrayLike, y: None = None, sample_weight: ArrayLike | None = None
    ) -> Array:
        """Return the abundances of ``X``, as ``fit(X, sample_weight=…).transform(X)`` does.

        Parameters
        ----------
        X, y, sample_weight
            See :meth:`fit`.

        Returns
        -------
        (n_samples, n_components) ndarray
        """
        return self._fit(X, sample_weight)

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
        check_is_fitted(self)
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
        check_is_fitted(self)
        groups = groups_of_rows(self.solution_, self.groups_)
        return prove_groups(self.solution_, groups, tol=tol, max_seconds=max_seconds, budget=budget)

    def _choose(self, points: Array, atoms: Array, sample_weight: Array | None) -> Array:
        """Solve the model, select the points and gather their groups; return the components."""
        if self.dictionary is not None and self.endmembers == "average":
            raise InputError("averages are of points: they do not go with a dictionary")
        deadline = Deadline(self.max_seconds)
        with Announcer(type(self).__name__, self.verbose) as announcer:
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

    def _variability(self) -> Variability | None:
        return self.variability_

    def _components_are_points(self) -> bool:
        # averages have the brightness of their group, spectra of a dictionary their own
        return self.dictionary is None and self.endmembers == "pixels"

    def _atoms(self, points: Array) -> Array:
        if self.dictionary is None:
            return points
        return as_atoms(self.dictionary, points.shape[1])

    def _takes_sparse(self) -> bool:
        is_squared = isinstance(self.loss, Squared) or self.loss == "squared"
        is_known = isinstance(self.solver, Solver) or self.solver in ("auto", *Solver.registered)
        is_whole = self.candidates in (None, "auto") and self.dictionary is None
        # fit refuses a solver that is not known
        if not (is_squared and is_known and is_whole):
            return False
        return Feature.SPARSE in solver_class(self.solver, self.loss).takes

    def _report(self, progress: Progress) -> Any:
        if self.verbose:
            print(
                f"[{type(self).__name__}] {progress.iteration:5d}: "
                f"objective {progress.objective:.6g}, gap {progress.gap:.1e}, "
                f"{progress.n_active} active, {progress.seconds:.1f} s"
            )
        if self.callback is None:
            return None
        return self.callback(progress)
