"""From a scene to endmembers and abundance maps, one block at a time."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict.compute.deadline import Announcer
from selfdict.model.solution import Status
from selfdict.scene.advice import advise
from selfdict.scene.assemble import assemble_result
from selfdict.scene.early_checks import check_before_reading
from selfdict.scene.identify import identify
from selfdict.scene.mapping import Maps, fit_task, map_scene
from selfdict.scene.plain import scene_of
from selfdict.scene.preflight import Preflight
from selfdict.scene.request import (
    METHODS,
    UnmixRequest,
    check_request,
    generator_of,
    use_sound_bands,
)
from selfdict.scene.result import UnmixResult
from selfdict.scene.selection import Selection, choose_endmembers, read_points
from selfdict.scene.thinning import with_pixels
from selfdict.scene.time_limit import fit_mapping_in_time
from selfdict.scene.whole import IN_BLOCKS, is_solved_in_blocks, solve_scene

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
    (:func:`selfdict.scene.preflight`), once for the pixels the method chooses from, once for the
    abundances. With all pixels as candidates, ``"fgnsr"`` gets all of them, unless ``max_pixels``
    is given. In all other cases a scene larger than ``max_pixels`` is thinned in the second pass.
    For ``"fgnsr"`` with representatives as candidates and the squared loss, each block is clustered
    by H2NMF, and the method gets the representatives with the sizes of their clusters. Otherwise a
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
    started = time.perf_counter()
    request = check_request(
        scene_of(scene, wavelengths),
        r,
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
        maps=maps,
        random_state=random_state,
        options=options,
        max_seconds=max_seconds,
    )
    request = replace(request, verbose=bool(verbose))
    check_before_reading(request)
    if verbose is None and progress is not None:
        verbose = False
    with Announcer("unmix", verbose) as announcer:
        report = _reporter(progress, announcer)
        request = use_sound_bands(request, preflight, client, partial(report, "preflight"))
        result = _run(request, generator_of(random_state), client, report, started)
    if request.names is None:
        return replace(result, notes=request.notes)
    identification = identify(result.endmembers, request.names)
    notes = (*request.notes, *identification.notes)
    return replace(result, identification=identification, notes=notes)


def _run(
    request: UnmixRequest,
    generator: np.random.Generator,
    client: Any,
    report: Callable[[str, float], Any],
    started: float,
) -> UnmixResult:
    """Choose endmembers and map abundances; ``started`` is when the request came in."""
    looked = time.perf_counter()
    points = read_points(request, generator, client, partial(report, "read"))
    read = time.perf_counter()

    seed = int(generator.integers(2**31))
    advice = None
    if request.auto_rank:
        half = replace(request, deadline=request.deadline.part(0.5))
        advice = advise(half, points, seed, client, partial(report, "rank"), curve=False)
        request = replace(request, r=advice.r)
    advised = time.perf_counter()

    report("select", 0.0)
    whole = None
    if is_solved_in_blocks(request, client):
        request = replace(request, candidates_reason=IN_BLOCKS)
        whole = solve_scene(request, seed, client, partial(report, "select"))
        points = with_pixels(points, whole.open_pixels)
    selection = choose_endmembers(request, points, seed)
    # A solver returns the best point it has after Ctrl-C. Nobody waits for maps of that.
    if selection.solution is not None and selection.solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    request = fit_mapping_in_time(request, selection, points, client)
    report("select", 1.0)
    # Up to 128 MiB, which the second pass does not need; a solution keeps its own data.
    del points
    selected = time.perf_counter()

    mapped = map_abundances(request, selection, client, partial(report, "abundances"))
    ended = time.perf_counter()

    seconds = {
        "preflight": looked - started,
        "read": read - looked,
        "rank": advised - read,
        "select": selected - advised - selection.proof_seconds,
        "prove": selection.proof_seconds,
        "abundances": ended - selected,
        "total": ended - started,
    }
    result = replace(assemble_result(request, selection, mapped, seconds), rank_advice=advice)
    if whole is not None:
        result = replace(result, check=whole.check)
    return result


def map_abundances(
    request: UnmixRequest, selection: Selection, client: Any, report: Callable[[float], Any]
) -> Maps:
    """Read the scene again and fit every pixel by the chosen endmembers."""
    task = fit_task(request, selection)
    return map_scene(request.scene, task, request.folder, client, report)


def _reporter(
    progress: Callable[[str, float], Any] | None, announcer: Announcer
) -> Callable[[str, float], Any]:
    """Return what is called with the name of a step and its share done."""

    def report(step: str, share: float) -> None:
        announcer.step(STEPS[step])
        if progress is not None:
            progress(step, share)

    return report
