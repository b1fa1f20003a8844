"""The estimators: FGNSR, and the methods that the paper compares with."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from selfdict.estimators.base import SelfDictionaryEstimator
from selfdict.methods.base import H2NMFMethod, SNPAMethod, SPAMethod, VCAMethod, XRAYMethod
from selfdict.methods.fgnsr import FGNSRMethod
from selfdict.model.losses import Loss, Squared
from selfdict.reductions import Candidates
from selfdict.solvers import Feature, Solver, WorkingSet


class FGNSR(FGNSRMethod, SelfDictionaryEstimator):
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
        predicted to take at most a minute, or 0.4 of a time limit, else on 500 representatives.
        For many points the prediction comes from the solution of two samples. "auto" is the same
        as None for sparse data, with a ``dictionary``, and for other solvers and losses than the
        default. With a ``dictionary`` the representatives replace the points only; all atoms may
        be selected.
    loss : "squared" or Loss, default="squared"
        The loss in place of ½‖M − MX‖_F²: :class:`selfdict.Weighted` (known variances) with every
        solver; :class:`selfdict.Huber` and other subclasses of :class:`selfdict.Loss` with
        "fast_gradient".
    denoise : bool, default=True
        With a ``dictionary``, the squared loss and no ``target``: solve the model for denoised data
        (:class:`selfdict.Denoising`). Without a dictionary the data are used as given.
    mu : "auto" or float, default="auto"
        The penalty; "auto" is :func:`selfdict.mu_heuristic`, or for denoised data the noise energy
        that is left in one direction.
    smooth : float, default=0.0
        The weight ν of the quadratic term in the penalty μ pᵀt + ½ν Σ t_i², t = diag(X), in units
        of μ: nearly identical points then share their weight, see :doc:`/smooth`.
    target : ("residual", eps) or ("trace", value), optional
        Choose the penalty such that ‖M − MX‖_F is ``eps``, or the trace of X (the sum of the gates)
        is ``value``.
    postprocess : {"auto", "diagonal", "spa", "clusters", "exchange"}, default="auto"
        How points are selected from X: see :func:`selfdict.select_indices`.
    tol : float, optional
        The certified relative gap at which the solver may stop; by default 1e-3.
    max_seconds : float, optional
        Time limit for the solver, which gets half of it, and for the selection of points. The best
        solution and the best selection so far are used; ``skipped_`` and a warning say what was
        left out. Clusters and abundances are always computed.
    random_state : int, Generator or None, default=None
        Seed of the vector p = 1 + 0.01(u − ½), u uniform, which separates duplicates. None means
        the seed 0, so the same data give the same points.
    endmembers : {"pixels", "average"}, default="pixels"
        What ``components_`` are: the selected points themselves, or averages over their groups,
        which carry less noise (see :func:`selfdict.pure_groups`). Not with a ``dictionary``.
    verbose : bool or None, default=None
        True: print every step and the progress of the solver; None: print one line on stderr if the
        fit takes longer than ten seconds; False: print nothing.
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
        With averages, the standard deviation of the points of each group in each feature.
    group_counts_ : (n_components,) ndarray of int or None
        With averages, the number of points averaged.
    alike_ : tuple of tuples of int
        Components that differ by less than the points of their groups do, such as (0, 2): they may
        be the same material, and their shares may be added.
    left_aside_ : tuple of Kind
        With ``smooth``, the open rows that are similar to none of the selected ones, in sets of
        similar rows. They are in ``groups_``, but not averaged.
    variability_ : Variability or None
        How the points of each group differ from its component, for the standard errors of shares;
        None with a ``dictionary``.
    reconstruction_err_ : float
        ``min ‖X − H components_‖_F / ‖X‖_F`` over H ≥ 0; with ``sample_weight``, weighted.
    solver_ : Solver
        The solver that was used, with its settings.
    solution_ : Solution
        The solution of the model, with its problem. With ``candidates`` it is that for the
        representatives; :func:`selfdict.lift` returns one for all points. With a ``dictionary``,
        ``diagonal`` contains the gates of its atoms. With ``denoise`` it is for the denoised data.
    mu_, gap_ : float
        The final penalty, and the certified relative gap.
    n_iter_ : int
        Iterations of the solver.
    skipped_ : tuple of str
        What was left out because of ``max_seconds``.
    candidates_reason_ : str
        Which points were the candidates, and why.
    clusters_ : Clusters or None
        With ``candidates``, the clusters; with ``sample_weight``, their sizes are the sums of the
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

    def _components_are_points(self) -> bool:
        # averages have the brightness of their group, spectra of a dictionary their own
        return self.dictionary is None and self.endmembers == "pixels"

    def _takes_sparse(self) -> bool:
        is_squared = self.loss == "squared" or isinstance(self.loss, Squared)
        is_whole = self.candidates in (None, "auto") and self.dictionary is None
        solver: Any = self.solver
        if isinstance(solver, str):
            solver = Solver.registered.get(solver, WorkingSet)  # fit refuses an unknown name
        return is_squared and is_whole and Feature.SPARSE in solver.takes


class SPA(SPAMethod, SelfDictionaryEstimator):
    """Successive projection algorithm: see :func:`selfdict.spa`.

    Parameters
    ----------
    n_components : int, default=2
        How many points to select.
    random_state : None
        Not used: the method is deterministic.

    Attributes
    ----------
    indices_ : (n_components,) ndarray of int
        The selected rows of the training data, in order of selection.
    components_ : (n_components, n_features) ndarray
        These rows, ``X[indices_]``.
    reconstruction_err_ : float
        ``min ‖X − H components_‖_F / ‖X‖_F`` over H ≥ 0.

    Examples
    --------
    >>> from selfdict import SPA
    >>> X = [[2.0, 0.0], [0.0, 1.0], [1.0, 0.5]]
    >>> SPA(2).fit(X).indices_
    array([0, 1])
    """


class SNPA(SNPAMethod, SelfDictionaryEstimator):
    """Successive nonnegative projection algorithm: see :func:`selfdict.snpa`.

    Parameters
    ----------
    n_components, random_state
        See :class:`selfdict.SPA`.

    Attributes
    ----------
    indices_, components_, reconstruction_err_
        See :class:`selfdict.SPA`.
    """


class XRAY(XRAYMethod, SelfDictionaryEstimator):
    """Extreme rays, variant "max": see :func:`selfdict.xray`.

    Parameters
    ----------
    n_components, random_state
        See :class:`selfdict.SPA`.

    Attributes
    ----------
    indices_, components_, reconstruction_err_
        See :class:`selfdict.SPA`.
    """


class VCA(VCAMethod, SelfDictionaryEstimator):
    """Vertex component analysis: see :func:`selfdict.vca`.

    Parameters
    ----------
    n_components : int, default=2
        How many points to select.
    random_state : int, numpy.random.Generator, RandomState or None
        Seed of the random directions; None is the seed 0.

    Attributes
    ----------
    indices_, components_, reconstruction_err_
        See :class:`selfdict.SPA`.
    """

    def _takes_sparse(self) -> bool:
        return False


class H2NMF(H2NMFMethod, SelfDictionaryEstimator):
    """Hierarchical clustering by rank-two NMF, one point per cluster: see :func:`selfdict.h2nmf`.

    Parameters
    ----------
    n_components, random_state
        See :class:`selfdict.SPA`.

    Attributes
    ----------
    indices_, components_, reconstruction_err_
        See :class:`selfdict.SPA`; ``indices_`` are the rows that represent the clusters.
    labels_ : (n_samples,) ndarray of int
        The cluster of each row.
    clusters_ : Clusters
        The result of :func:`selfdict.h2nmf`: labels, representatives, sizes and tree.

    Examples
    --------
    >>> from selfdict import H2NMF
    >>> X = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.1, 0.6]]
    >>> H2NMF(2).fit(X).labels_
    array([0, 1, 0])
    """

    def _takes_sparse(self) -> bool:
        return False
