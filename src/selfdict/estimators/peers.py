"""The methods the paper compares with, as scikit-learn estimators."""

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.estimators.base import SelfDictionaryEstimator
from selfdict.peers import Clusters, h2nmf, snpa, spa, vca, xray


class SPA(SelfDictionaryEstimator):
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

    _finds_independent = True

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return spa(M, self.n_components)


class SNPA(SelfDictionaryEstimator):
    """Successive nonnegative projection algorithm: see :func:`selfdict.snpa`.

    Parameters
    ----------
    n_components : int, default=2
        How many points to select.
    random_state : None
        Not used: the method is deterministic.

    Attributes
    ----------
    indices_, components_, reconstruction_err_
        See :class:`selfdict.SPA`.
    """

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return snpa(M, self.n_components)


class XRAY(SelfDictionaryEstimator):
    """Extreme rays, variant "max": see :func:`selfdict.xray`.

    Parameters
    ----------
    n_components : int, default=2
        How many points to select.
    random_state : None
        Not used: the method is deterministic.

    Attributes
    ----------
    indices_, components_, reconstruction_err_
        See :class:`selfdict.SPA`.
    """

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return xray(M, self.n_components)


class VCA(SelfDictionaryEstimator):
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

    _finds_independent = True

    def _takes_sparse(self) -> bool:
        return False

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return vca(M, self.n_components, self._generator())


class H2NMF(SelfDictionaryEstimator):
    """Hierarchical clustering by rank-two NMF, one point per cluster: see :func:`selfdict.h2nmf`.

    Parameters
    ----------
    n_components : int, default=2
        How many points to select.
    random_state : None
        Not used: the method is deterministic.

    Attributes
    ----------
    indices_, components_, reconstruction_err_
        See :class:`selfdict.SPA`; ``indices_`` are the rows that represent the clusters.
    labels_ : (n_samples,) ndarray of int
        The cluster of each row.
    clusters_ : Clusters
        All of it: labels, representatives, sizes and tree.

    Examples
    --------
    >>> from selfdict import H2NMF
    >>> X = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.1, 0.6]]
    >>> H2NMF(2).fit(X).labels_
    array([0, 1, 0])
    """

    clusters_: Clusters
    labels_: Array

    def _takes_sparse(self) -> bool:
        return False

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        self.clusters_ = h2nmf(M, self.n_components)
        self.labels_ = self.clusters_.labels
        found = self.clusters_.indices
        if found.size < self.n_components:
            raise InputError(
                f"n_components must be at most {found.size} for this X, got {self.n_components}: "
                "no cluster can be divided further"
            )
        return found
