"""The base class of the methods, which select points or rows of a dictionary.

The methods that the paper compares with are here as well.
"""

import re
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array, as_generator, as_vector
from selfdict.kernels.columns import dense_columns
from selfdict.peers import h2nmf, snpa, spa, vca, xray


@dataclass(eq=False, repr=False)
class Method:
    """A method that chooses ``n_components`` of the points, or of the atoms of a dictionary.

    A subclass implements ``_select(M)``, which returns the indices of ``n_components`` columns of M
    (n_features, n_samples). A method with other atoms or components implements ``_atoms`` and
    ``_choose``.
    """

    n_components: int = 2
    _: KW_ONLY
    random_state: Any = None

    def fit_components(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array | None]:
        """Select the components without fitting the points; return points and weights, checked.

        Methods other than FGNSR do not use the weights to select.
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
        _warn_if_centred(points)
        try:
            self.components_: Array = self._choose(points, atoms, weight)
        except InputError as error:
            raise type(error)(_in_estimator_words(str(error))) from error
        _warn_if_dependent(self.components_)
        return points, weight

    def _checked(self, X: ArrayLike) -> Array:
        """Return the points; those of a scene are finite floats already."""
        return np.asarray(X)

    def _check_fitted(self) -> None:
        """Raise an error if there is no fit yet: an estimator does."""

    def _atoms(self, points: Array) -> Array:
        """Return the rows that the components are chosen from: the points."""
        return points

    def _choose(self, points: Array, atoms: Array, sample_weight: Array | None) -> Array:
        """Set ``indices_``, and return the components: the selected rows of ``atoms``."""
        self.indices_: Array = self._select(points.T)
        return selected_rows(atoms, self.indices_, points.dtype)

    def _select(self, M: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must implement _select")

    def _generator(self) -> np.random.Generator:
        """Return the generator of ``random_state``; None is the seed 0, the same every time."""
        if self.random_state is None:
            return np.random.default_rng(0)
        return as_generator(self.random_state)


class SPAMethod(Method):
    """Successive projection algorithm."""

    def _select(self, M: Array) -> Array:
        return spa(M, self.n_components)


class SNPAMethod(Method):
    """Successive nonnegative projection algorithm."""

    def _select(self, M: Array) -> Array:
        return snpa(M, self.n_components)


class XRAYMethod(Method):
    """Extreme rays, variant "max"."""

    def _select(self, M: Array) -> Array:
        return xray(M, self.n_components)


class VCAMethod(Method):
    """Vertex component analysis."""

    def _select(self, M: Array) -> Array:
        return vca(M, self.n_components, self._generator())


class H2NMFMethod(Method):
    """Hierarchical clustering by rank-two NMF, one point per cluster."""

    def _select(self, M: Array) -> Array:
        self.clusters_ = h2nmf(M, self.n_components)
        self.labels_ = self.clusters_.labels
        found = self.clusters_.indices
        if found.size < self.n_components:
            raise InputError(
                f"n_components must be at most {found.size} for these data, got "
                f"{self.n_components}: no cluster can be divided further"
            )
        return found


def selected_rows(atoms: Array, indices: Array, dtype: Any) -> Array:
    """Return some rows of dense or sparse atoms, as a dense array."""
    return np.ascontiguousarray(dense_columns(atoms.T, indices).T, dtype=dtype)


def _warn_if_centred(points: Array) -> None:
    """Warn if the features have been centred, as by ``StandardScaler``."""
    # Cones and abundances refer to the origin, which is another point then. Noise around a positive
    # mean does not trigger this: nearly all features must have the mean zero to three digits.
    if issparse(points) or not points.min() < 0:
        return
    mean = points.mean(axis=0, dtype=np.float64)
    square = np.einsum("ij,ij->j", points, points, dtype=np.float64) / points.shape[0]
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    varies = deviation > 0
    if not varies.any():
        return
    is_centred = np.abs(mean[varies]) <= 1e-3 * deviation[varies]
    # some bands of data that are not centred may hold nothing but noise
    if is_centred.mean() < 0.95:
        return
    warn_caller(
        "X seems to be centred: the mean of its features is zero. Components and abundances refer "
        "to the origin: pass data that is not centred, for example scaled by "
        "StandardScaler(with_mean=False)",
    )


def _warn_if_dependent(components: Array) -> None:
    """Warn if the components are linearly dependent, as are more of them than features."""
    n_components, n_features = components.shape
    if n_components > n_features:
        warn_caller(
            f"{n_components} components are more than the {n_features} features (bands): their "
            "abundances are not unique",
        )
        return
    # The unit of a component does not matter to its direction.
    lengths = np.abs(components).max(axis=1, keepdims=True)
    rank = int(np.linalg.matrix_rank(components / np.where(lengths > 0, lengths, 1.0)))
    if rank < n_components:
        warn_caller(
            f"the {n_components} components span only {rank} dimensions: their abundances are not "
            "unique",
        )


def _in_estimator_words(message: str) -> str:
    """Return a message about r columns of M, as functions write it, for a user of an estimator."""
    message = re.sub(r"\br must\b", "n_components must", message)
    message = message.replace("rows of M", "features")
    message = re.sub(r"\bcolumn (\d+) of M\b", r"point \1 of X", message)
    return re.sub(r"\bM\b", "X", message)
