"""How many materials to look for in a scene, and why."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.abundances import column_residuals, nnls
from selfdict.kernels.columns import squared_norms
from selfdict.readout.signal import Signal, measure_signal
from selfdict.reductions.recipe import N_CLUSTERS
from selfdict.scene.blocks import stored_block
from selfdict.scene.fitting import FitBlock, Totals
from selfdict.scene.mapping import fit_task
from selfdict.scene.passes import Block, over_blocks
from selfdict.scene.request import UnmixRequest
from selfdict.scene.selection import choose_endmembers
from selfdict.scene.thinning import Points

# A further material must lower the error by this share of what one material leaves.
_LEAST_GAIN = 0.05
# With more pixels each number of materials is tried on cluster representatives instead: a fit of
# all pixels may take a minute.
_MOST_CANDIDATES = 20_000


@dataclass(frozen=True)
class RankAdvice:
    """A number of materials, and what speaks for it.

    Attributes
    ----------
    r : int
        The number to take.
    reason : str
        Why, in words.
    hysime : int or None
        Number of directions with more signal than noise; None for scenes of few pixels.
    elbow : int or None
        The last number that lowers the error by a twentieth of what one material leaves; None if it
        was not needed.
    noise : float or None
        ‖noise‖_F / ‖M‖_F, as HySime estimates it.
    n_alone : int
        Number of pixels unlike all others, which were not counted.
    errors : (k,) ndarray
        ``errors[r - 1]`` is ``UnmixResult.relative_error`` with r materials.
    pixel_errors : (k,) ndarray
        ``UnmixResult.pixel_error``, but for the pixels that were not counted; by these errors the
        elbow is found.
    limits : (m,) ndarray
        No r spectra whatsoever have an error below ``limits[r - 1]``, but for the pixels that were
        not counted.
    n_candidates : int or None
        Number of cluster representatives that the errors are of, if :func:`selfdict.scene.unmix`
        would choose among all pixels instead.
    """

    r: int
    reason: str
    hysime: int | None
    elbow: int | None
    noise: float | None
    n_alone: int
    errors: Array
    pixel_errors: Array
    limits: Array
    n_candidates: int | None = None

    @property
    def sentences(self) -> list[str]:
        """The advice in words, one sentence each."""
        sentences = [self.reason]
        if self.hysime is not None and self.noise is not None and self.hysime != self.r:
            sentences.append(
                f"HySime counts {self.hysime} directions above the noise ({_percent(self.noise)}): "
                "more than materials if their spectra vary"
            )
        if self.n_alone == 1:
            sentences.append(
                "1 pixel unlike all others is not counted: it is damaged, or a material of its own"
            )
        elif self.n_alone:
            sentences.append(
                f"{self.n_alone} single pixels unlike all others are not counted: damaged ones, or "
                "materials of one pixel"
            )
        if self.n_candidates is not None and self.errors.size:
            sentences.append(
                f"the errors are those of {self.n_candidates} candidates: all pixels would take "
                "long for each number of materials"
            )
        return sentences


def advise(
    request: UnmixRequest,
    points: Points,
    seed: int,
    client: Any,
    report: Callable[[float], Any],
    *,
    curve: bool,
) -> RankAdvice:
    """Recommend a number of materials, at most ``request.r``.

    If only noise is left after a number of directions, and much more before the last of them, that
    number is recommended. Otherwise the scene is unmixed with 1, 2, … materials, until a further
    one lowers the error by less than a twentieth of what one material leaves.

    Parameters
    ----------
    request : UnmixRequest
        The settings with which the scene is unmixed.
    points : Points
        The pixels that the method chooses from.
    seed : int
        Of the method.
    client : distributed.Client or None
        See :func:`selfdict.scene.unmix`.
    report : callable
        Called with the share done.
    curve : bool
        Compute the errors also if the recommendation does not need them.
    """
    signal = measure_signal(points.values.T, points.sizes)
    r_max = min(request.r, len(points.values), signal.limits.size)
    clear = signal.clear_dimension
    if clear is not None and clear > r_max:
        clear = None
    alone = np.ascontiguousarray(points.values[signal.alone].T)
    trials = _Trials(request, points, seed, client, report, alone)
    if clear is not None and not curve:
        return _advice(clear, _clear_reason(clear, signal), signal, trials, None)
    # One more than any recommendation that the limits make likely.
    last = max(_last_gain(signal.limits), clear or 1)
    trials.run(range(1, min(last + 1, r_max) + 1))
    # The errors of pixels may fall later than those of the best vectors.
    while trials.last_gain() >= _LEAST_GAIN and trials.n_tried < r_max:
        if not trials.run([trials.n_tried + 1]):
            break
    elbow = _last_gain(np.array(trials.pixel_errors))
    if clear is not None:
        return _advice(clear, _clear_reason(clear, signal), signal, trials, elbow)
    return _advice(elbow, _elbow_reason(elbow, trials), signal, trials, elbow)


def _last_gain(errors: Array) -> int:
    """Return the last rank that lowers the error enough."""
    gains = errors[:-1] - errors[1:]
    enough = np.flatnonzero(gains >= _LEAST_GAIN * errors[0])
    if enough.size == 0 or errors[0] == 0:
        return 1
    return int(enough[-1]) + 2


def _clear_reason(r: int, signal: Signal) -> str:
    noise = _percent(signal.limits[r - 1])
    reason = f"{_materials(r)}: with any more directions only noise is explained ({noise} is left)"
    if r == 1:
        return reason
    return f"{reason}; no {r - 1} spectra have an error below {_percent(signal.limits[r - 2])}"


def _elbow_reason(r: int, trials: "_Trials") -> str:
    errors = trials.pixel_errors
    if r >= len(errors):
        return f"{_materials(r)}: the most that were tried"
    return (
        f"{_materials(r)}: {r + 1} would lower the error of pure pixels from "
        f"{_percent(errors[r - 1])} to {_percent(errors[r])}, by less than a twentieth of the "
        f"{_percent(errors[0])} that one leaves"
    )


def _advice(
    r: int, reason: str, signal: Signal, trials: "_Trials", elbow: int | None
) -> RankAdvice:
    return RankAdvice(
        r=r,
        reason=reason,
        hysime=signal.dimension,
        elbow=elbow,
        noise=signal.noise,
        n_alone=int(signal.alone.sum()),
        errors=np.array(trials.errors),
        pixel_errors=np.array(trials.pixel_errors),
        limits=signal.limits,
        n_candidates=trials.n_candidates,
    )


@dataclass
class _Trials:
    """The scene unmixed with several numbers of materials.

    Attributes
    ----------
    request, points, seed, client, report
        See :func:`advise`.
    alone : (m, k) ndarray
        The pixels that do not count.
    errors : list of float
        The relative errors that :func:`selfdict.scene.unmix` reports.
    pixel_errors : list of float
        Those of the pure pixels, or of spectra of a library, over the pixels that count.
    """

    request: UnmixRequest
    points: Points
    seed: int
    client: Any
    report: Callable[[float], Any]
    alone: Array
    errors: list[float] = field(default_factory=list)
    pixel_errors: list[float] = field(default_factory=list)

    @property
    def n_tried(self) -> int:
        """The largest rank so far."""
        return len(self.errors)

    def last_gain(self) -> float:
        """Return by how much the last material lowered the error, relative to that of one."""
        if self.n_tried < 2 or self.pixel_errors[0] == 0:
            return 0.0
        return (self.pixel_errors[-2] - self.pixel_errors[-1]) / self.pixel_errors[0]

    def run(self, ranks: Iterable[int]) -> bool:
        """Unmix with the next ranks; return whether that was possible for the first of them."""
        tasks: list[FitBlock] = []
        ranks = list(ranks)
        for r in ranks:
            self.report(len(tasks) / (len(ranks) + 1))
            trial = replace(self._quick_request(), r=r)
            try:
                selection = choose_endmembers(trial, self.points, self.seed)
            except InputError:
                if r == 1:
                    raise
                break  # fewer materials explain all points exactly
            tasks.append(replace(fit_task(trial, selection), dictionary=None))
        if not tasks:
            return False
        self._measure(tasks)
        self.report(1.0)
        return True

    @property
    def n_candidates(self) -> int | None:
        """Number of representatives that stand for all pixels in the trials; None: as requested."""
        takes_all = self.request.method == "fgnsr" and self.request.candidates is None
        if takes_all and len(self.points.values) > _MOST_CANDIDATES:
            return N_CLUSTERS
        return None

    def _quick_request(self) -> UnmixRequest:
        """Return the request without what the errors do not need."""
        request = replace(self.request, prove=False, uncertainty=False)
        if self.n_candidates is not None:
            request = replace(request, candidates=self.n_candidates)
        return request

    def _measure(self, tasks: list[FitBlock]) -> None:
        """Add the errors over all pixels, which one pass over the scene gives."""
        sums = [Totals() for _ in tasks]
        for _, answers in over_blocks(self.request.scene, _FitAll(tuple(tasks)), self.client):
            sums = [total + answer for total, answer in zip(sums, answers)]
        for task, totals in zip(tasks, sums):
            self.errors.append(totals.relative_error)
            self.pixel_errors.append(self._pixel_error(task, totals))

    def _pixel_error(self, task: FitBlock, totals: Totals) -> float:
        """Return the error of the pure pixels without that of the pixels that do not count."""
        U = task.U
        squared_error = totals.squared_error
        if task.pixel_spectra is not None:
            U = task.pixel_spectra
            squared_error = totals.squared_pixel_error
        squared_norm = totals.squared_norm
        if self.alone.size:
            residuals = column_residuals(U, self.alone, nnls(U, self.alone))
            squared_error -= float(residuals @ residuals)
            squared_norm -= float(squared_norms(self.alone).sum())
        return float(np.sqrt(max(squared_error, 0.0) / max(squared_norm, np.finfo(float).tiny)))


@dataclass(frozen=True)
class _FitAll:
    """Fit the pixels of a block by several sets of endmembers."""

    tasks: tuple[FitBlock, ...]

    def __call__(self, block: Block) -> list[Totals]:
        # Loaded once: a compressed file would be unpacked for each task.
        raw = stored_block(block.scene, slice(None), slice(None))
        scene = block.scene.copy(data=raw.reshape(block.scene.shape))
        loaded = replace(block, scene=scene)
        return [task(loaded).totals for task in self.tasks]


def _materials(r: int) -> str:
    if r == 1:
        return "1 material"
    return f"{r} materials"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
