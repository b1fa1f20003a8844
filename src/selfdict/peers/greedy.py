"""Greedy choice of columns: add whichever candidate lowers the error of an exact nonnegative fit most.

Candidates are ranked on a few weighted points in a few directions, where a ranking of all of them
is one small matrix product; only the best are tried exactly.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from selfdict._validation import Array
from selfdict.abundances import nnls
from selfdict.compute.threads import for_slices
from selfdict.kernels.active_set import active_set

CANDIDATES_PER_SLICE = 256
POINTS_PER_SLICE = 2048
ILL_CONDITIONED = 1e-6  # smallest eigenvalue of a Gram matrix with ones on its diagonal


@dataclass(frozen=True)
class Fit:
    """How well chosen candidates explain some points, all of them rotated onto q leading directions of the data.

    ``points`` (q, k) have weights ``sizes`` (k,); ``candidates`` (q, c) may be chosen.
    """

    points: Array
    sizes: Array
    candidates: Array

    @classmethod
    def of(cls, points: Array, sizes: Array, candidates: Array, q: int) -> Self:
        """Take points (m, k) and candidates (m, c) in the q leading directions of the points."""
        points, sizes = points.astype(np.float64, copy=False), sizes.astype(np.float64)
        basis = np.linalg.eigh((points * sizes) @ points.T)[1][:, ::-1][:, :q]
        return cls(basis.T @ points, sizes, basis.T @ candidates.astype(np.float64, copy=False))

    def residual(self, K: Array) -> tuple[float, Array]:
        """Return Σ_j s_j min_{h≥0} ‖d_j − D_K h‖² and the residuals (q, k), for candidates K.

        What ``nnls`` computes, less its checks, which take longer here.
        """
        U = self.candidates[:, K]
        Rt = np.ascontiguousarray((U / np.linalg.norm(U, axis=0)).T)
        G = Rt @ Rt.T
        if K.size == 0 or np.linalg.eigvalsh(G)[0] < ILL_CONDITIONED:
            R = self.points - U @ nnls(U, self.points) if K.size else self.points
            return float(np.einsum("ij,ij,j->", R, R, self.sizes)), R
        R, guess = np.empty_like(self.points), np.linalg.solve(G, Rt)

        def task(start: int, stop: int) -> float:
            Y, X = (
                np.ascontiguousarray(self.points[:, start:stop]),
                np.empty((stop - start, K.size)),
            )
            active_set(Rt, G, guess, np.zeros(K.size), Y, X, False, False, False)
            rest = np.subtract(Y, Rt.T @ X.T, out=R[:, start:stop])
            return float(np.einsum("ij,ij->j", rest, rest) @ self.sizes[start:stop])

        return sum(for_slices(task, self.sizes.size, POINTS_PER_SLICE)), R

    def limit(self, r: int) -> float:
        """Return the error that no r vectors can fall below, of rank r without any sign: the SVD's."""
        values = np.linalg.svd(self.points * np.sqrt(self.sizes), compute_uv=False)
        return float((values[r:] ** 2).sum())

    def promising(self, K: Array, trials: int) -> Array:
        """Return the candidates likely to lower the error of K most when added: the best of two rankings.

        The first is the gain with the coefficients of K held fixed, which the true gain exceeds;
        the second lets them move freely, signs included.
        """
        D, R = self.candidates, self.residual(K)[1]
        gain = np.empty(D.shape[1])

        def task(start: int, stop: int) -> None:
            products = D[:, start:stop].T @ R
            np.maximum(products, 0.0, out=products)
            np.multiply(products, products, out=products)
            np.matmul(products, self.sizes, out=gain[start:stop])

        for_slices(task, gain.size, CANDIDATES_PER_SLICE)
        gain[K] = 0.0
        fixed = np.einsum("ij,ij->j", D, D)
        span = np.linalg.qr(D[:, K])[0].T @ D
        free = fixed - np.einsum("ij,ij->j", span, span)
        rounding = 1e-24 * np.einsum("ij,ij,j->", self.points, self.points, self.sizes)
        best = []
        for square in (fixed, free):
            # what lies in the span of K up to rounding is no candidate
            score = np.divide(gain, square, out=np.zeros_like(gain), where=square > 1e-8 * fixed)
            top = np.argsort(-score, kind="stable")[:trials]
            best.append(top[score[top] > rounding])
        return np.unique(np.concatenate(best))


@dataclass
class Budget:
    """How many more choices may be tried exactly: bounds the work, the same on every machine."""

    left: float = np.inf


def grow(fit: Fit, r: int, K: Array, trials: int, budget: Budget) -> Array:
    """Add to K the candidate that lowers the error most until there are r, or until none lowers it."""
    while K.size < r and (choices := fit.promising(K, trials)).size:
        squares = [fit.residual(np.append(K, c))[0] for c in choices]
        budget.left -= len(squares)
        K = np.append(K, choices[int(np.argmin(squares))])
    return K
