"""What a solver returns, and what it reports on its way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.model.losses import Loss, Squared


class Status(Enum):
    """How a solver ended; the value is a sentence for a person."""

    CONVERGED = "The certified gap is below the tolerance."
    STALLED = "The objective hardly falls any more in this floating-point precision; the gap says how close it is."
    MAX_ITER = (
        "The tolerance or the target was not met: raise max_iter, or choose a target within reach."
    )
    MAX_SECONDS = "The time limit was reached; this is the best point found, with its true gap."
    INTERRUPTED = "Interrupted by the user; this is the best point found, with its true gap."
    STOPPED_BY_CALLBACK = "The callback asked to stop; this is the best point found."
    EXACT = "Solved by an interior-point method to its own accuracy."
    GIVEN = "A matrix handed in from outside, not solved for here."

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Progress:
    """An immutable snapshot of a running solver, handed to its callback; a true return value stops the solver."""

    iteration: int
    objective: float
    gap: float
    seconds: float
    mu: float
    residual: float
    trace: float
    n_active: int


Callback = Callable[[Progress], Any]


@dataclass(frozen=True)
class Solution:
    """A feasible X ∈ Ω of model (6), stored by its non-zero rows, with its certificate.

    With a dictionary D of d atoms X is d×n, a row an atom, and each atom has a gate of its own
    instead of X_ii.

    Attributes
    ----------
    support : (k,) ndarray of int
        Indices of the rows of X that are not zero, increasing; with a dictionary, the atoms whose
        gates are open.
    coef : (k, n) ndarray
        These rows: ``X[support]``.
    diagonal : (n,) or (d,) ndarray
        The diagonal of X; with a dictionary, the gates t.
    objective : float
        ½ Σ_j s_j ‖m_j − M x_j‖² + μ pᵀ diag(X), or with another loss in place of the square; for
        the models with ``epsilon``, pᵀ diag(X).
    dual_bound : float
        A proven lower bound on the optimal objective; −inf before :func:`certify`.
    gap : float
        (objective − dual_bound) / objective, never negative; inf before :func:`certify`.
    mu : float
        The penalty μ at the end (it changes when steered to a target); nan for the models with
        ``epsilon``.
    weights : (n,) ndarray or None
        w of Ω, a weight a column; None stands for the ℓ1 norms of the columns of M.
    p : (n,) or (d,) ndarray or None
        The vector p of model (6); None stands for ones.
    sample_weight : (n,) ndarray or None
        Weights s_j of the columns in the residual; None stands for ones.
    loss : Loss
        What the residual costs; by default ½ of its square.
    epsilon : float or None
        The bound on the residual in model (4); None for the penalised model (6).
    n_iter : int
        Iterations taken.
    status : Status
        How the solver ended.
    history : mapping of str to ndarray
        Equally long arrays; ``history["objective"][0]`` is the start, ``[k]`` the value after
        iteration k.
    """

    support: Array
    coef: Array
    diagonal: Array
    objective: float
    dual_bound: float = -np.inf
    gap: float = np.inf
    mu: float = np.nan
    weights: Array | None = None
    p: Array | None = None
    sample_weight: Array | None = None
    loss: Loss = field(default_factory=Squared)
    epsilon: float | None = None
    n_iter: int = 0
    status: Status = Status.GIVEN
    history: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def from_matrix(cls, X: ArrayLike, **fields: Any) -> Self:
        """Store a whole n×n matrix by its non-zero rows; other fields by name.

        A d×n matrix, for a dictionary of d atoms, needs its gates as the field ``diagonal``.

        Examples
        --------
        >>> import numpy as np
        >>> from selfdict import Solution
        >>> Solution.from_matrix([[1.0, 0.5], [0.0, 0.0]], objective=0.3, mu=0.1).support
        array([0])
        """
        X = np.asarray(X)
        if X.ndim != 2 or ("diagonal" not in fields and X.shape[0] != X.shape[1]):
            raise InputError(
                f"X must be a square matrix, or come with its gates as diagonal, got shape {X.shape}"
            )
        diagonal = np.asarray(fields.pop("diagonal", np.diagonal(X).copy()))
        if diagonal.shape != X.shape[:1]:
            raise InputError(
                f"diagonal must hold a gate for each of the {len(X)} rows, got shape {diagonal.shape}"
            )
        support = np.flatnonzero(X.any(axis=1) | (diagonal > 0))
        fields.setdefault("objective", np.nan)
        return cls(support=support, coef=X[support], diagonal=diagonal, **fields)

    def toarray(self) -> Array:
        """Return X as a dense matrix, n×n or d×n (for small n)."""
        X = np.zeros((self.diagonal.shape[0], self.coef.shape[1]), dtype=self.coef.dtype)
        X[self.support] = self.coef
        return X
