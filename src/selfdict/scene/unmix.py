"""From a scene to endmembers and abundance maps, one block at a time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._validation import Array
from selfdict.compute.deadline import Announcer
from selfdict.files.grid import to_map
from selfdict.scene.advice import advise
from selfdict.scene.choose import Choice, choose, choose_others
from selfdict.scene.identify import identify
from selfdict.scene.mapping import Maps, fit_in_time, fit_task, map_scene
from selfdict.scene.metadata import band_numbers, crs_of, transform_of
from selfdict.scene.model import scene_of
from selfdict.scene.options import METHODS, UnmixOptions
from selfdict.scene.plan import Plan, held_in_memory, is_solved_in_blocks
from selfdict.scene.points import read_points, with_pixels
from selfdict.scene.preflight import Preflight
from selfdict.scene.result import Comparison, NegativeValues, UnmixResult
from selfdict.scene.whole import IN_BLOCKS, solve_scene

__all__ = ["METHODS", "unmix"]

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
    method: str = "fgnsr",
    candidates: int | str | None = "auto",
    mu: float | str = "auto",
    library: xr.DataArray | None = None,
    names: xr.DataArray | None = None,
    endmembers: str = "auto",
    abundances: str = "shares",
    mask: ArrayLike | None = None,
    keep_bands: bool = False,
    drop_bad_bands: bool | None = None,
    preflight: Preflight | None = None,
    max_pixels: int | None = None,
    check: bool = False,
    uncertainty: bool = True,
    prove: bool | str = False,
    compare: Sequence[str] = (),
    maps: str | PathLike[str] | None = None,
    client: Any = None,
    max_seconds: float | None = None,
    random_state: Any = None,
    progress: Callable[[str, float], Any] | None = None,
    verbose: bool | None = None,
    **options: Any,
) -> UnmixResult:
    """Find r pure pixels in a scene and how much of each every pixel holds.

    The scene is read three times, block by block: once to look at its bands
    (:func:`selfdict.scene.preflight`), once for the pixels the methods choose from, once for the
    abundances. A scene of a file that takes at most an eighth of the memory is read once and kept.
    (``r="auto"`` may need further passes, and so does a model of more pixels than fit in memory.)

    With all pixels as candidates, ``"fgnsr"`` gets all of them, unless ``max_pixels`` is given. In
    all other cases a scene larger than ``max_pixels`` is thinned in the second pass. For
    ``"fgnsr"`` with representatives as candidates and the squared loss, each block is clustered by
    H2NMF, and the method gets the representatives with the sizes of their clusters. Otherwise a
    method gets a random share of each block, and always its extreme pixels, found by SPA.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x) or (n_rows, n_columns, n_bands) array
        See :func:`read_scene`; names of dims are recognised as in :func:`as_scene`. The bands of a
        plain array (NumPy, torch, an image of SPy) are its last axis.
    r : int or "auto"
        Number of endmembers. "auto" takes the number that :func:`advise_rank` recommends for these
        settings, which can mean to choose pixels for several numbers.
    wavelengths : (n_bands,) array_like, optional
        Of a plain array: in nanometres, or in micrometres if all are below 100.
    method : {"fgnsr", "spa", "snpa", "xray", "vca", "h2nmf"}
        How pure pixels are chosen.
    candidates : "auto", int or None
        For ``"fgnsr"``: the number of H2NMF clusters whose representatives are the dictionary;
        None: all pixels, however many. "auto": all pixels if that is predicted to take at most a
        minute on two cores (about 340,000 pixels of 162 bands for six materials), or 0.4 of a time
        limit, else 500 representatives; with a library or another loss always 500.
        ``result.parameters["candidates_reason"]`` says why.
    mu : float or "auto"
        For ``"fgnsr"``: the penalty μ of model (6).
    library : xarray.DataArray (spectrum, band), optional
        For ``"fgnsr"``: find r spectra of this library instead of pure pixels; see
        :func:`read_library`. It is resampled to the bands of the scene
        (:func:`resample_library`), which must hold the same quantity in the same unit.
    names : xarray.DataArray (spectrum, band), optional
        Look up what the endmembers are in this library, see :func:`identify`.
    endmembers : {"auto", "pixels", "average"}
        Whether the endmembers are the pure pixels themselves, or averages over groups of nearly
        pure pixels, which carry less noise; see :func:`selfdict.pure_groups`. "auto" are averages
        for ``"fgnsr"`` without a library. The other methods have pixels only.
    abundances : {"shares", "unit", "nnls", "fcls"}
        What the maps show. "shares": the part of each pixel's area that each material covers, see
        :func:`selfdict.shares`; the brightness of pixels is a map of its own. "unit": shares
        relative to spectra of unit length, as in many published tables. "nnls": coefficients of
        nonnegative least squares. "fcls": the same with coefficients that sum to one.
    mask : (n_rows, n_columns) array-like of bool, optional
        True for pixels to leave out.
    keep_bands : bool
        Use all bands. By default those that hold one value in all pixels, and those that the scene
        marks as bad, are left out.
    drop_bad_bands : bool, optional
        Whether to leave out the bands marked as bad; by default they are, unless ``keep_bands``.
    preflight : Preflight, optional
        What :func:`selfdict.scene.preflight` found in this scene with the same settings; by default
        the scene is read once more for that.
    max_pixels : int, optional
        About the most pixels the method chooses from. By default all where all are candidates,
        else as many as fill 128 MiB.
    check : bool
        For ``"fgnsr"`` with ``candidates``: bound, in the second pass, how far the solution is from
        optimal for all pixels, see :class:`SceneCheck`. The cluster sizes then enter the model as
        weights of the residuals.
    uncertainty : bool
        Map the standard error of each abundance, too: see :doc:`/answer`.
    prove : bool or "auto"
        For ``"fgnsr"``: prove how far the groups of nearly pure pixels suffice, and how far each is
        needed; see :func:`selfdict.prove_groups`. With ``candidates`` it speaks of the
        representatives. "auto" gives the proof as long as the fit took, and at least five seconds,
        and leaves out what needs longer; it is False where no proof is possible.
    compare : sequence of str
        Methods to compare with, such as ``"spa"`` or ``"fgnsr-500"``. The errors of their pure
        pixels are measured in the same passes, without maps: see ``UnmixResult.comparison``.
    maps : str or path-like, optional
        A new folder to write the maps to, block by block, as ``abundances.zarr``,
        ``residual.zarr`` and ``uncertainty.zarr``; the maps of the result then read them lazily. By
        default they are held in memory.
    client : distributed.Client, optional
        A dask cluster whose workers read and fit the blocks. They need access to the files of the
        scene and to the folder ``maps`` under the same names. By default this process does it. The
        result is the same.
    max_seconds : float, optional
        For ``"fgnsr"``: the time limit of all that chooses and proves. What has been found by then
        is used, and ``UnmixResult.skipped`` says what was left out. The scene is always read, and
        the abundances are always mapped, but without standard errors if these take too long.
    random_state : None, int or numpy.random.Generator
        The same seed gives the same result; None is the seed 0.
    progress : callable, optional
        Called with the step (``"preflight"``, ``"read"``, ``"rank"``, ``"select"``,
        ``"abundances"``) and its share done.
    verbose : bool or None, default=None
        Print every step and the solver's progress; None: one line on stderr that says what is being
        done, after ten seconds, unless ``progress`` is given; False: nothing.
    **options
        Further parameters of the estimator (``solver``, ``postprocess``, ``callback``, …).

    Returns
    -------
    UnmixResult

    Notes
    -----
    Negative values, such as noise in dark bands, are used as they are, as :class:`selfdict.FGNSR`
    uses them: raised to zero, they would bias averages, and the error would not be that of the
    data. ``UnmixResult.negative`` says how many there are.

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import unmix
    >>> truth = make_scene(shape=(20, 20), n_endmembers=3, n_outliers=0, random_state=0)
    >>> result = unmix(truth.scene, 3, method="spa")
    >>> result.abundances.dims, result.pixels.shape
    (('endmember', 'y', 'x'), (3, 2))
    """
    unmixing = UnmixOptions(
        r=r,
        method=method,
        candidates=candidates,
        mu=mu,
        library=library,
        names=names,
        endmembers=endmembers,
        abundances=abundances,
        mask=mask,
        keep_bands=keep_bands,
        drop_bad_bands=drop_bad_bands,
        max_pixels=max_pixels,
        check=check,
        uncertainty=uncertainty,
        prove=prove,
        compare=tuple(compare),
        maps=maps,
        max_seconds=max_seconds,
        random_state=random_state,
        verbose=verbose,
        estimator=options,
    )
    return unmix_scene(scene_of(scene, wavelengths), unmixing, preflight, client, progress)


def unmix_scene(
    scene: xr.DataArray,
    options: UnmixOptions,
    look: Preflight | None = None,
    client: Any = None,
    progress: Callable[[str, float], Any] | None = None,
) -> UnmixResult:
    """Unmix a scene (band, y, x); see :func:`unmix`."""
    times = _Times()
    plan = Plan.of(options, scene)
    verbose = options.verbose
    if verbose is None and progress is not None:
        verbose = False
    with Announcer("unmix", verbose) as announcer:
        report = _reporter(progress, announcer)
        plan = replace(plan, scene=held_in_memory(plan.scene, client))
        plan = plan.examined(look, client, partial(report, "preflight"))
        times.end("preflight")

        others = plan.compared()
        points, *others_points = read_points([plan, *others], client, partial(report, "read"))
        times.end("read")

        advice = None
        if options.r == "auto":
            half = replace(plan, deadline=plan.deadline.part(0.5))
            advice = advise(half, points, client, partial(report, "rank"), curve=False)
            plan = replace(plan, r=advice.r)
        times.end("rank")

        report("select", 0.0)
        whole = None
        if is_solved_in_blocks(plan, client):
            plan = replace(plan, candidates_reason=IN_BLOCKS)
            whole = solve_scene(plan, client, partial(report, "select"))
            points = with_pixels(points, whole.open_pixels)
        choice = choose(plan, points)
        times.end("select")
        compared, notes = choose_others(plan, others, others_points)
        times.end("compare")
        plan = fit_in_time(plan, choice, points, client)
        report("select", 1.0)
        # Up to 128 MiB, which the last pass does not need; a solution keeps its own data.
        del points, others_points

        task = fit_task(plan, choice, [other for _, other in compared])
        maps = map_scene(plan.scene, task, options.folder, client, partial(report, "abundances"))
        times.end("abundances")
    result = _result(plan, choice, maps, times.record(choice.proof_seconds))
    result = replace(
        result,
        comparison=_comparison(plan.scene, compared, maps),
        rank_advice=advice,
        notes=(*plan.notes, *notes),
    )
    if whole is not None:
        result = replace(result, check=whole.check)
    if options.names is None:
        return result
    found = identify(result.endmembers, options.names)
    return replace(result, identification=found, notes=(*result.notes, *found.notes))


class _Times:
    """How long the steps take, one after the other."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def end(self, step: str) -> None:
        """Record the time since the step before."""
        now = time.perf_counter()
        self._seconds[step] = now - self._last
        self._last = now

    def record(self, proof_seconds: float) -> dict[str, float]:
        """Return the times of the steps, the proof apart from the choice, and of all."""
        seconds = self._seconds | {"prove": proof_seconds}
        seconds["select"] -= proof_seconds
        return seconds | {"total": sum(self._seconds.values())}


