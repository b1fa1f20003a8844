"""FGNSR as a scikit-learn estimator."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_rank
from selfdict.estimators.base import SelfDictionaryEstimator
from selfdict.model.losses import Loss, Squared, as_loss
from selfdict.model.omega import column_norms
from selfdict.model.problem import Target, jitter
from selfdict.model.solution import Callback, Progress, Solution, Status
from selfdict.peers import Clusters, h2nmf
from selfdict.readout import Bundles, bundles, select_indices
from selfdict.reductions import compress, denoise
from selfdict.reductions.compression import original
from selfdict.solvers import conic, fast_gradient, mu_heuristic, working_set

DIRECTIONS = (
    32  # more than n_components in which sparse points are compared when they are read out of X
)


class FGNSR(SelfDictionaryEstimator):
    """Select the points whose cone contains all the others, by nonnegative sparse regression with self dictionary.

    Model (6) of the paper, min ½‖M − MX‖_F² + μ pᵀdiag(X) over X ∈ Ω, is solved to a certified gap,
    and the points are read out of X. X may contain negative entries. With a ``dictionary`` the
    atoms of that are selected: those whose cone comes nearest to all the points.

    Parameters
    ----------
    n_components : int, default=2
        How many points, or atoms, to select.
    dictionary : (n_atoms, n_features) array_like, optional
        Rows to select from instead of the points themselves, such as the spectra of a library.
    solver : {"working_set", "fast_gradient", "conic"}, default="working_set"
        How the model is solved: see :func:`selfdict.working_set`, :func:`selfdict.fast_gradient`
        and :func:`selfdict.conic`. The latter two suit few points, or ``candidates``.
    candidates : int, optional
        Solve the model on so many cluster representatives only (H2NMF): 100 and 500 are FGNSR-100
        and FGNSR-500 of the paper. By default on all points. With a ``dictionary`` the
        representatives stand for the points only, and all atoms may be selected.
    weights : {"scaled", "residual"}, default="scaled"
        How the sizes of the clusters enter, with ``candidates``. ``"scaled"``: each representative
        times the root of its cluster's size, with all weights of Ω one, as in the authors' program.
        ``"residual"``: as weights of the residuals, as in the text of the paper; with a
        ``dictionary`` they always enter so.
    loss : "squared" or Loss, default="squared"
        What stands for ½‖M − MX‖_F². :class:`selfdict.Weighted` (known variances) goes with every
        solver, :class:`selfdict.Huber` and other losses with ``solver="fast_gradient"``.
    denoise : "auto", int or None, default="auto"
        Solve the model for the best approximation of the data of this rank, and select by the fit
        to that: see :func:`selfdict.denoise`. "auto" is the number of atoms sought where there are
        a ``dictionary``, the squared loss and no ``target``, and None, the data as they are,
        otherwise.
    compress : int, optional
        Solve the model on so many directions of the features (or on all, if these are fewer): see
        :func:`selfdict.compress`. The weights of Ω, the points, abundances and errors are those of
        the whole data.
    compression : {"svd", "gaussian", "srht"}, default="svd"
        How the directions are chosen, with ``compress``.
    mu : "auto" or float, default="auto"
        The penalty; "auto" is the paper's heuristic, :func:`selfdict.mu_heuristic`, or for a
        ``dictionary`` and denoised data the noise left, :func:`selfdict.denoise`.
    target : ("residual", eps) or ("trace", value), optional
        Steer the penalty until ‖M − MX‖_F is ``eps``, or the trace of X (the sum of the gates) is
        ``value``.
    postprocess : {"auto", "diagonal", "spa", "clusters", "exchange"}, default="auto"
        How points are read out of X: see :func:`selfdict.select_indices`. For sparse data, which is
        compared in its leading directions for that, "auto" means "diagonal".
    tol : float, default=1e-3
        The certified relative gap at which the solver may stop.
    max_iter : int, default=1000
        Iteration limit of ``fast_gradient``.
    max_seconds : float, optional
        Time limit of the solver; the best point so far is used, with its true gap.
    random_state : int, Generator or None, default=None
        Seed of the vector p = 1 + 0.01(u − ½), u uniform, which tells duplicates apart.
    device : {None, "cpu", "cuda"}, default=None
        Where the model is solved, for all solvers but "conic"; see :doc:`/gpu`.
    verbose : bool, default=False
        Print the solver's progress.
    callback : callable, optional
        Called with the solver's :class:`~selfdict.model.Progress`; a true result stops it.

    Attributes
    ----------
    indices_ : (n_components,) ndarray of int
        The selected rows of the training data, or of the dictionary.
    components_ : (n_components, n_features) ndarray
        These rows, ``X[indices_]`` or ``dictionary[indices_]``.
    reconstruction_err_ : float
        ``min ‖X − H components_‖_F / ‖X‖_F`` over H ≥ 0.
    solution_ : Solution
        The solution of the model; with ``candidates``, for the representatives. With a
        ``dictionary``, ``diagonal`` holds the gates of its atoms. With ``denoise`` it is one for
        the denoised data. With ``compress``, its objective is that of the uncompressed data, and
        its bound holds for these.
    mu_, gap_ : float
        The penalty at the end, and the certified relative gap. With ``compress`` it stays large
        where much of the data lies outside the directions.
    compressed_gap_ : float or None
        The gap of the compressed problem, with ``compress``.
    n_iter_ : int
        Iterations of the solver.
    clusters_ : Clusters or None
        The clusters, with ``candidates``; with ``sample_weight`` their sizes are the weights of
        their points in units of their representative's.
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
        "solver": [StrOptions({"working_set", "fast_gradient", "conic"})],
        "candidates": [None, Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"scaled", "residual"})],
        "loss": [StrOptions({"squared"}), Loss],
        "denoise": [None, StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "compress": [None, Interval(Integral, 1, None, closed="left")],
        "compression": [StrOptions({"svd", "gaussian", "srht"})],
        "mu": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "target": [None, tuple, list],
        "postprocess": [StrOptions({"auto", "diagonal", "spa", "clusters", "exchange"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "max_seconds": [None, Interval(Real, 0, None, closed="left")],
        "device": [None, str],
        "verbose": ["boolean"],
        "callback": [None, callable],
    }

    _fit_M: Array
    _fit_D: Array | None
    solution_: Solution
    mu_: float
    gap_: float
    n_iter_: int
    clusters_: Clusters | None
    compressed_gap_: float | None

    def __init__(
        self,
        n_components: int = 2,
        *,
        dictionary: ArrayLike | None = None,
        solver: str = "working_set",
        candidates: int | None = None,
        weights: str = "scaled",
        loss: Loss | str = "squared",
        denoise: str | int | None = "auto",
        compress: int | None = None,
        compression: str = "svd",
        mu: str | float = "auto",
        target: Target | None = None,
        postprocess: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str | None = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(n_components, random_state=random_state)
        self.dictionary = dictionary
        self.solver = solver
        self.candidates = candidates
        self.weights = weights
        self.loss = loss
        self.denoise = denoise
        self.compress = compress
        self.compression = compression
        self.mu = mu
        self.target = target
        self.postprocess = postprocess
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.device = device
        self.verbose = verbose
        self.callback = callback

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
        if self._fit_D is None:
            as_rank(r, self._fit_M.shape[1])
        method = "diagonal" if self._fit_sparse and self.postprocess == "auto" else self.postprocess
        M, _ = self._denoised(self._fit_M, r)
        return select_indices(self.solution_, r, M, method, clusters=self.clusters_, D=self._fit_D)

    def bundles(self, r: int | None = None, *, radius: float = 0.5) -> Bundles:
        """Return the points, or atoms, of the support around each selected one, for materials that vary.

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
        K = self.indices_ if r is None else self.select(r)
        if self._fit_D is not None:
            return bundles(self.solution_, K, self._fit_D, radius=radius)
        return bundles(self.solution_, K, self._fit_M, radius=radius, clusters=self.clusters_)

    def fit(self, X: ArrayLike, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the model and select the points.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            The data, one point a row. It is kept, not copied, for :meth:`select` and
            :meth:`bundles`; of sparse data, its leading directions are kept.
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
        """Select the points and return the abundances of ``X``, as ``fit(X, y, sample_weight).transform(X)`` does.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            The data, one point a row.
        y : None
            Not used.
        sample_weight : (n_samples,) array_like, optional
            How many points each row stands for; the abundances of a row do not depend on it.

        Returns
        -------
        (n_samples, n_components) ndarray
        """
        abundances = self._fit(X, sample_weight)
        return abundances if sample_weight is None else self.transform(X)

    def _atoms(self, points: Array) -> Array:
        self._fit_D = None
        if self.dictionary is None:
            return points
        atoms: Array = check_array(self.dictionary, dtype=points.dtype, input_name="dictionary")
        if atoms.shape[1] != points.shape[1]:
            raise InputError(
                f"the dictionary has {atoms.shape[1]} features, X has {points.shape[1]}"
            )
        self._fit_D = atoms.T
        return atoms

    def _select(self, M: Array) -> Array:
        self._fit_M, self._fit_sparse, self.compressed_gap_ = M, issparse(M), None
        self.clusters_ = (
            None if self.candidates is None else h2nmf(M, min(self.candidates, M.shape[1]))
        )
        if self.clusters_ is not None and self._weight is not None:
            total, own = (
                np.bincount(self.clusters_.labels, self._weight),
                self._weight[self.clusters_.indices],
            )
            # in units of the representative's own weight, which M has already; without weight it
            # stays at zero
            self.clusters_ = replace(self.clusters_, sizes=total / np.where(own > 0, own, 1.0))
        loss = as_loss(self.loss)
        if self._weight is not None and not loss.quadratic:
            raise InputError(f"sample_weight scales the points, which changes what {loss!r} means")
        model: dict[str, Any] = {"D": self._fit_D, "loss": loss}
        M, mu = self._denoised(M, self.n_components)
        if self.clusters_ is not None:
            M, sizes = M[:, self.clusters_.indices], self.clusters_.sizes
            model["loss"] = loss.take(self.clusters_.indices)
            if self.weights == "scaled" and self._fit_D is None:
                if not loss.quadratic:
                    raise InputError(
                        f'scaled points change what {loss!r} means: give weights="residual"'
                    )
                M = M * np.sqrt(sizes).astype(M.dtype)
                model["w"] = np.where(np.abs(M).any(axis=0), 1.0, 0.0)
            else:
                model["sample_weight"] = sizes
        n_atoms = (M if self._fit_D is None else self._fit_D).shape[1]
        rng = as_generator(self.random_state)
        model["p"] = jitter(n_atoms, rng)
        if self.compress is None:
            self.solution_ = self._solve(M, model, mu)
            if self._fit_sparse:
                self._fit_M = compress(M, min(self.n_components + DIRECTIONS, M.shape[0])).data
        else:
            self._solve_compressed(M, model, rng)
        self.mu_, self.gap_, self.n_iter_ = (
            self.solution_.mu,
            self.solution_.gap,
            max(1, self.solution_.n_iter),
        )
        if self.tol > 0 and self.solution_.status is Status.MAX_ITER:
            warnings.warn(
                f"{self.solution_.status} The gap is {self.gap_:.1e}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self.select(self.n_components)

    def _denoised(self, M: Array, r: int) -> tuple[Array, float | None]:
        """Return the data that the model is solved for, and its penalty if that follows from the noise."""
        rank = self.denoise
        if rank == "auto":
            squared = isinstance(as_loss(self.loss), Squared)
            rank = r if self._fit_D is not None and squared and self.target is None else None
        if rank is None:
            return M, None
        data, _, mu = denoise(M, min(int(rank), *M.shape))
        return data, None if self._fit_D is None else mu

    def _solve_compressed(self, M: Array, model: dict[str, Any], rng: np.random.Generator) -> None:
        """Solve for fewer features; what is kept is the solution as one of all of them."""
        if self._fit_D is not None or not isinstance(model["loss"], Squared):
            raise InputError(
                "compress takes no dictionary, and no loss but the squared one, which rotations keep"
            )
        small = compress(M, min(int(self.compress or 1), M.shape[0]), self.compression, rng)
        solution = self._solve(small.data, {"w": column_norms(M), **model})
        self.compressed_gap_, self.solution_ = solution.gap, original(M, solution, small)
        if self._fit_sparse:
            self._fit_M = small.data

    def _takes_sparse(self) -> bool:
        dense = (
            self.candidates is not None
            or self.dictionary is not None
            or self.denoise not in (None, "auto")
        )
        if dense or not isinstance(as_loss(self.loss), Squared):
            return False
        return self.compress is not None or self.solver == "working_set"

    def _solve(self, M: Array, model: dict[str, Any], mu: float | None = None) -> Solution:
        """Solve the model; ``mu`` stands for "auto" instead of the heuristic."""
        rank = min(self.n_components, len(model["p"]))
        if self.mu != "auto":
            mu = float(self.mu)
        elif mu is None:
            heuristic = {key: model[key] for key in ("sample_weight", "loss", "D") if key in model}
            mu = mu_heuristic(M, rank, model["p"], **heuristic)
        if self.solver == "conic":
            if self.device not in (None, "cpu"):
                raise InputError(
                    f"the conic solver knows the CPU alone, got device={self.device!r}"
                )
            if self.target is None:
                return conic(M, mu=mu, **model)
            if (
                self.target[0] != "residual"
                or "sample_weight" in model
                or self.compress is not None
            ):
                raise InputError(
                    'the conic solver takes no target but ("residual", eps), without weighted residuals or compression'
                )
            return conic(M, epsilon=self.target[1], **model)
        model |= dict(
            target=self.target, tol=self.tol, max_seconds=self.max_seconds, callback=self._report
        )
        model["device"] = self.device
        if self.solver == "fast_gradient":
            return fast_gradient(M, mu, max_iter=self.max_iter, **model)
        return working_set(M, mu, **model)

    def _report(self, progress: Progress) -> Any:
        if self.verbose:
            print(
                f"[{type(self).__name__}] {progress.iteration:5d}: objective {progress.objective:.6g}, "
                f"gap {progress.gap:.1e}, {progress.n_active} active, {progress.seconds:.1f} s"
            )
        return self.callback(progress) if self.callback is not None else None
