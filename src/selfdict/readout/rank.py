"""How many materials to look for: the error that each further one removes, compared with noise.

The two rules, and what counts separately, are those of :doc:`/selection`. The selected pixels
contain noise themselves: if pixel j is fitted by coefficients h_j, the squared error due to noise
is 1 + ‖h_j‖² times its variance.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._display import counted
from selfdict._validation import Array, as_matrix
from selfdict.abundances import column_residuals, nnls
from selfdict.compute.linear_algebra import in_order, smaller_moments
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.peers.greedy import Budget, Fit, grow
from selfdict.peers.h2nmf import h2nmf
from selfdict.readout.exchange import exchange

TRIALS = 4  # candidates tried for each place
NOISE_SLACK = 1.1  # times the error expected from noise, since that is an estimate
PRESENT = 0.1  # the share of a material that a pixel with it has at least


@dataclass(frozen=True)
class RankAdvice:
    """A recommended number of materials, and the reason.

    Attributes
    ----------
    r : int
        The recommended number.
    reason : str
        The reason, in words.
    errors : (k,) ndarray
        ``errors[r - 1]`` is the relative error with r pixels chosen among representatives;
        :func:`selfdict.scene.unmix` searches among all pixels, and reports a somewhat smaller one.
    noise : float or None
        ‖noise‖_F / ‖M‖_F, estimated by regressions between bands; None for too few pixels.
    n_rare : int
        The number of further materials, which appear in few pixels.
    n_rare_pixels : int
        The number of pixels that these explain and the r materials do not.
    n_alone : int
        The number of pixels unlike all others, which were not counted.
    n_pixels : int
        The number of all pixels.
    """

    r: int
    reason: str
    errors: Array
    noise: float | None
    n_rare: int
    n_rare_pixels: int
    n_alone: int
    n_pixels: int

    @property
    def sentences(self) -> list[str]:
        """The advice in words, one sentence each."""
        sentences = [self.reason]
        if self.n_rare:
            share = _percent(self.n_rare_pixels / max(self.n_pixels, 1))
            pixels = counted(self.n_rare_pixels, "pixel")
            sentences.append(
                f"{self.n_rare} more would explain {pixels} ({share}) "
                f"that {counted(self.r, 'material')} do not: rare materials, or damaged pixels"
            )
        if self.n_alone:
            sentences.append(
                f"not counted: {counted(self.n_alone, 'pixel')} unlike all others (damaged, or a "
                "material of a single pixel)"
            )
        return sentences


def advise(
    M: ArrayLike,
    sample_weight: ArrayLike | None,
    r_max: int,
    report: Callable[[float], Any],
) -> RankAdvice:
    """Recommend a number of materials, at most ``r_max``, for points that are columns of M."""
    points = np.asarray(as_matrix(M), dtype=np.float64)
    weight = np.ones(points.shape[1])
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
    n_pixels = round(float(weight.sum()))
    most_points = 50_000  # beyond that, evenly spaced ones stand for all
    every = -(-points.shape[1] // most_points)
    points = points[:, ::every]
    weight = weight[::every]
    weight = weight * (n_pixels / max(weight.sum(), 1.0))
    alone = _alone(points, weight)
    points = points[:, ~alone]
    weight = weight[~alone]
    noise = _noise(points, weight)
    trials = _Trials(points, weight, noise or 0.0)
    with single_threaded_blas():
        trials.run(min(r_max, points.shape[1]), report)
    at_noise = trials.at_noise()
    if at_noise is None:
        r = trials.at_large()
        reason = _reason(r, trials.errors)
        n_rare, n_rare_pixels = trials.outside(r, r_max)
    else:
        n_rare, n_rare_pixels = trials.rare_among(at_noise)
        r = at_noise - n_rare
        reason = counted(r, "material")
        if n_rare:
            reason += f" and {n_rare} rare"
        reason += (
            ": pure pixels of these explain all others up to noise (relative error "
            f"{_percent(trials.found[at_noise - 1])}, noise {_percent(trials.noise)})"
        )
    report(1.0)
    return RankAdvice(
        r=r,
        reason=reason,
        errors=trials.errors,
        noise=noise,
        n_rare=n_rare,
        n_rare_pixels=n_rare_pixels,
        n_alone=int(alone.sum()),
        n_pixels=n_pixels,
    )


def _reason(r: int, errors: Array) -> str:
    materials = counted(r, "material")
    if errors[r - 1] == 0:
        return f"{materials}: they explain the scene exactly"
    if r == errors.size:
        return f"{materials}, the most that were tried: each further one still lowers the error"
    share = 1.0 - (errors[r - 1] / errors[0]) ** 2
    left = f"relative error {_percent(errors[r - 1])}, {_percent(errors[r])} with one more"
    if r == 1:
        return f"1 material explains the scene ({left})"
    return (
        f"{materials} explain {100 * share:.0f} % of the variance that a single one leaves ({left})"
    )


@dataclass
class _Trials:
    """Pixels chosen to explain all others: one, two, and so on."""

    points: Array
    weight: Array
    noise: float
    choices: list[Array] = field(default_factory=list)  # columns of the points
    found: list[float] = field(default_factory=list)  # relative errors
    expected: list[float] = field(default_factory=list)  # what they would be from noise alone

    @property
    def errors(self) -> Array:
        """The relative errors of one, two, … pixels."""
        return np.array(self.found)

    def run(self, r_max: int, report: Callable[[float], Any]) -> None:
        """Choose pixels by growth and a round of exchanges, until more would tell nothing."""
        representatives, sizes = _representatives(self.points, self.weight)
        columns = self.points[:, representatives]
        fit = Fit.of(columns, sizes, columns, min(columns.shape[0], r_max + 8))
        K = np.empty(0, dtype=np.intp)
        while K.size < min(r_max, representatives.size) and not self._is_finished():
            report(K.size / r_max)
            grown = grow(fit, K.size + 1, K, TRIALS, Budget())
            if grown.size == K.size:
                break  # all is explained
            K, _ = exchange(fit, fit, grown, TRIALS, Budget(2 * TRIALS * grown.size))
            self._add(representatives[K])
        if not self.choices:  # data of zeros
            self._add(np.zeros(1, dtype=np.intp))

    def _add(self, K: Array) -> None:
        """Add a choice with its error over all points."""
        residuals, H = _fitted(self.points, K)
        total = max(float(self.weight @ squared_norms(self.points)), np.finfo(float).tiny)
        error = float(np.sqrt(self.weight @ residuals**2 / total))
        # with brighter pixels the same noise counts less
        spread = float(self.weight @ squared_norms(H)) / float(self.weight.sum())
        free = max(0.0, 1 - K.size / len(self.points))
        self.choices.append(K)
        self.found.append(min([error, *self.found[-1:]]))
        self.expected.append(self.noise * float(np.sqrt((1 + spread) * free)))

    def _is_finished(self) -> bool:
        """Whether there are twice as many pixels as explain the points at large, and some more."""
        enough = self.enough()
        return enough is not None and len(self.found) >= 2 * enough + 4

    def enough(self) -> int | None:
        """Return the number of pixels that explain nearly all of what a single one leaves."""
        if not self.found:
            return None
        errors = self.errors
        # A few bands cannot be predicted from one another, and signal is taken for noise then.
        floor = min(self.noise, errors[-1])
        # a twentieth may be left, as is usual for principal components
        limit = floor**2 + 0.05 * (errors[0] ** 2 - floor**2)
        reached = np.flatnonzero(errors**2 <= limit)
        if reached.size == 0:
            return None
        return int(reached[0]) + 1

    def at_large(self) -> int:
        """Return the number of pixels that explain the points at large."""
        errors = self.errors
        # a further one that halves what is left is a material as well, up to one per band
        halved = 2 + np.flatnonzero(errors[1:] < errors[:-1] / 2)
        halved = halved[halved <= len(self.points)]
        return int(max([self.enough() or errors.size, *halved]))

    def at_noise(self) -> int | None:
        """Return the number of pixels after which only noise is left, if the curve is flat then."""
        errors = np.maximum(self.errors, np.finfo(float).tiny)
        expected = np.array(self.expected)
        # More is explained than that noise would allow: it is signal, in too few bands to tell.
        if (errors < expected / 2).any():
            return None
        gains = -np.diff(np.log(errors))  # gains[r - 1] is that of one more than r
        # the error with a single material may be noise alone, which two more hardly lower
        if errors[0] <= NOISE_SLACK * expected[0] and gains[:2].sum() < 0.2:
            return 1
        for r in range(2, errors.size - 1):
            is_explained = errors[r - 1] <= NOISE_SLACK * expected[r - 1]
            # noise is told from signal by bands that the materials do not need
            has_spare_bands = 2 * r <= len(self.points)
            is_flat_from_here = gains[r - 2] >= 3 * gains[r - 1 : r + 1].mean()
            if is_explained and has_spare_bands and is_flat_from_here:
                return r
        return None

    def rare_among(self, r: int) -> tuple[int, int]:
        """Return how many of r chosen pixels fewer than 1 % contain, and how many these are."""
        H = _fitted(self.points, self.choices[r - 1])[1]
        shares = H / np.maximum(H.sum(axis=0), np.finfo(float).tiny)
        present = (shares >= PRESENT) @ self.weight
        rare = present < 0.01 * self.weight.sum()
        if rare.all():
            return 0, 0
        pixels = (shares[rare] >= PRESENT).any(axis=0)
        return int(rare.sum()), round(float(self.weight[pixels].sum()))

    def outside(self, r: int, most: int) -> tuple[int, int]:
        """Return how many materials explain the pixels that stand out from r, and how many."""
        K = self.choices[r - 1]
        residuals = _fitted(self.points, K)[0]
        median = float(np.median(residuals))
        deviation = 1.4826 * float(np.median(np.abs(residuals - median)))
        rms = float(np.sqrt(np.mean(residuals**2)))
        limit = max(median + 6 * deviation, 2 * rms)
        outside = np.flatnonzero(residuals > limit)
        points = self.points[:, outside]
        left = residuals[outside]
        U = self.points[:, K]
        n_rare = 0
        n_explained = 0.0
        while (left > limit).any() and U.shape[1] < r + most:
            U = np.column_stack([U, points[:, np.argmax(left)]])
            now = column_residuals(U, points, nnls(U, points))
            explained = (left > limit) & (now <= limit)
            # a material shows in two pixels at least
            if explained.sum() >= 2:
                n_rare += 1
                n_explained += float(self.weight[outside[explained]].sum())
            left = now
        return n_rare, round(n_explained)


def _representatives(points: Array, weight: Array) -> tuple[Array, Array]:
    """Return columns that stand for all of them, and for how many each."""
    n = points.shape[1]
    most = 300
    if n <= most:
        return np.arange(n), weight
    clusters = h2nmf(points * np.sqrt(weight), most)
    return clusters.indices, np.bincount(clusters.labels, weight)


def _fitted(points: Array, K: Array) -> tuple[Array, Array]:
    """Return the residual of each point fitted by some of them, and the coefficients."""
    U = points[:, K]
    H = nnls(U, points)
    return column_residuals(U, points, H), H


def _noise(M: Array, weight: Array) -> float | None:
    """Return ‖noise‖_F / ‖M‖_F; None where a regression would explain any noise."""
    m, n = M.shape
    if n < 2 * m:
        return None
    R = smaller_moments(M * np.sqrt(weight))
    power = np.trace(R) / m
    if power == 0:
        return 0.0
    # Regressing row i on the others leaves (P M)_i / P_ii with P = (M Mᵀ)⁻¹, of variance 1 / P_ii.
    P = _inverse(R)
    variances = 1 / np.diag(P) / (1 - m / n)
    return float(np.sqrt(variances.sum() / (m * power)))


def _alone(M: Array, weight: Array) -> Array:
    """Return which columns hold more than half of the energy in some direction, as booleans."""
    # The largest share of one column m over all directions u, (uᵀm)² / uᵀRu, is mᵀ R⁻¹ m.
    m, n = M.shape
    # With few points per row all shares are large: those of Gaussian data have the mean m / n and a
    # standard deviation of about √(2m) / n.
    threshold = max(0.5, (m + 10 * np.sqrt(2 * m)) / n)
    if threshold >= 1:
        return np.zeros(n, dtype=bool)
    weighted = M * np.sqrt(weight)
    P = _inverse(smaller_moments(weighted))

    def shares(start: int, stop: int) -> Array:
        block = weighted[:, start:stop]
        return np.asarray(np.einsum("ij,ij->j", block, P @ block))

    columns_per_block = 2048
    return np.asarray(np.concatenate(list(in_order(shares, n, columns_per_block))) > threshold)


def _inverse(R: Array) -> Array:
    """Return the inverse of moments, slightly raised so that there is one."""
    m = len(R)
    power = max(np.trace(R) / m, np.finfo(float).tiny)
    return np.asarray(np.linalg.inv(R + 1e-12 * power * np.eye(m)))


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
