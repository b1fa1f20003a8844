"""Objectives, scores and dual values of a problem in 80-bit floating point, for the data as given.

Weights of Ω are sums in that precision. Nothing of the package computes here.
"""

import numpy as np

from selfdict import Huber, Weighted

LONG = np.longdouble


class Exact:
    """A problem, with its dense data M (m, n) and the options that it was made with."""

    def __init__(self, problem, M, options):
        self.loss = problem.loss
        self.M = M.astype(LONG)
        self.is_tied = "D" not in options
        self.atoms = self.M if self.is_tied else options["D"].astype(LONG)
        self.w = np.abs(self.M).sum(axis=0)
        if "w" in options:
            self.w = options["w"].astype(LONG)
        self.v = self.w if self.is_tied else np.abs(self.atoms).sum(axis=0)
        self.s = options.get("sample_weight", np.ones(M.shape[1])).astype(LONG)
        self.slope = LONG(problem.mu) * options.get("p", np.ones(len(self.v))).astype(LONG)
        self.smooth = LONG(problem.smooth)

    def inside(self, X, t):
        """Return the point inside Ω nearest to X and its gates."""
        t = np.where(self.v > 0, np.clip(t.astype(LONG), 0, 1), 0)
        upper = t[:, None] * (self.w / np.where(self.v > 0, self.v, 1)[:, None])
        if self.is_tied:
            upper[:, self.w == 0] = 0
        X = np.clip(X.astype(LONG), 0, upper)
        if self.is_tied:
            np.fill_diagonal(X, t)
        return X, t

    def objective(self, X, t):
        """Return the objective of the point inside Ω nearest to X."""
        X, t = self.inside(X, t)
        fit = (self.s * loss_value(self.loss, self.M - self.atoms @ X)).sum()
        return fit + (self.slope * t).sum() + self.smooth * (t * t).sum() / 2

    def multiplier(self, X):
        """Return θ = s ψ(R) (m, n) of the residual R of X, with ψ the slope of the loss."""
        return self.s * slope_of(self.loss, self.M - self.atoms @ X.astype(LONG))

    def scores(self, theta):
        """Return σ_i(θ) of all rows."""
        V = self.atoms.T @ theta
        sums = (self.w * np.maximum(V, 0)).sum(axis=1)
        sums = np.divide(sums, self.v, out=np.zeros_like(sums), where=self.v > 0)
        if self.is_tied:
            sums += np.minimum(np.diagonal(V), 0)
        return sums

    def dual(self, X, closed=()):
        """Return the best D(cθ) for the multiplier of X, with some rows closed for good."""
        R = self.M - self.atoms @ X.astype(LONG)
        theta = self.multiplier(X)
        linear = (theta * self.M).sum()
        # Σ s ℓ*(cψ) is c² times its value for c = 1
        cost = (theta * R).sum() - (self.s * loss_value(self.loss, R)).sum()
        scores = np.delete(self.scores(theta), closed)
        slope = np.delete(self.slope, closed)

        def value(c):
            y = np.maximum(c * scores - slope, 0)
            t = np.clip(y / self.smooth, 0, 1) if self.smooth > 0 else 1
            return c * linear - c * c * cost - (y * t - self.smooth * t * t / 2).sum()

        if not (linear > 0 and cost > 0):
            return LONG(0)
        # concave in c, and any c gives a bound for which the conjugate is finite
        low, high = LONG(0), linear / cost
        if isinstance(self.loss, Huber):
            high = min(high, self.loss.delta / np.abs(slope_of(self.loss, R)).max())
        for _ in range(150):
            third = (high - low) / 3
            if value(low + third) < value(high - third):
                low += third
            else:
                high -= third
        return max(value(low), LONG(0))


def slope_of(loss, R):
    """Return the slope of the loss at each entry."""
    if isinstance(loss, Huber):
        return np.clip(R, -LONG(loss.delta), LONG(loss.delta))
    return 2 * loss_value(loss, np.ones(R.shape, LONG)) * R


def loss_value(loss, R):
    """Return the loss of each entry in extended precision."""
    if isinstance(loss, Huber):
        delta, size = LONG(loss.delta), np.abs(R)
        return np.where(size <= delta, R * R / 2, delta * size - delta * delta / 2)
    if isinstance(loss, Weighted):
        a = np.asarray(loss.band_variance).astype(LONG)[:, None]
        return R * R / (2 * a * np.asarray(loss.pixel_variance).astype(LONG))
    return R * R / 2
