"""What all estimators share: points come in as rows, and the components are some of these rows."""

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
from selfdict._validation import Array, as_generator, as_vector
from selfdict.abundances import Illumination, Variability, column_residuals, nnls, shares
from selfdict.estimators.checks import (
    as_plain,
    float_dtypes,
    in_estimator_words,
    selected_rows,
    warn_if_centred,
    warn_if_dependent,
    warn_of_too_many,
)
from selfdict.kernels.columns import squared_norms
from selfdict.metrics import relative_error

# of ``random_state=None``: the same data gives the same components in every process
_DEFAULT_SEED = 0


class SelfDictionaryEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators whose components are points of the data itself, or of a dictionary.

    A subclass implements ``_select(M, sample_weight)``: M is (n_features, n_samples), points as
    columns, and the result is the indices of ``n_components`` of them, or of the rows of
    ``_atoms``. Everything else is done here. One whose components are more than these rows
    implements ``_choose`` instead.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    # whether the method finds independent components only, and raises an error for too many
    _finds_independent: ClassVar[bool] = False

    n_components: int
    indices_: Array
    components_: Array
    reconstruction_err_: float
    illumination_: Illumination
    n_features_in_: int

    def __init__(self, n_components: int = 2, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must implement _select")

    def _atoms(self, points: Array) -> Array:
        """Return the rows that the components are chosen from: the points."""
        return points

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

    def fit_transform(self, X: ArrayLike, y: None = None) -> Array:
        """Select the components and return the abundances, as ``fit(X).transform(X)`` does.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            The data, one point per row.
        y : None
            Not used.

        Returns
        -------
        (n_samples, n_components) ndarray
        """
        return self._fit(X)

    def _fit(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """Select the components; return the abundances of the points."""
        points, weight = self.fit_components(X, sample_weight)
        H = nnls(self.components_.T, points.T)
        self.reconstruction_err_ = _weighted_error(points.T, self.components_.T, H, weight)
        self.illumination_ = self._illumination(points, weight, H)
        return np.ascontiguousarray(H.T)

    def _illumination(
        self, points: Array, sample_weight: Array | None, H: Array | None = None
    ) -> Illumination:
        """Return how bright the components and the points are; H is ``nnls`` of the points."""
        return Illumination.of(
            self.components_.T,
            points.T,
            H=H,
            rescale=self._components_are_points(),
            sample_weight=sample_weight,
        )

    def _components_are_points(self) -> bool:
        """Whether the components are single points, whose brightness is that of one point."""
        return True

    def fit_components(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array | None]:
        """Select the components without fitting the points by them.

        ``reconstruction_err_`` is not set.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            The data, one point per row.
        sample_weight : (n_samples,) array_like, optional
            How many points each row stands for; methods other than FGNSR do not use it to select.

        Returns
        -------
        points : (n_samples, n_features) ndarray or sparse array
            The data, checked.
        weight : (n_samples,) ndarray or None
            The weights, checked.
        """
        self._validate_params()
        points = self._validate(X, reset=True)
        atoms = self._atoms(points)
        if self.n_components > atoms.shape[0]:
            name = "n_samples"
            if atoms is not points:
                name = "n_atoms"
            raise InputError(
                f"n_components={self.n_components} must be at most {name}={atoms.shape[0]}"
            )
        weight = None
        if sample_weight is not None:
            weight = as_vector(sample_weight, points.shape[0], "sample_weight", np.float64)
            if not weight.any():
                raise InputError("sample_weight must not be zero for all points")
        warn_if_centred(points)
        if not self._finds_independent:
            warn_of_too_many(self.n_components, points.shape[1])
        # the functions of the core speak of r columns of M
        try:
            self.components_ = self._choose(points, atoms, weight)
        except InputError as error:
            raise type(error)(in_estimator_words(str(error))) from error
        warn_if_dependent(self.components_)
        return points, weight

    def _generator(self) -> np.random.Generator:
        """Return the generator that ``random_state`` stands for."""
        if self.random_state is None:
            return np.random.default_rng(_DEFAULT_SEED)
        return as_generator(self.random_state)

    def _choose(self, points: Array, atoms: Array, sample_weight: Array | None) -> Array:
        """Set ``indices_``, and return the components: the selected rows of ``atoms``."""
        self.indices_ = self._select(points.T, sample_weight)
        return selected_rows(atoms, self.indices_, points.dtype)

    def _validate(self, X: ArrayLike, reset: bool) -> Array:
        accept_sparse: Any = False
        if self._takes_sparse():
            accept_sparse = "csr"
        plain = as_plain(X)
        points: Array = validate_data(
            self, plain, dtype=float_dtypes(plain), accept_sparse=accept_sparse, reset=reset
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
        """Return the part of each point that each component makes up; rows sum to one.

        In an image these are parts of the pixel's area. They are relative to components at their
        typical brightness: that of the points of ``fit`` that are nearly pure in them.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            Points as rows.
        return_std : bool
            Return their standard errors as well. They follow from the residual of each point, from
            the variation of brightness and, if there are groups of points, from their spread: see
            :doc:`/answer`.

        Returns
        -------
        shares : (n_samples, n_components) ndarray
            See :func:`selfdict.shares`.
        std : (n_samples, n_components) ndarray
            If asked for.
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
            variability=self._variability(),
        )
        return np.ascontiguousarray(parts.T), np.ascontiguousarray(std.T)

    def brightness(self, X: ArrayLike) -> Array:
        """Return how bright each point is, beside components at their typical brightness.

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

    def _variability(self) -> Variability | None:
        """Return how points of the same component differ; None if that is not known."""
        return None

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Return minus the relative error of the points, fitted by the components.

        It is at most 0, and the larger the better, as ``GridSearchCV`` and ``cross_val_score``
        expect it. A further component hardly ever raises the error: for their number see
        :func:`selfdict.advise_rank`.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or sparse matrix
            Points as rows, also others than those of ``fit``.
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
        plain = as_plain(X)
        H = check_array(plain, dtype=float_dtypes(plain))
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


def _weighted_error(M: Array, U: Array, H: Array, weight: Array | None) -> float:
    """Return ‖M − UH‖_F / ‖M‖_F, each squared column times its weight."""
    if weight is None:
        return relative_error(M, U, H)
    whole = float(weight @ squared_norms(M))
    if whole == 0:
        return 0.0
    return float(np.sqrt(weight @ column_residuals(U, M, H) ** 2 / whole))
