"""How many materials to look for in a scene, and why."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_rank
from selfdict.abundances import column_residuals, nnls
from selfdict.kernels.columns import squared_norms
from selfdict.readout.signal import Signal, measure_signal
from selfdict.reductions.recipe import N_CLUSTERS
from selfdict.scene.blocks import stored_block
from selfdict.scene.choose import choose
from selfdict.scene.fitting import FitBlock, Totals
from selfdict.scene.inspection import Preflight
from selfdict.scene.maps import fit_task
from selfdict.scene.model import scene_of
from selfdict.scene.options import MOST_MATERIALS, UnmixOptions
from selfdict.scene.passes import Block, over_blocks
from selfdict.scene.plan import Plan, held_in_memory
from selfdict.scene.points import Points, read_points

# A further material must lower the error by this share of what one material leaves.
_LEAST_GAIN = 0.05
# With more pixels each number of materials is tried on cluster representatives instead: a fit of
# all pixels may take a minute.
_MOST_CANDIDATES = 20_000
# Settings of ``unmix`` that the errors depend on.
_SETTINGS = ("method", "candidates", "mu", "endmembers", "abundances", "max_pixels")


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


def advise_rank(
    scene: xr.DataArray | ArrayLike,
    r_max: int = MOST_MATERIALS,
    *,
    mask: ArrayLike | None = None,
    keep_bands: bool = False,
    preflight: Preflight | None = None,
    client: Any = None,
    random_state: Any = None,
    progress: Callable[[str, float], Any] | None = None,
    **settings: Any,
) -> RankAdvice:
    """Recommend how many materials to look for in a scene, and say why.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x), or a plain array
        See :func:`unmix`.
    r_max : int
        The largest number to recommend.
    mask, keep_bands, preflight, client, random_state
        See :func:`unmix`.
    progress : callable, optional
        Called with the step (``"preflight"``, ``"read"``, ``"rank"``) and its share done.
    **settings
        ``method``, ``candidates``, ``mu``, ``endmembers``, ``abundances`` and ``max_pixels`` of
        :func:`unmix`, with the same defaults.

    Returns
    -------
    RankAdvice
        ``errors`` are those that :func:`unmix` reports for 1, 2, … materials.

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import advise_rank
    >>> scene = make_scene(shape=(24, 24), n_endmembers=3, random_state=0).scene
    >>> advice = advise_rank(scene, random_state=0, method="spa")
    >>> advice.r, advice.n_alone
    (3, 3)
    """
    unknown = settings.keys() - set(_SETTINGS)
    if unknown:
        raise TypeError(f"advise_rank takes no setting {', '.join(sorted(unknown))}")
    options = UnmixOptions(
        r="auto",
        mask=mask,
        keep_bands=keep_bands,
        random_state=random_state,
        **settings,
    )

    def report(step: str, share: float) -> None:
        if progress is not None:
            progress(step, share)

    plan = Plan.of(options, held_in_memory(scene_of(scene), client))
    r_max = as_rank(r_max, max(plan.n_pixels, MOST_MATERIALS), "r_max")
    plan = plan.examined(preflight, client, partial(report, "preflight"))
    plan = replace(plan, r=min(r_max, plan.n_pixels))
    (points,) = read_points([plan], client, partial(report, "read"))
    return advise(plan, points, client, partial(report, "rank"), curve=True)


def advise(
    plan: Plan, points: Points, client: Any, report: Callable[[float], Any], *, curve: bool
) -> RankAdvice:
    """Recommend a number of materials, at most ``plan.r``.

    If only noise is left after a number of directions, and much more before the last of them, that
    number is recommended. Otherwise the scene is unmixed with 1, 2, … materials, until a further
    one lowers the error by less than a twentieth of what one material leaves. With ``curve`` the
    errors are computed also if the recommendation does not need them.
    """
    signal = measure_signal(points.M, points.sizes)
    r_max = min(plan.r, len(points), signal.limits.size)
    clear = signal.clear_dimension
    if clear is not None and clear > r_max:
        clear = None
    alone = np.ascontiguousarray(points.M[:, signal.alone])
    trials = _Trials(plan, points, client, report, alone)
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
    """The scene unmixed with several numbers of materials."""

    plan: Plan
    points: Points
    client: Any
    report: Callable[[float], Any]
    alone: Array  # (m, k), the pixels that do not count
    # The relative errors that ``unmix`` reports, and those of the pure pixels, or of spectra of a
    # library, over the pixels that count.
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
            trial = replace(self._quick_plan(), r=r)
            try:
                choice = choose(trial, self.points)
            except InputError:
                if r == 1:
                    raise
                break  # fewer materials explain all points exactly
            tasks.append(fit_task(trial, choice))
        if not tasks:
            return False
        self._measure(tasks)
        self.report(1.0)
        return True

    @property
    def n_candidates(self) -> int | None:
        """Number of representatives that stand for all pixels in the trials; None: as planned."""
        if self.plan.takes_all and len(self.points) > _MOST_CANDIDATES:
            return N_CLUSTERS
        return None

    def _quick_plan(self) -> Plan:
        """Return the plan without what the errors do not need."""
        options = replace(self.plan.options, prove=False, maps=None)
        plan = replace(self.plan, options=options, uncertainty=False)
        if self.n_candidates is not None:
            plan = replace(plan, candidates=self.n_candidates)
        return plan

    def _measure(self, tasks: list[FitBlock]) -> None:
        """Add the errors over all pixels, which one pass over the scene gives."""
        sums = [task.no_totals() for task in tasks]
        for _, answers in over_blocks(self.plan.scene, _FitAll(tuple(tasks)), self.client):
            sums = [total + answer for total, answer in zip(sums, answers)]
        for task, totals in zip(tasks, sums):
            self.errors.append(totals.relative_error)
            self.pixel_errors.append(self._pixel_error(task, totals))

    def _pixel_error(self, task: FitBlock, totals: Totals) -> float:
        """Return the error of the pure pixels without that of the pixels that do not count."""
        U = task.U
        squared_error = totals.squared_error
        if task.measures_pixels:
            U = task.others[0]
            squared_error = float(totals.squared_other_errors[0])
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
