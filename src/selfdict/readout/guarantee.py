"""What Theorems 1 and 3 of the paper promise for a choice of columns, and whether they apply."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import as_indices, as_matrix
from selfdict.abundances import fcls
from selfdict.compute.scaling import times_power_of_two, unusual_exponent
from selfdict.model.omega import column_norms
from selfdict.model.robustness import conical_robustness

# κ is the optimum of a linear program, which is solved to 1e-7
LEAST_KAPPA = 1e-6
BLOCK = 1 << 14  # columns of M that are decomposed at a time


@dataclass(frozen=True)
class Guarantee:
    """The numbers in Theorems 1 and 3, for the columns of M scaled to ℓ1 norm one; W is selected.

    Attributes
    ----------
    rank : int
        r, how many columns are selected.
    kappa : float
        The conical robustness κ of the selected columns, between 0 and 1.
    beta : float
        The largest abundance of a selected column in any other one; 1 means that there are
        duplicates.
    epsilon_observed : float
        max_j ‖m_j − W h_j‖₁ for the h_j ≥ 0 of sum at most one that is best in least squares.
    nonnegative : bool
        Whether the selected columns have no negative entry, as the proofs of the theorems need.
    """

    rank: int
    kappa: float
    beta: float
    epsilon_observed: float
    nonnegative: bool

    @property
    def epsilon_guaranteed(self) -> float:
        """κ(1 − β)/20, the ε below which Theorem 3 guarantees recovery up to ε."""
        return self.kappa * (1 - self.beta) / 20

    @property
    def epsilon_order(self) -> float:
        """κ/r, the order of the ε up to which Theorem 1 guarantees recovery.

        The paper does not name the constant.
        """
        return self.kappa / self.rank

    @property
    def applies(self) -> bool:
        """Whether Theorem 3 applies: nonnegative data, observed ε below ``epsilon_guaranteed``."""
        is_robust = self.kappa > LEAST_KAPPA
        return self.nonnegative and is_robust and self.epsilon_observed < self.epsilon_guaranteed

    @property
    def sentence(self) -> str:
        """What this means, for a person."""
        seen = f"The selected columns have κ = {self.kappa:.2g}"
        if self.applies:
            return (
                f"{seen} and the largest residual is ε = {self.epsilon_observed:.2g}, below "
                f"κ(1 − β)/20 = {self.epsilon_guaranteed:.2g}: if these are the pure columns, "
                "Theorem 3 guarantees that model (3) "
                "finds them up to an error of ε."
            )
        if not self.nonnegative:
            reason = "they have negative entries, for which Theorems 1 and 3 are not proved"
        elif self.kappa <= LEAST_KAPPA:
            reason = "one of them lies in the cone of the others, so no noise at all is allowed"
        elif self.beta >= 1 - 1e-6:
            reason = (
                "some other columns are duplicates of them (β = 1), which Theorem 3 excludes; "
                "Theorem 1 allows for duplicates as long as ε is at most of the order of "
                f"κ/r = {self.epsilon_order:.2g}, with a constant that the paper does not name, "
                f"and the largest residual is ε = {self.epsilon_observed:.2g}"
            )
        else:
            reason = (
                f"the largest residual, ε = {self.epsilon_observed:.2g}, is not below the "
                f"κ(1 − β)/20 = {self.epsilon_guaranteed:.2g} of Theorem 3"
            )
        return (
            f"{seen}. No guarantee applies: {reason}. The choice may be right all the same; "
            "it is not proved."
        )


def robustness_report(M: ArrayLike, indices: ArrayLike) -> Guarantee:
    """Compare the noise in M with what Theorems 1 and 3 allow, if the selected columns are pure.

    The true W, H and noise N are unknown. Assumed is W = M(:, indices), free of noise, after all
    columns of M have been scaled to ℓ1 norm one, as the paper suggests for nonnegative data; then H
    is the best in least squares and N = M − W H. The theorems are about model (3) with its residual
    bounded in the norm max_j ‖·‖₁; model (6) is close to it, not the same.

    Parameters
    ----------
    M : (m, n) array_like
        The data. Columns that are zero count as explained.
    indices : (r,) array_like of int
        The selected columns.

    Returns
    -------
    Guarantee
        κ, β and ε, the ε that is guaranteed, whether the guarantee applies, and all of it as a
        sentence.

    Examples
    --------
    >>> from selfdict import robustness_report
    >>> from selfdict.datasets import make_midpoints
    >>> M, W, indices = make_midpoints(noise=0.005, random_state=0)
    >>> report = robustness_report(M, indices)
    >>> round(report.kappa, 2), round(report.beta, 2), report.applies
    (0.34, 0.5, True)
    """
    M = as_matrix(M)
    K = as_indices(indices, M.shape[1])
    # all numbers are those of normalised columns, which have no unit
    M = times_power_of_two(M, -unusual_exponent(M))
    norms = column_norms(M)
    if (norms[K] == 0).any():
        raise InputError(f"selected columns must not be zero, got index {K[norms[K] == 0][0]}")
    norms[norms == 0] = 1.0
    W = M[:, K] / norms[K]
    selected = np.isin(np.arange(M.shape[1]), K)
    beta = epsilon = 0.0
    for start in range(0, M.shape[1], BLOCK):
        columns = slice(start, start + BLOCK)
        N = M[:, columns] / norms[columns]
        H = fcls(W, N, at_most=True)
        N -= W @ H
        beta = max(beta, float(H[:, ~selected[columns]].max(initial=0.0)))
        epsilon = max(epsilon, float(column_norms(N).max()))
    return Guarantee(K.size, conical_robustness(W), min(1.0, beta), epsilon, bool((W >= 0).all()))
