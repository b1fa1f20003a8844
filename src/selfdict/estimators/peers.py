"""The methods the paper compares with, as scikit-learn estimators."""

from selfdict._validation import Array
from selfdict.estimators.base import SelfDictionaryEstimator
from selfdict.select import spa


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
        min_{H ≥ 0} ‖X − H components_‖_F / ‖X‖_F.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Examples
    --------
    >>> from selfdict import SPA
    >>> X = [[2.0, 0.0], [0.0, 1.0], [1.0, 0.5]]
    >>> SPA(2).fit(X).indices_
    array([0, 1])
    """

    def _select(self, M: Array) -> Array:
        return spa(M, self.n_components)
