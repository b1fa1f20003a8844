"""What every solver of model (6) is given, checked once."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_generator, as_matrix, as_scalar, as_vector
from selfdict.model.omega import column_norms

Target = tuple[str, float]


@dataclass(frozen=True)
class Problem:
    """M with the vectors of model (6) in M's dtype: w of Ω, p of the penalty, s of the residual; and μ."""

    M: Array
    mu: float
    p: Array
    w: Array
    s: Array
    weighted: bool

    @classmethod
    def check(
        cls,
        M: ArrayLike,
        mu: Any,
        p: ArrayLike | None,
        w: ArrayLike | None,
        s: ArrayLike | None,
        seed: Any = None,
    ) -> Self:
        """Validate. w is by default the ℓ1 norms of the columns; p ones, or random if there is a ``seed``."""
        M = as_matrix(M)
        n = M.shape[1]
        return cls(
            M=M,
            mu=as_scalar(mu, "mu"),
            p=as_vector(p, n, "p", M.dtype, default=jitter(n, seed), positive=True),
            w=as_vector(w, n, "w", M.dtype, default=column_norms(M)),
            s=as_vector(s, n, "sample_weight", M.dtype, default=np.ones(n)),
            weighted=s is not None,
        )


def jitter(n: int, seed: Any) -> Array:
    """Return p = 1 + 0.01(u − ½) with u uniform, which tells duplicates apart; ones if ``seed`` is None."""
    return np.ones(n) if seed is None else 1 + 0.01 * (as_generator(seed).random(n) - 0.5)


def check_target(target: Any) -> Target | None:
    """Validate ``("residual", eps)`` or ``("trace", value)``."""
    if target is None:
        return None
    if not (isinstance(target, tuple | list) and len(target) == 2 and target[0] in ("residual", "trace")):
        raise ValueError(f'target must be None, ("residual", eps) or ("trace", value), got {target!r}')
    return str(target[0]), as_scalar(target[1], f"target {target[0]}", strict=True)
