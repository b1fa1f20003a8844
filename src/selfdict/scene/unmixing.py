"""From a scene to endmembers and abundance maps, and to the number of materials."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._display import counted, listed, percent
from selfdict._validation import Array, as_matrix, as_rank
from selfdict.compute.deadline import Announcer
from selfdict.readout.proof import groups_of_rows
from selfdict.readout.rank import RankAdvice, advise
from selfdict.reductions.automatic import CandidateChoice
from selfdict.scene.choose import Choice, SceneCheck, choose, choose_others, solve_scene
from selfdict.scene.facts import Fit, unexplained_patches
from selfdict.scene.identification import identify
from selfdict.scene.inspection import Preflight
from selfdict.scene.maps import Maps, fit_in_time, map_scene
from selfdict.scene.metadata import band_numbers, coordinates_of, crs_text
from selfdict.scene.model import scene_of
from selfdict.scene.options import MOST_MATERIALS, UnmixOptions
from selfdict.scene.plan import Plan, Points, read_points, with_pixels
from selfdict.scene.result import Comparison, UnmixResult

# The steps as ``verbose`` names them.
STEPS = {
    "preflight": "looking at the bands",
    "read": "reading pixels",
    "rank": "finding the number of materials",
    "select": "choosing pure pixels",
    "abundances": "mapping abundances",
}


def unmix(
    scene: xr.DataArray | ArrayLike,
    r: int | str,
    *,
    wavelengths: ArrayLike | None = None,
    preflight: Preflight | None = None,
    client: Any = None,
    progress: Callable[[str, float], Any] | None = None,
    **settings: Any,
) -> UnmixResult:
    """Find r pure pixels in a scene, and the share of each in every pixel.

    The scene is read three times, block by block: once to check its bands
    (:func:`selfdict.scene.preflight`), once for the pixels the methods choose from, once for the
    abundances. A scene of a file that takes at most an eighth of the memory is read once and kept.

    With all pixels as candidates, ``"fgnsr"`` gets all of them, unless ``max_pixels`` is given. In
    all other cases a scene larger than ``max_pixels`` is thinned in the second pass: see
    :doc:`/large-data`.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x) or (n_rows, n_columns, n_bands) array
        See :func:`read_scene`; names of dims are recognised as in :func:`as_scene`. The bands of a
        plain array (NumPy, torch, an image of SPy) are its last axis.
    r : int or "auto"
        Number of endmembers; "auto" takes the number that :func:`advise_rank` recommends.
    wavelengths : (n_bands,) array_like, optional
        Of a plain array: in nanometres, or in micrometres if all are below 100.
    preflight : Preflight, optional
        What :func:`selfdict.scene.preflight` found in this scene with the same settings; by default
        the scene is read once more for that.
    client : distributed.Client, optional
        A dask cluster whose workers read and fit the blocks. They need access to the files of the
        scene and to the folder ``maps`` under the same names. By default this process does it. The
        result is the same.
    progress : callable, optional
        Called with the step (``"preflight"``, ``"read"``, ``"rank"``, ``"select"``,
        ``"abundances"``) and its share done.
    **settings
        ``method``, ``endmembers``, ``abundances``, ``library``, ``mask``, ``prove``, … and their
        defaults are those of :class:`selfdict.scene.UnmixOptions`. Others are parameters of the
        estimator (``solver``, ``postprocess``, ``callback``, …).

    Notes
    -----
    Negative values, such as noise in dark bands, are used as they are, as :class:`selfdict.FGNSR`
    uses them: raised to zero, they would bias averages, and the error would not be that of the
    data. The preflight says how many there are.

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import unmix
    >>> truth = make_scene(shape=(20, 20), n_endmembers=3, n_outliers=0, random_state=0)
    >>> result = unmix(truth.scene, 3, method="spa")
    >>> result.abundances.dims, result.pixels.shape
    (('endmember', 'y', 'x'), (3, 2))
    """
    options = UnmixOptions.of(r, **settings)
    return unmix_scene(scene_of(scene, wavelengths), options, preflight, client, progress)


def unmix_scene(
    scene: xr.DataArray,
    options: UnmixOptions,
    look: Preflight | None = None,
    client: Any = None,
    progress: Callable[[str, float], Any] | None = None,
) -> UnmixResult:
    """Unmix a scene (band, y, x); see :func:`unmix`."""
    stages = Stages()
    plan = Plan.of(options, scene, client)
    verbose = options.verbose
    if verbose is None and progress is not None:
        verbose = False
    with Announcer("unmix", verbose) as announcer:
        report = _reporter(progress, announcer)
        plan, look = plan.examined(look, partial(report, "preflight"))
        stages.end("preflight")

        others = [plan.of_method(name) for name in options.compare]
        points, *others_points = read_points([plan, *others], partial(report, "read"))
        stages.end("read")

        advice = None
        if options.r == "auto":
            advice = advise(points.M, points.sizes, plan.r, partial(report, "rank"))
            plan = replace(plan, r=advice.r)
        stages.end("rank")

        report("select", 0.0)
        plan, points, bound = _candidates(plan, points, partial(report, "select"))
        choice = choose(plan, points)
        stages.end("select")
        stages.seconds["select"] -= choice.proof_seconds
        stages.seconds["prove"] = choice.proof_seconds
        compared, failures = choose_others(plan, others, others_points)
        stages.end("compare")
        plan = fit_in_time(plan, choice, points)
        report("select", 1.0)
        # Up to 128 MiB, which the last pass does not need; a solution keeps its own data.
        del points, others_points

        maps = map_scene(plan, choice, compared, partial(report, "abundances"))
        stages.end("abundances")
    return _result(
        plan,
        choice,
        maps,
        failures,
        comparison=tuple(
            Comparison(other.method, error, other.seconds, _places(other.pixels, plan.scene))
            for other, error in zip(compared, maps.other_errors)
        ),
        preflight=look,
        fit=Fit.of(maps, len(choice.chosen), look, getattr(choice.estimator, "skipped_", ())),
        check=bound,
        rank_advice=advice,
        seconds=stages.seconds | {"total": sum(stages.seconds.values())},
    )


def _candidates(
    plan: Plan, points: Points, report: Callable[[float], Any]
) -> tuple[Plan, Points, SceneCheck | None]:
    """Return the plan with its candidates, the points to choose from, and a bound for all."""
    # If all pixels are candidates and do not fit in memory, the model is solved here.
    if not plan.is_solved_in_blocks:
        return plan.with_samples(points.M, points.sizes), points, None
    reason = (
        "All pixels were candidates of the model, read block by block: the check is the bound over "
        "all of them. The pure pixels were chosen from a random sample and the pixels with a "
        "weight."
    )
    plan = replace(plan, choice=CandidateChoice(None, reason))
    open_pixels, bound = solve_scene(plan, report)
    return plan, with_pixels(points, open_pixels), bound


def _result(
    plan: Plan, choice: Choice, maps: Maps, failures: list[str], **found: Any
) -> UnmixResult:
    """Return what was found, in the words and places of the scene."""
    endmembers = _endmembers(plan, choice, maps)
    notes = [*plan.notes, *failures]
    look = found["preflight"]
    n_missing = look.n_pixels - maps.totals.n_valid
    if n_missing > 0 and all(finding.kind != "missing values" for finding in look.findings):
        notes.append(
            f"left out: {counted(n_missing, 'further pixel')}, zero or too large in the bands that "
            "are used"
        )
    found |= {"solution": None, "solution_pixels": None}
    if plan.options.is_fgnsr:
        found |= _about_solution(plan, choice)
        notes += _notes_on_groups(choice, plan.scene)
        if choice.estimator.spread_ is not None:
            found["spread"] = endmembers.copy(data=choice.estimator.spread_).rename("spread")
    pixels = choice.pixels
    if pixels is None:
        # The spectra of a library are no pixels: show the pixel that holds most of each.
        pixels = maps.peaks
        found["atoms"] = choice.chosen
    places = _places(pixels, plan.scene)
    if plan.options.names is not None:
        found["identification"] = identify(endmembers, plan.options.names)
        notes += found["identification"].notes
    return UnmixResult(
        unexplained=unexplained_patches(maps, choice.U),
        endmembers=endmembers,
        scene=plan.scene,
        pixels=places,
        coordinates=coordinates_of(plan.scene, places),
        crs=crs_text(plan.scene),
        **maps.layers,
        relative_error=maps.relative_error,
        pixel_error=maps.pixel_error,
        proof=choice.proof,
        illumination=choice.illumination,
        parameters=_parameters(plan, choice, maps),
        notes=tuple(notes),
        skipped=tuple(plan.deadline.skipped),
        **found,
    )


def _about_solution(plan: Plan, choice: Choice) -> dict[str, Any]:
    """Return the solution of the model and the groups, by the fields of a result."""
    estimator = choice.estimator
    solution = estimator.solution_
    rows = groups_of_rows(solution, estimator.groups_)
    found = {
        "solution": solution,
        "solution_pixels": None,
        "group_weights": np.array([solution.diagonal[group].sum() for group in rows]),
    }
    if plan.library is not None:
        return found
    columns = choice.positions
    if estimator.clusters_ is not None:
        columns = columns[estimator.clusters_.indices]
    groups = (choice.positions[group] for group in estimator.groups_)
    return found | {
        "solution_pixels": _places(columns, plan.scene),
        "groups": tuple(_places(group, plan.scene) for group in groups),
        "counts": estimator.group_counts_,
        "alike": estimator.alike_,
    }


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
) -> RankAdvice:
    """Recommend how many materials to look for in a scene, or columns in a matrix, and say why.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x), a plain array as in :func:`unmix`, or a matrix (m, n)
        The columns of a matrix are the points; the settings that follow are for scenes.
    r_max : int
        The largest number to recommend.
    mask, keep_bands, preflight, client, random_state
        See :func:`unmix`.
    progress : callable, optional
        Called with the step (``"preflight"``, ``"read"``, ``"rank"``) and its share done.

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import advise_rank
    >>> scene = make_scene(shape=(24, 24), n_endmembers=3, random_state=0).scene
    >>> advice = advise_rank(scene)
    >>> advice.r, advice.n_alone
    (3, 3)
    """
    report = progress or (lambda step, share: None)
    if not isinstance(scene, xr.DataArray) and np.ndim(scene) == 2:
        M = as_matrix(scene)
        r_max = as_rank(r_max, max(M.shape[1], MOST_MATERIALS), "r_max")
        return advise(M, None, r_max, partial(report, "rank"))
    options = UnmixOptions(
        r="auto",
        mask=mask,
        keep_bands=keep_bands,
        random_state=random_state,
    )
    plan = Plan.of(options, scene_of(scene), client)
    r_max = as_rank(r_max, max(plan.n_pixels, MOST_MATERIALS), "r_max")
    plan, _ = plan.examined(preflight, partial(report, "preflight"))
    plan = replace(plan, r=min(r_max, plan.n_pixels))
    (points,) = read_points([plan], partial(report, "read"))
    return advise(points.M, points.sizes, plan.r, partial(report, "rank"))


class Stages:
    """How long the stages of some work take, one after the other."""

    def __init__(self, began: float | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._last = began or time.perf_counter()

    def end(self, stage: str) -> None:
        """Record the time since the stage before."""
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


def _reporter(
    progress: Callable[[str, float], Any] | None, announcer: Announcer
) -> Callable[[str, float], Any]:
    """Return what is called with the name of a step and its share done."""

    def report(step: str, share: float) -> None:
        announcer.step(STEPS[step])
        if progress is not None:
            progress(step, share)

    return report


def _notes_on_groups(choice: Choice, scene: xr.DataArray) -> list[str]:
    """Return which endmembers may be one material, and which pixels are none of them."""
    notes = []
    for found in choice.estimator.alike_:
        materials = listed([str(k + 1) for k in found])
        notes.append(
            f"materials {materials} may be the same: their spectra differ less "
            "than the pixels of their groups do, and their maps may be added"
        )
    left_aside = choice.estimator.left_aside_
    if left_aside:
        weight = sum(kind.weight for kind in left_aside)
        heaviest = []
        for kind in left_aside[:3]:
            place = divmod(int(choice.positions[kind.index]), scene.sizes["x"])
            heaviest.append(f"{place} with {percent(kind.weight)}")
        notes.append(
            f"open pixels of {len(left_aside)} kinds, with {percent(weight)} of the weight, "
            "are not similar to any pure pixel and are in no average; the heaviest are at row and "
            f"column {', '.join(heaviest)}"
        )
    return notes


def _parameters(plan: Plan, choice: Choice, maps: Maps) -> dict[str, Any]:
    """Return method and settings as they were used."""
    used: dict[str, Any] = {
        "r": plan.r,
        "endmembers": plan.options.endmember_kind,
        "n_bands": int(plan.bands.sum()),
        "n_valid": maps.totals.n_valid,
        "n_fitted": len(choice.positions),
    }
    if plan.options.is_fgnsr:
        used["candidates"] = choice.candidates
        used["candidates_reason"] = plan.choice.reason
    return plan.options.record() | used


def _endmembers(plan: Plan, choice: Choice, maps: Maps) -> xr.DataArray:
    """Return the spectra with the labels of the maps and what is known about the used bands."""
    coords: dict[Any, Any] = {}
    for key, coordinate in maps.layers["abundances"].coords.items():
        if coordinate.dims == ("endmember",):
            coords[key] = coordinate
    for key, coordinate in plan.scene.coords.items():
        if coordinate.dims == ("band",):
            coords[key] = coordinate.isel(band=plan.bands)
    # Bands may have been left out: a spectrum must say which ones it has.
    numbers = band_numbers(plan.scene)[plan.bands]
    coords["band_number"] = ("band", numbers)
    return xr.DataArray(choice.U.T, dims=("endmember", "band"), coords=coords, name="endmembers")


def _places(positions: Any, scene: xr.DataArray) -> Array:
    """Return positions counted row by row as (row, column), shape (k, 2)."""
    return np.stack(np.unravel_index(positions, scene.shape[1:]), axis=1)
