"""Greedy choice of columns: add the candidate that most lowers the error of a nonnegative fit.

The candidates are ranked on a few weighted points in a few directions, where ranking all of them
takes one small matrix product. Only the best are tried exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from selfdict._validation import Array
from selfdict.compute.deadline import Deadline
from selfdict.compute.linear_algebra import leading_directions, onto_common_span, transposed_product
from selfdict.compute.threads import for_slices
from selfdict.kernels.active_set import active_set

# So few candidates are fitted sooner from nothing than from a fit that differs in one of them.
FEW = 12


@dataclass(frozen=True)
class Fitted:
    """Points fitted by candidates."""

    K: Array  # (r,) which candidates
    X: Array  # (k, r) coefficients of candidates scaled to length one
    R: Array  # (q, k) residuals


@dataclass(frozen=True)
class Change(Fitted):
    """The part of a fit that differs from another one with a candidate more or less."""

    which: Array  # points

    def applied(self, before: Fitted) -> Fitted:
        """Return the whole fit."""
        X = np.zeros((len(before.X), self.K.size))
        common = min(self.K.size, before.K.size)
        X[:, :common] = before.X[:, np.isin(before.K, self.K)]
        X[self.which] = self.X
        R = before.R.copy()
        R[:, self.which] = self.R
        return Fitted(self.K, X, R)


@dataclass(frozen=True)
class Fit:
    """How well candidates (q, c) explain points (q, k) of weights ``sizes``, in q directions."""

    points: Array
    sizes: Array
    candidates: Array
    # Candidates that stand for others: which ones, and for each candidate, the number of its own
    # among these. A ranking then computes few gains, since it knows bounds on all others.
    anchors: tuple[Array, Array] | None = None
    # A search comes to the same choices again and again: errors, promising candidates, and the
    # last few fits, from which the next ones start.
    _squares: dict[tuple[int, ...], float] = field(default_factory=dict, repr=False)
    _promising: dict[tuple[int, ...], Array] = field(default_factory=dict, repr=False)
    _recent: dict[tuple[int, ...], Fitted] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, points: Array, sizes: Array, candidates: Array, q: int) -> Self:
        """Rotate points (m, k) and candidates (m, c) onto q leading directions of the points."""
        points = points.astype(np.float64, copy=False)
        sizes = sizes.astype(np.float64)
        if q >= len(points):
            points, candidates = onto_common_span(points, candidates.astype(np.float64, copy=False))
            return cls(points, sizes, candidates)
        basis = leading_directions(points * np.sqrt(sizes), q)
        return cls(basis.T @ points, sizes, transposed_product(basis, candidates))

    def fitted(self, K: Array) -> Fitted:
        """Return the fit of all points by candidates K, in any order."""
        key = _key(K)
        fitted = self._recent.pop(key, None)
        if fitted is None:
            fitted = self._from_recent(frozenset(key))
        if fitted is None:
            fitted = self._from_nothing(K)
        while len(self._recent) >= 2:
            del self._recent[next(iter(self._recent))]
        self._recent[key] = fitted
        return fitted

    def _from_nothing(self, K: Array) -> Fitted:
        X = np.empty((self.sizes.size, K.size))
        return Fitted(K, X, self._residuals(K, slice(None), X, warm=False))

    def _from_recent(self, K: frozenset[int]) -> Fitted | None:
        """Return the fit by K from one of a candidate more or less, if there is one."""
        if len(K) <= FEW:
            return None
        for key, near in list(self._recent.items()):
            if len(K.symmetric_difference(key)) == 1:
                self._recent[key] = self._recent.pop(key)  # the next fit may start from it, too
                if len(key) > len(K):
                    change = self._drop(near, *(set(key) - K))
                else:
                    change = self._add(near, *(K - set(key)))
                return change.applied(near)
        return None

    def _drop(self, fitted: Fitted, candidate: int) -> Change:
        """Return what changes without a candidate: points that do not use it stay as they are."""
        is_kept = np.not_equal(fitted.K, candidate)
        which = np.flatnonzero(fitted.X[:, ~is_kept])
        X = fitted.X[np.ix_(which, is_kept)]
        K = fitted.K[is_kept]
        return Change(K, X, self._residuals(K, which, X, warm=True), which)

    def _add(self, fitted: Fitted, candidate: int) -> Change:
        """Return what changes with a candidate: points at which it is of no use stay."""
        which = np.flatnonzero(self._units[:, candidate] @ fitted.R > 1e-12 * self._norms)
        X = np.zeros((which.size, fitted.K.size + 1))
        X[:, :-1] = fitted.X[which]
        K = np.append(fitted.K, candidate)
        return Change(K, X, self._residuals(K, which, X, warm=True), which)

    def _residuals(self, K: Array, which: Array | slice, X: Array, warm: bool) -> Array:
        """Fit some points; write their coefficients into X and return their residuals (q, k)."""
        # This is what nnls computes, without its checks, which would take longer than the fit.
        points = self.points[:, which]
        if K.size == 0:
            return points
        Rt = np.ascontiguousarray(self._units[:, K].T)
        G = Rt @ Rt.T
        # The Gram form of the kernel needs a well-conditioned G, whose diagonal is one.
        stable = bool(np.linalg.eigvalsh(G)[0] < 1e-6)
        if warm:
            guess = Rt  # not used
        elif stable:
            guess = np.linalg.pinv(Rt.T)
        else:
            guess = np.linalg.solve(G, Rt)
        R = np.empty_like(points)

        def task(start: int, stop: int) -> None:
            Y = np.ascontiguousarray(points[:, start:stop])
            active_set(Rt, G, guess, np.zeros(K.size), Y, X[start:stop], False, stable, warm)
            np.subtract(Y, Rt.T @ X[start:stop].T, out=R[:, start:stop])

        points_per_slice = 2048
        for_slices(task, points.shape[1], points_per_slice)
        return R

    def square(self, K: Array) -> float:
        """Return Σ_j s_j min_{h≥0} ‖d_j − D_K h‖² for candidates K."""
        return self._square(self.fitted(K).R)

    def squares_with(self, K: Array, choices: Array, deadline: Deadline) -> list[float]:
        """Return the errors of K with each choice added; of fewer choices if the time is up."""
        keys = [_key(np.append(K, choice)) for choice in choices]
        unknown = [k for k, key in enumerate(keys) if key not in self._squares]
        if unknown and not deadline.passed:
            square_with = self._squares_near(K)

            def task(start: int, stop: int) -> None:
                k = unknown[start]
                if not deadline.passed:
                    self._squares[keys[k]] = square_with(int(choices[k]))

            for_slices(task, len(unknown), 1)
        squares = []
        for key in keys:
            if key not in self._squares:
                break
            squares.append(self._squares[key])
        return squares

    def _squares_near(self, K: Array) -> Callable[[int], float]:
        """Return the function that computes the error of K with another candidate."""
        if K.size < FEW:
            return lambda choice: self._square(self._from_nothing(np.append(K, choice)).R)
        fitted = self.fitted(K)
        square = self._square(fitted.R)

        def square_with(choice: int) -> float:
            change = self._add(fitted, choice)
            sizes = self.sizes[change.which]
            before = _weighted_square(fitted.R[:, change.which], sizes)
            return square + (_weighted_square(change.R, sizes) - before)

        return square_with

    def _square(self, R: Array) -> float:
        return _weighted_square(R, self.sizes)

    def limit(self, r: int) -> float:
        """Return a lower bound on the error of any r candidates: the best error of rank r."""
        values = np.linalg.svd(self.points * np.sqrt(self.sizes), compute_uv=False)
        return float((values[r:] ** 2).sum())

    def promising(self, K: Array, trials: int) -> Array:
        """Return the candidates likely to lower the error of K most: the best of two rankings."""
        # The first ranks by the gain with the coefficients of K held fixed, which the true gain
        # exceeds. The second lets these coefficients take any value, also negative ones.
        key = (trials, *_key(K))
        if key not in self._promising:
            self._promising[key] = self._rank(K, trials)
        return self._promising[key]

    def _rank(self, K: Array, trials: int) -> Array:
        """Do the work of :meth:`promising`."""
        D = self.candidates
        R = self.fitted(K).R
        fixed = self._lengths
        span = np.linalg.qr(D[:, K])[0].T @ D
        free = fixed - np.einsum("ij,ij->j", span, span)
        # A candidate in the span of K, up to rounding, cannot lower the error.
        free[free <= 1e-8 * fixed] = np.inf
        squares = (np.where(fixed > 0, fixed, np.inf), free)
        if self.anchors is None:
            gain = self._gains(R, np.arange(D.shape[1]))
        else:
            gain = self._largest_gains(R, squares, trials + K.size)
        gain[K] = 0.0
        rounding = 1e-24 * np.einsum("ij,ij,j->", self.points, self.points, self.sizes)
        best = []
        for square in squares:
            score = gain / square
            top = np.argsort(-score, kind="stable")[:trials]
            best.append(top[score[top] > rounding])
        return np.unique(np.concatenate(best))

    @cached_property
    def _lengths(self) -> Array:
        """The squared lengths of the candidates."""
        return np.asarray(np.einsum("ij,ij->j", self.candidates, self.candidates))

    @cached_property
    def _units(self) -> Array:
        """The candidates scaled to length one."""
        return self.candidates / np.sqrt(np.maximum(self._lengths, np.finfo(float).tiny))

    @cached_property
    def _norms(self) -> Array:
        """The lengths of the points."""
        return np.asarray(np.linalg.norm(self.points, axis=0))

    def _gains(self, R: Array, which: Array) -> Array:
        """Return Σ_j s_j max(0, dᵀr_j)² for some candidates d and residuals R (q, k)."""
        gains = np.empty(which.size)

        def task(start: int, stop: int) -> None:
            products = self.candidates[:, which[start:stop]].T @ R
            np.maximum(products, 0.0, out=products)
            np.multiply(products, products, out=products)
            np.matmul(products, self.sizes, out=gains[start:stop])

        candidates_per_slice = 256
        for_slices(task, gains.size, candidates_per_slice)
        return gains

    def _largest_gains(self, R: Array, squares: tuple[Array, Array], count: int) -> Array:
        """Return the gains of all candidates that may be among the best ``count``, else zero."""
        # The root g of the gain is convex and positively homogeneous: with y the anchor of d,
        # g(d) ≤ a g(y) + g(d − a y), and g(e)² ≤ eᵀS e with S = Σ_j s_j r_j r_jᵀ.
        assert self.anchors is not None
        columns, labels = self.anchors
        factors, remainders = self._remainders
        at_anchors = np.sqrt(self._gains(R, columns))
        root = np.linalg.qr((R * np.sqrt(self.sizes)).T, mode="r")
        rotated = root @ remainders
        bound = factors * at_anchors[labels] + np.sqrt(np.einsum("ij,ij->j", rotated, rotated))
        # what rounding may have taken off
        bound = (1 + 1e-9) * bound**2
        gain = np.zeros(bound.size)
        exact = np.zeros(bound.size, dtype=bool)
        for square in squares:
            limits = bound / square
            first = np.argpartition(-limits, min(4 * count, limits.size - 1))[: 4 * count]
            self._make_exact(R, gain, exact, first)
            scores = np.sort((gain / square)[exact])
            if scores.size >= count:
                self._make_exact(R, gain, exact, np.flatnonzero(limits >= scores[-count]))
        return gain

    def _make_exact(self, R: Array, gain: Array, exact: Array, which: Array) -> None:
        """Compute the gains of some candidates that are not known yet."""
        which = which[~exact[which]]
        gain[which] = self._gains(R, which)
        exact[which] = True

    @cached_property
    def _remainders(self) -> tuple[Array, Array]:
        """What part of its anchor each candidate has at least, and the rest of it."""
        assert self.anchors is not None
        columns, labels = self.anchors
        anchors = self.candidates[:, columns]
        lengths = np.maximum(self._lengths[columns], np.finfo(float).tiny)
        of_anchor = anchors[:, labels]
        products = np.einsum("ij,ij->j", of_anchor, self.candidates)
        factors = np.maximum(products, 0.0) / lengths[labels]
        return factors, self.candidates - factors * of_anchor


def _key(K: Array) -> tuple[int, ...]:
    """Return the same for the same candidates in any order."""
    return tuple(sorted(K.tolist()))


def _weighted_square(R: Array, sizes: Array) -> float:
    return float(np.einsum("ij,ij,j->", R, R, sizes))


@dataclass
class Budget:
    """How many more choices may be tried exactly, and until when."""

    # The work is bounded by a count, not by time, so that results are the same on every machine.
    # Only a deadline that somebody asked for ends it before.

    left: float = np.inf
    deadline: Deadline = field(default_factory=Deadline)

    @property
    def spent(self) -> bool:
        """Whether no more choices may be tried."""
        return self.left <= 0 or self.deadline.passed

    def squares(self, fit: Fit, K: Array, choices: Array) -> list[float]:
        """Return the errors of K with each choice added; of fewer choices if the time is up."""
        squares = fit.squares_with(K, choices, self.deadline)
        self.left -= len(squares)
        return squares


def grow(fit: Fit, r: int, K: Array, trials: int, budget: Budget) -> Array:
    """Add the candidates that lower the error most, until there are r or the time is up."""
    while K.size < r and not budget.deadline.passed:
        choices = fit.promising(K, trials)
        squares = budget.squares(fit, K, choices)
        if not squares:
            break
        K = np.append(K, choices[int(np.argmin(squares))])
    return K