def _reporter(
    progress: Callable[[str, float], Any] | None, announcer: Announcer
) -> Callable[[str, float], Any]:
    """Return what is called with the name of a step and its share done."""

    def report(step: str, share: float) -> None:
        announcer.step(STEPS[step])
        if progress is not None:
            progress(step, share)

    return report


def _comparison(
    scene: xr.DataArray, choices: list[tuple[str, Choice]], maps: Maps
) -> tuple[Comparison, ...]:
    """Return what the other methods found."""
    rows = []
    for (name, choice), error in zip(choices, maps.other_errors):
        rows.append(Comparison(name, error, choice.seconds, _pixels(choice, maps, scene)))
    return tuple(rows)


def _result(plan: Plan, choice: Choice, maps: Maps, seconds: dict[str, float]) -> UnmixResult:
    """Return the result of the steps."""
    scene = plan.scene
    pixels = _pixels(choice, maps, scene)
    solution_pixels = None
    if choice.solution_pixels is not None:
        solution_pixels = _rows_and_columns(choice.solution_pixels, scene)
    atoms = None
    if plan.library is not None:
        atoms = choice.chosen
    groups = None
    if choice.groups is not None:
        groups = tuple(_rows_and_columns(group, scene) for group in choice.groups)
    endmembers = _endmembers(plan, choice, maps)
    spread = None
    if choice.spread is not None:
        spread = endmembers.copy(data=choice.spread.T).rename("spread")
    totals = maps.totals
    pixel_error = maps.pixel_error
    if plan.library is None and pixel_error is None:
        pixel_error = totals.relative_error
    return UnmixResult(
        endmembers=endmembers,
        pixels=pixels,
        coordinates=_coordinates(scene, pixels),
        crs=_crs_text(scene),
        abundances=maps.abundances,
        residual=maps.residual,
        valid=maps.valid,
        relative_error=totals.relative_error,
        solution=choice.solution,
        solution_pixels=solution_pixels,
        parameters=_parameters(plan, choice, maps),
        seconds=seconds,
        atoms=atoms,
        check=maps.check,
        groups=groups,
        group_weights=choice.group_weights,
        spread=spread,
        counts=choice.counts,
        proof=choice.proof,
        uncertainty=maps.uncertainty,
        brightness=maps.brightness,
        illumination=choice.illumination,
        pixel_error=pixel_error,
        negative=NegativeValues(totals.n_negative, totals.n_values, min(totals.lowest, 0.0)),
        preflight=plan.preflight,
        skipped=tuple(plan.deadline.skipped),
    )


