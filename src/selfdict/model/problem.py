"""The problem that a solver is given: data and model, frozen and checked when it is created."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError, UnsupportedError
from selfdict._validation import (
    Array,
    as_generator,
    as_matrix,
    as_scalar,
    as_vector,
    check_columns,
    check_sizes,
    is_tensor,
    largest_size,
)
from selfdict.compute.device import Device
from selfdict.kernels.columns import column_norms
from selfdict.model.dual import Penalty, Quadratic
from selfdict.model.losses import Loss, Squared, as_loss

if TYPE_CHECKING:
    from selfdict.model.solution import Reduction

Target = tuple[str, float]

# penalties as large as this, or as small as its inverse, can be computed with
LARGEST_PENALTY = 1e200


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Problem:
    """Model (6) with its data, or model (4) if ``epsilon`` is given.

        min  Σ_ij s_j ℓ(m_ij − (M X)_ij) + μ pᵀdiag(X)   over X ∈ Ω                           (6)
        min  pᵀdiag(X)   over X ∈ Ω with ‖M − MX‖_F ≤ ε                                       (4)

    With ``smooth`` = ν the penalty of model (6) is μ pᵀt + ½ν Σ_i t_i², t = diag(X).

    With a dictionary D of d atoms X is d×n, and each atom has a gate t_i in place of X_ii:
    min Σ_ij s_j ℓ(m_ij − (D X)_ij) + μ pᵀt over 0 ≤ t ≤ 1, 0 ≤ ‖d_i‖₁ X_ij ≤ w_j t_i.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        The data, one point per column; also a torch tensor. Entries may be negative.
    mu : float, optional
        The penalty μ ≥ 0 of model (6); with ``target`` its first value, > 0. See
        :func:`mu_heuristic`. A solver needs it; a reduction does not.
    epsilon : float, optional
        The bound on the residual in model (4), in place of ``mu``.
    smooth : float
        The weight ν ≥ 0 of the quadratic term of the penalty, in the unit of μ: nearly identical
        points then share their weight. See :doc:`/smooth`.
    D : (m, d) array_like, optional
        A dictionary, one atom per column; by default M itself.
    w : (n,) array_like, optional
        Weights of Ω; by default the ℓ1 norms of the columns of M.
    p : (n,) or (d,) array_like, optional
        Positive weights of the diagonal, or of the gates. By default ones, or 1 + 0.01(u − ½) with
        u uniform if ``random_state`` is given, which separates duplicates.
    sample_weight : (n,) array_like, optional
        Weights s_j ≥ 0 of the columns in the residual; by default ones.
    loss : "squared" or Loss
        The cost of the residual.
    target : ("residual", eps) or ("trace", value), optional
        Choose μ such that ‖M − MX‖_F (in general, the root of twice the loss) is ``eps``, or the
        trace of X is ``value``.
    random_state : int, Generator or None
        Seed of the default p.

    Attributes
    ----------
    M, mu, epsilon, smooth, D, w, p, sample_weight, loss, target
        As given and checked; the vectors are in float64, and ``w`` and ``p`` are always arrays.
    v : (n,) or (d,) ndarray
        The weights of the atoms: w, or the ℓ1 norms of the columns of D.
    reduced_from : ReducedFrom or None
        The problem that this one was reduced from, the step, and what the step needs to lift a
        solution.

    Examples
    --------
    >>> import selfdict
    >>> problem = selfdict.Problem([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], mu=0.1)
    >>> problem
    Problem(2×3, float64, mu=0.1)
    >>> selfdict.WorkingSet(tol=1e-6).solve(problem).support
    array([0, 1])
    """

    M: Array
    mu: float | None
    epsilon: float | None
    smooth: float
    D: Array | None
    w: Array
    v: Array
    p: Array
    sample_weight: Array | None
    loss: Loss
    target: Target | None
    reduced_from: "ReducedFrom | None"

    def __init__(
        self,
        M: ArrayLike,
        mu: float | None = None,
        *,
        epsilon: float | None = None,
        D: ArrayLike | None = None,
        w: ArrayLike | None = None,
        p: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        loss: Loss | str = "squared",
        target: Target | None = None,
        smooth: float = 0.0,
        random_state: Any = None,
    ) -> None:
        if mu is not None and epsilon is not None:
            raise InputError(f"give either mu or epsilon, got mu={mu!r} and epsilon={epsilon!r}")
        if target is not None and epsilon is not None:
            raise InputError("a target determines mu, so it cannot be combined with epsilon")
        smooth = as_scalar(smooth, "smooth")
        if smooth > 0 and epsilon is not None:
            raise InputError("smooth needs the penalised model (6): give mu instead of epsilon")
        loss = as_loss(loss)
        if epsilon is not None and not loss.quadratic:
            raise UnsupportedError(f"model (4), with epsilon, needs a quadratic loss, got {loss!r}")
        data = as_matrix(M, sparse=True)
        if issparse(data) and (D is not None or not isinstance(loss, Squared)):
            raise UnsupportedError(
                "a dictionary D and losses other than the squared one need dense data; pass "
                "M.toarray() if it fits into memory"
            )
        limit = largest_size(data.dtype)
        n = data.shape[1]
        atoms = None
        # weights stay in double precision: rounded ones would be those of another problem, and the
        # bound would be about that
        lengths = column_norms(data, np.float64)
        norms = lengths
        if w is not None:
            norms = as_vector(w, n, "w", np.float64)
            check_sizes(norms, "w", limit)
            # scaled to w = 1, the columns must stay inside the range of float32, too
            counts = (norms > 0) & (lengths > 0)
            check_sizes(norms[counts] / lengths[counts], "w over the norms of M", 1e30)
        v = norms
        if D is not None:
            atoms = as_dictionary(D, data)
            v = column_norms(atoms, np.float64)
        weight = None
        if sample_weight is not None:
            weight = as_vector(sample_weight, n, "sample_weight", np.float64)
        prices = as_vector(
            p, v.size, "p", np.float64, default=jitter(v.size, random_state), positive=True
        )
        check_sizes(prices, "p", limit)
        if mu is not None:
            mu = as_scalar(mu, "mu")
            check_sizes(np.array([mu]), "mu", LARGEST_PENALTY)
        check_sizes(np.array([smooth]), "smooth", LARGEST_PENALTY)
        if epsilon is not None:
            epsilon = as_scalar(epsilon, "epsilon")
        self._set(
            M=data,
            mu=mu,
            epsilon=epsilon,
            smooth=smooth,
            D=atoms,
            w=norms,
            v=v,
            p=prices,
            sample_weight=weight,
            loss=loss,
            target=as_target(target, mu),
            reduced_from=None,
        )
        self.loss.check_shape(*data.shape)
        _check_weights(self)
        # solvers compute where the data came from, unless their settings name another device
        device = None
        if is_tensor(M):
            device = M.device  # type: ignore[union-attr]  # a tensor, as just checked
        object.__setattr__(self, "_tensor_device", device)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def changed(self, **values: Any) -> Self:
        """Return a copy with other attributes, which are not checked."""
        # arrays are shared, not copied: a problem is frozen, and a scene may fill half the memory
        new = copy(self)
        new.__dict__.pop("squared_form", None)  # belongs to the old attributes
        new._set(**values)
        return new

    def with_mu(self, mu: float) -> Self:
        """Return the problem at the penalty μ that a solver ended with, without a target."""
        return self.changed(mu=float(mu), target=None)

    @property
    def root(self) -> "Problem":
        """The problem before all reductions."""
        problem: Problem = self
        while problem.reduced_from is not None:
            problem = problem.reduced_from.problem
        return problem

    @property
    def n_points(self) -> int:
        """n, the number of columns of M."""
        return int(self.M.shape[1])

    @property
    def n_atoms(self) -> int:
        """The number of rows of X: n, or d with a dictionary."""
        return int(self.v.size)

    @property
    def atoms(self) -> Array:
        """The columns that X combines: those of M, or of D."""
        if self.D is None:
            return self.M
        return self.D

    @property
    def is_sparse(self) -> bool:
        """Whether M is a sparse array."""
        return bool(issparse(self.M))

    @property
    def s(self) -> Array:
        """The weights of the columns in the residual, (n,): ``sample_weight``, or ones."""
        if self.sample_weight is None:
            return np.ones(self.n_points)
        return self.sample_weight

    @property
    def data_device(self) -> Device:
        """The device of the tensor M; None if M is not a tensor."""
        device: Device = getattr(self, "_tensor_device", None)
        return device

    @cached_property
    def squared_form(self) -> "Problem":
        """The same problem with the squared loss, for quadratic losses; w, v and p stay."""
        D = None
        if self.D is not None:
            D = self.loss.whiten(self.D)
        weight = self.loss.weigh(self.s)
        return self.changed(M=self.loss.whiten(self.M), D=D, sample_weight=weight, loss=Squared())

    @property
    def penalty(self) -> Penalty:
        """The penalty of the rows of X, for model (6)."""
        return self.penalty_at(self.require_mu())

    def penalty_at(self, mu: float) -> Penalty:
        """Return the penalty of the rows of X at another μ."""
        is_closed = np.isinf(self.p)  # infinite weights close rows, also for μ = 0
        prices = mu * np.where(is_closed, 1.0, self.p)
        return Quadratic(np.where(is_closed, np.inf, prices), self.smooth)

    def require_mu(self) -> float:
        """Return μ, for a function of the penalised model (6) alone."""
        if self.mu is None and self.epsilon is not None:
            raise InputError("this needs the penalised model (6): give mu instead of epsilon")
        if self.mu is None:
            raise InputError(
                "the problem has no penalty: give mu, for example that of mu_heuristic"
            )
        return self.mu

    def __repr__(self) -> str:
        rows, columns = self.M.shape
        parts = [f"{rows}×{columns}", str(self.M.dtype)]
        if self.is_sparse:
            parts.append("sparse")
        if self.D is not None:
            parts.append(f"D {rows}×{self.n_atoms}")
        for name in ("mu", "epsilon", "smooth", "target"):
            value = getattr(self, name)
            if value is not None and value != 0.0:
                parts.append(f"{name}={value!r}")
        if self.sample_weight is not None:
            parts.append("with sample_weight")
        if type(self.loss).__name__ != "Squared":
            parts.append(f"loss {type(self.loss).__name__}")
        return f"Problem({', '.join(parts)})"


class ReducedFrom(NamedTuple):
    """Where a reduced problem comes from."""

    problem: Problem
    step: "Reduction"
    memory: Any  # what the step remembers of the problem, such as clusters or a basis


def _check_weights(problem: Problem) -> None:
    """Refuse weights of the residual, or a loss, with which products of data leave the range."""
    loss = problem.loss
    limit = largest_size(problem.M.dtype)
    check_sizes(loss.weigh(problem.s), "sample_weight over pixel_variance", limit)
    scales = loss.whiten(np.ones((problem.M.shape[0], 1)))
    check_sizes(scales**-2, "band_variance", limit)
    if np.isfinite(loss.limit):
        check_sizes(np.array([loss.limit]), "the steepest slope of the loss", limit)


def as_dictionary(D: ArrayLike, M: Array) -> Array:
    """Return the atoms of a dictionary, (m, d), in their own precision."""
    atoms = as_matrix(D, "D")
    check_columns(atoms, "D", M.dtype)
    if atoms.shape[0] != M.shape[0]:
        raise InputError(f"D must have the {M.shape[0]} rows of M, got shape {atoms.shape}")
    return atoms


def jitter(n: int, random_state: Any) -> Array:
    """Return p = 1 + 0.01(u − ½), u uniform, which tells duplicates apart; ones without a seed."""
    if random_state is None:
        return np.ones(n)
    return 1 + 0.01 * (as_generator(random_state).random(n) - 0.5)


def as_target(target: Any, mu: float | None) -> Target | None:
    """Validate ``("residual", eps)`` or ``("trace", value)``; the first μ changes by factors."""
    if target is None:
        return None
    is_pair = isinstance(target, tuple | list) and len(target) == 2
    if not is_pair or target[0] not in ("residual", "trace"):
        raise InputError(
            f'target must be None, ("residual", eps) or ("trace", value), got {target!r}'
        )
    if mu == 0:
        raise InputError("mu must be > 0 when it is steered to a target, got 0")
    return str(target[0]), as_scalar(target[1], f"target {target[0]}", strict=True)
