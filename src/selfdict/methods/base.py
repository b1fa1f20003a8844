"""What all methods share: they choose some of the points, or of the rows of a dictionary."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_vector
from selfdict.methods.checks import (
    in_estimator_words,
    selected_rows,
    warn_if_centred,
    warn_if_dependent,
    warn_of_too_many,
)

# of ``random_state=None``: the same data gives the same components in every process
_DEFAULT_SEED = 0


class Method:
    """A method that chooses ``n_components`` of the points, or of the atoms of a dictionary.

    A subclass implements ``_select(M, sample_weight)``: M is (n_features, n_samples), points as
    columns, and the result is the indices of ``n_components`` of them, or of the rows of
    ``_atoms``. One whose components are more than these rows implements ``_choose`` instead.
    """

    # whether the method finds independent components only, and raises an error for too many
    _finds_independent: ClassVar[bool] = False

    n_components: int
    indices_: Array
    components_: Array

    def __init__(self, n_components: int = 2, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit_components(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array | None]:
        """Select the components without fitting the points by them.

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
        points = self._checked(X)
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

    def _checked(self, X: ArrayLike) -> Array:
        """Return the points; a scene has no others than finite floats."""
        return np.asarray(X)

    def _check_fitted(self) -> None:
        """Raise an error if there is no fit yet: an estimator does."""

    def _atoms(self, points: Array) -> Array:
        """Return the rows that the components are chosen from: the points."""
        return points

    def _choose(self, points: Array, atoms: Array, sample_weight: Array | None) -> Array:
        """Set ``indices_``, and return the components: the selected rows of ``atoms``."""
        self.indices_ = self._select(points.T, sample_weight)
        return selected_rows(atoms, self.indices_, points.dtype)

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must implement _select")

    def _generator(self) -> np.random.Generator:
        """Return the generator that ``random_state`` stands for."""
        if self.random_state is None:
            return np.random.default_rng(_DEFAULT_SEED)
        return as_generator(self.random_state)