def _parameters(plan: Plan, choice: Choice, maps: Maps) -> dict[str, Any]:
    """Return method and settings as they were used."""
    used: dict[str, Any] = {
        "r": plan.r,
        "endmembers": plan.options.endmember_kind,
        "drop_bad_bands": plan.drop_bad_bands,
        "uncertainty": plan.uncertainty,
        "n_bands": int(plan.bands.sum()),
        "n_valid": maps.totals.n_valid,
        "n_fitted": choice.n_fitted,
    }
    if plan.options.is_fgnsr:
        used["candidates"] = choice.candidates
        used["candidates_reason"] = plan.candidates_reason
    return plan.options.record() | used


def _pixels(choice: Choice, maps: Maps, scene: xr.DataArray) -> Array:
    """Return row and column of the pure pixels, (r, 2)."""
    if choice.pixels is None:
        # The spectra of a library are no pixels: show the pixel that holds most of each.
        return _rows_and_columns(maps.peaks, scene)
    return _rows_and_columns(choice.pixels, scene)


def _endmembers(plan: Plan, choice: Choice, maps: Maps) -> xr.DataArray:
    """Return the spectra with the labels of the maps and what is known about the used bands."""
    coords: dict[Any, Any] = {}
    for key, coordinate in maps.abundances.coords.items():
        if coordinate.dims == ("endmember",):
            coords[key] = coordinate
    for key, coordinate in plan.scene.coords.items():
        if coordinate.dims == ("band",):
            coords[key] = coordinate.isel(band=plan.bands)
    # Bands may have been left out: a spectrum must say which ones it has.
    numbers = band_numbers(plan.scene)[plan.bands]
    coords["band_number"] = ("band", numbers)
    return xr.DataArray(choice.U.T, dims=("endmember", "band"), coords=coords, name="endmembers")


