"""What every solver of model (6) is given, checked once."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_matrix, as_scalar, as_vector
from selfdict.model.losses import Loss, Squared, as_loss
from selfdict.model.omega import column_norms, dictionary

Target = tuple[str, float]


@dataclass(frozen=True)
class Problem:
    """M with the vectors of model (6) in M's dtype: w of Ω, p of the penalty, s of the residual; and μ.

    D is None where the columns of M are the atoms. Else its columns are, each with a gate t_i of
    its own: the model is min ½‖M − DX‖_F² + μ pᵀt over 0 ≤ t ≤ 1, 0 ≤ v_i X_ij ≤ w_j t_i, with v_i
    = ‖d_i‖₁.

    Where the loss is quadratic, M, D and s are whitened: with them it is the squared one. What was
    given remains as ``sample_weight``, and in w and v.
    """

    M: Array
    D: Array | None
    v: Array
    mu: float
    p: Array
    w: Array
    s: Array
    sample_weight: Array | None
    loss: Loss

    @classmethod
    def check(
        cls,
        M: ArrayLike,
        mu: Any,
        p: ArrayLike | None,
        w: ArrayLike | None,
        s: ArrayLike | None,
        seed: Any = None,
        D: ArrayLike | None = None,
        loss: Loss | str | None = None,
        sparse: bool = False,
    ) -> Self:
        """Validate; ``sparse`` says whether the solver takes sparse M.

        w is by default the ℓ1 norms of the columns; p ones, or random if there is a ``seed``.
        """
        loss = as_loss(loss)
        M = as_matrix(M, sparse=sparse and D is None and isinstance(loss, Squared))
        n = M.shape[1]
        w = as_vector(w, n, "w", M.dtype, default=column_norms(M))
        weight = as_vector(s, n, "sample_weight", M.dtype, default=np.ones(n))
        atoms, v = (None, w) if D is None else dictionary(D, M)
        return cls(
            M=loss.whiten(M),
            D=None if atoms is None else loss.whiten(atoms),
            v=v,
            mu=as_scalar(mu, "mu"),
            p=as_vector(p, len(v), "p", M.dtype, default=jitter(len(v), seed), positive=True),
            w=w,
            s=loss.weigh(weight),
            sample_weight=None if s is None else weight,
            loss=loss,
        )

    def need_squares(self, solver: str) -> None:
        """Refuse losses that are not squares of some whitened data."""
        if not self.loss.quadratic:
            raise InputError(
                f"{solver} takes quadratic losses (Squared, Weighted), got {self.loss!r}; use fast_gradient"
            )


def jitter(n: int, seed: Any) -> Array:
    """Return p = 1 + 0.01(u − ½) with u uniform, which tells duplicates apart; ones if ``seed`` is None."""
    return np.ones(n) if seed is None else 1 + 0.01 * (as_generator(seed).random(n) - 0.5)


def check_target(target: Any, mu: float) -> Target | None:
    """Validate ``("residual", eps)`` or ``("trace", value)``, and the first penalty, which is steered by factors."""
    if target is None:
        return None
    if not (
        isinstance(target, tuple | list) and len(target) == 2 and target[0] in ("residual", "trace")
    ):
        raise InputError(
            f'target must be None, ("residual", eps) or ("trace", value), got {target!r}'
        )
    if mu == 0:
        raise InputError("mu must be > 0 when it is steered to a target, got 0")
    return str(target[0]), as_scalar(target[1], f"target {target[0]}", strict=True)
