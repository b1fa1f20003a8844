"""The base class of the estimators: points are rows, and the components are some of them."""

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from selfdict._errors import InputError
from selfdict._validation import Array, to_numpy
from selfdict.abundances import Illumination, Variability, column_residuals, nnls, shares
from selfdict.kernels.columns import squared_norms
from selfdict.methods.base import Method
from selfdict.metrics import relative_error


class SelfDictionaryEstimator(
    Method, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of the estimators: a method of scikit-learn, with abundances.

    The class of a method comes before this one, which checks parameters and data for it.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    reconstruction_err_: float
    illumination_: Illumination
    variability_: Variability | None = None  # how points of the same component differ
    n_features_in_: int

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Select the components.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            The data, one point per row.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: ArrayLike, y: None = None, **fit_params: Any) -> Array:
        """Select the components and return the abundances, as ``fit(X).transform(X)`` does.

        Parameters
        ----------
        X, y, **fit_params
            See :meth:`fit`.

        Returns
        -------
        (n_samples, n_components) ndarray
        """
        return self._fit(X, **fit_params)

    def _fit(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """Select the components; return the abundances of the points."""
        points, weight = self.fit_components(X, sample_weight)
        H = nnls(self.components_.T, points.T)
        self.reconstruction_err_ = _weighted_error(points.T, self.components_.T, H, weight)
        self.illumination_ = Illumination.of(
            self.components_.T,
            points.T,
            H=H,
            rescale=self._components_are_points(),
            sample_weight=weight,
        )
        return np.ascontiguousarray(H.T)

    def _components_are_points(self) -> bool:
        """Whether the components are single points, whose brightness is that of one point."""
        return True

    def _checked(self, X: ArrayLike) -> Array:
        self._validate_params()
        return self._validate(X, reset=True)

    def _check_fitted(self) -> None:
        check_is_fitted(self)

    def _validate(self, X: ArrayLike, reset: bool) -> Array:
        accept_sparse: Any = False
        if self._takes_sparse():
            accept_sparse = "csr"
        plain, dtypes = _as_plain(X)
        points: Array = validate_data(
            self, plain, dtype=dtypes, accept_sparse=accept_sparse, reset=reset
        )
        if issparse(points):
            points = csr_array(points)
        return points

    def _takes_sparse(self) -> bool:
        return True

    def transform(self, X: ArrayLike) -> Array:
        """Return the nonnegative abundances: the H ≥ 0 that minimises ``‖X − H components_‖_F``.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            Points as rows.

        Returns
        -------
        (n_samples, n_components) ndarray
            Exact: see :func:`selfdict.nnls`.
        """
        check_is_fitted(self)
        points = self._validate(X, reset=False)
        return np.ascontiguousarray(nnls(self.components_.T.astype(points.dtype), points.T).T)

    @overload
    def shares(self, X: ArrayLike, *, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def shares(self, X: ArrayLike, *, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def shares(self, X: ArrayLike, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the share of each component in each point.

        Rows sum to one, except those of points without any component, which are zero.
        In an image these are parts of the pixel's area. They refer to components at their typical
        brightness: that of the points of ``fit`` that are nearly pure.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            Points as rows.
        return_std : bool
            Also return their standard errors, which follow from the residual of each point, the
            variation of brightness and, if there are groups of points, their spread: see
            :doc:`/answer`.

        Returns
        -------
        shares : (n_samples, n_components) ndarray
            See :func:`selfdict.shares`.
        std : (n_samples, n_components) ndarray
            Only with ``return_std``.
        """
        points, illumination = self._illuminated(X)
        U = illumination.spectra
        if not return_std:
            return np.ascontiguousarray(shares(U, points.T, illumination=illumination).T)
        parts, std = shares(
            U,
            points.T,
            illumination=illumination,
            return_std=True,
            variability=self.variability_,
        )
        return np.ascontiguousarray(parts.T), np.ascontiguousarray(std.T)

    def brightness(self, X: ArrayLike) -> Array:
        """Return the brightness of each point, relative to components at their typical brightness.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            Points as rows.

        Returns
        -------
        (n_samples,) ndarray
            The sum of the coefficients of which :meth:`shares` are the parts; 1 is typical.
        """
        points, illumination = self._illuminated(X)
        return np.asarray(illumination.coefficients(points.T).sum(axis=0))

    def _illuminated(self, X: ArrayLike) -> tuple[Array, Illumination]:
        """Return the points, and the illumination in their dtype."""
        check_is_fitted(self, "illumination_")
        points = self._validate(X, reset=False)
        spectra = self.illumination_.spectra.astype(points.dtype)
        return points, replace(self.illumination_, spectra=spectra)

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Return minus the relative error of the points, fitted by the components.

        It is at most 0; larger is better, as ``GridSearchCV`` and ``cross_val_score`` expect. A
        further component hardly ever raises the error: use :func:`selfdict.advise_rank` to choose
        their number.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            Points as rows; they need not be those of ``fit``.
        y : None
            Not used.

        Returns
        -------
        float
            ``-min ‖X − H components_‖_F / ‖X‖_F`` over H ≥ 0.
        """
        check_is_fitted(self)
        points = self._validate(X, reset=False)
        return -relative_error(points.T, self.components_.T.astype(points.dtype))

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the points that the abundances describe, ``X @ components_``.

        Parameters
        ----------
        X : (n_samples, n_components) array_like
            Abundances.

        Returns
        -------
        (n_samples, n_features) ndarray
        """
        check_is_fitted(self)
        plain, dtypes = _as_plain(X)
        H = check_array(plain, dtype=dtypes)
        if H.shape[1] != len(self.components_):
            raise InputError(
                f"X has {H.shape[1]} columns, expected n_components={len(self.components_)}"
            )
        points: Array = H @ self.components_.astype(H.dtype)
        return points

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _as_plain(X: Any) -> tuple[Any, list[type[np.floating[Any]]]]:
    """Return tensors, lists and tuples as arrays, and the dtypes that the data may keep."""
    X = to_numpy(X)
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, and masked entries cannot be left out one by one: drop these "
            "points or features, or fill them"
        )
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    # scikit-learn takes float64 of another byte order for neither float32 nor float64.
    if isinstance(X, np.ndarray) and not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    # Integers of all sizes and half precision become float32, as everywhere here. What else there
    # is (objects, extended precision, numbers of pandas) becomes float64.
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and (dtype.kind in "biu" or dtype == np.float16):
        return X, [np.float32, np.float64]
    return X, [np.float64, np.float32]


def _weighted_error(M: Array, U: Array, H: Array, weight: Array | None) -> float:
    """Return ‖M − UH‖_F / ‖M‖_F, each squared column times its weight."""
    if weight is None:
        return relative_error(M, U, H)
    whole = float(weight @ squared_norms(M))
    if whole == 0:
        return 0.0
    return float(np.sqrt(weight @ column_residuals(U, M, H) ** 2 / whole))