def _rows_and_columns(positions: Array, scene: xr.DataArray) -> Array:
    """Return positions counted row by row as (row, column), shape (k, 2)."""
    return np.stack(np.unravel_index(positions, scene.shape[1:]), axis=1)


def _coordinates(scene: xr.DataArray, pixels: Array) -> Array | None:
    """Return the map coordinates x, y of the centres of pixels, or None if they are not known."""
    rows, columns = pixels.T
    transform = transform_of(scene)
    if transform is not None:
        # Whole numbers are the corners of pixels.
        x, y = to_map(transform, columns + 0.5, rows + 0.5)
        return np.stack([x, y], axis=1)
    if _in_sensor_geometry(scene):
        longitude = scene["lon"].values[rows, columns]
        latitude = scene["lat"].values[rows, columns]
        return np.stack([longitude, latitude], axis=1)
    return None


def _crs_text(scene: xr.DataArray) -> str | None:
    """Return the CRS of these coordinates as text, or None."""
    if transform_of(scene) is None and _in_sensor_geometry(scene):
        return "EPSG:4326"
    crs = crs_of(scene)
    if crs is None:
        return None
    return str(crs.to_string())


def _in_sensor_geometry(scene: xr.DataArray) -> bool:
    return "lat" in scene.coords and "lon" in scene.coords
