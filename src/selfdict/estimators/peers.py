"""The methods the paper compares with, as scikit-learn estimators."""

from selfdict.estimators.base import SelfDictionaryEstimator
from selfdict.methods.base import H2NMFMethod, SNPAMethod, SPAMethod, VCAMethod, XRAYMethod


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
        All of it: labels, representatives, sizes and tree.

    Examples
    --------
    >>> from selfdict import H2NMF
    >>> X = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.1, 0.6]]
    >>> H2NMF(2).fit(X).labels_
    array([0, 1, 0])
    """

    def _takes_sparse(self) -> bool:
        return False
