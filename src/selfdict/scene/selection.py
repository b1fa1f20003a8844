"""The first pass: read the pixels to choose from, and choose endmembers among them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, as_rank
from selfdict.abundances import Illumination, Variability
from selfdict.abundances.nnls import affords_fits
from selfdict.estimators import FGNSR
from selfdict.model.solution import Solution
from selfdict.readout import Proof, robustness_report
from selfdict.readout.evidence import groups_of_rows
from selfdict.readout.guarantee import Guarantee
from selfdict.reductions import Candidates
from selfdict.scene.blocks import blocks, float_dtype
from selfdict.scene.check import Dictionary
from selfdict.scene.passes import over_blocks
from selfdict.scene.request import METHODS, UnmixRequest
from selfdict.scene.thinning import AllPixels, Points, Representatives, Sample, gather
from selfdict.scene.whole import is_solved_in_blocks
from selfdict.solvers.block_search import SAMPLE_SIZE

_MAX_FIT_BYTES = 128 * 2**20  # of the pixels to choose from, unless max_pixels is given
_EXTREMES_PER_ENDMEMBER = 3  # extreme pixels that a sample of a block always holds
FIT_SHARE = 0.8  # part of a time limit for the estimator; the rest is for guarantees and proofs
_LEAST_PROOF_SECONDS = 5.0  # that a proof may always take, however quick the fit was


@dataclass(frozen=True)
class Selection:
    """What the estimator chose. A solution refers to the points it was found for.

    Attributes
    ----------
    U : (m, r) ndarray
        The endmembers.
    pixel_spectra : (m, r) ndarray or None
        The pure pixels; None with a library.
    chosen : (r,) ndarray of int
        Their numbers among the points, or among the spectra of the library.
    pixels : (r,) ndarray of int or None
        Their positions in the scene, counted row by row; None with a library.
    n_fitted : int
        Number of points.
    candidates : int or None
        Number of clusters that was used.
    solution : Solution or None
        Of model (6), for the method "fgnsr".
    solution_pixels : (k,) ndarray of int or None
        Positions in the scene of the columns of the solution; None with a library.
    guarantee : Guarantee or None
        For the points; None with a library.
    dictionary : Dictionary or None
        What the check over all pixels needs, if requested.
    groups : tuple of r ndarrays of int or None
        Positions in the scene of the nearly pure pixels of each material; None with a library, and
        for other methods than "fgnsr".
    group_weights : (r,) ndarray or None
        The sum of the weights of each group, on the diagonal of the solution.
    spread : (m, r) ndarray or None
        The standard deviations of averaged endmembers.
    counts : (r,) ndarray of int or None
        How many pixels were averaged.
    illumination : Illumination or None
        The brightness of endmembers and pixels, if shares are wanted.
    variability : Variability or None
        What the errors of shares need of the spread.
    proof : Proof or None
        What is proven about the groups, if requested.
    proof_seconds : float
        How long that took.
    """

    U: Array
    pixel_spectra: Array | None
    chosen: Array
    pixels: Array | None
    n_fitted: int
    candidates: int | None
    solution: Solution | None = None
    solution_pixels: Array | None = None
    guarantee: Guarantee | None = None
    dictionary: Dictionary | None = None
    groups: tuple[Array, ...] | None = None
    group_weights: Array | None = None
    spread: Array | None = None
    counts: Array | None = None
    illumination: Illumination | None = None
    variability: Variability | None = None
    proof: Proof | None = None
    proof_seconds: float = 0.0


def read_points(
    request: UnmixRequest,
    generator: np.random.Generator,
    client: Any,
    report: Callable[[float], Any],
) -> Points:
    """Read the scene once and return the pixels that the method chooses from."""
    task = _thinning(request, generator, is_solved_in_blocks(request, client))
    parts = []
    for _, points in over_blocks(request.scene, task, client, report):
        parts.append(points)
    points = gather(parts)
    if not len(points.values):
        raise InputError(
            "the scene has no valid pixel: all are no-data, not finite, zero or masked"
        )
    if request.library is None and not request.auto_rank:
        # Only now is it known how many pixels are valid.
        as_rank(request.r, len(points.values))
    return points


def _thinning(request: UnmixRequest, generator: np.random.Generator, in_blocks: bool) -> AllPixels:
    """Return the task that chooses the pixels of each block."""
    scene = request.scene
    bands = request.bands
    n_bands = int(bands.sum())
    n_pixels = scene.sizes["y"] * scene.sizes["x"]
    max_pixels = request.max_pixels
    takes_all = request.method == "fgnsr" and request.candidates is None
    if in_blocks:
        # A sample carries the choice of endmembers; the model is solved for all pixels.
        max_pixels = min(n_pixels, SAMPLE_SIZE)
    elif max_pixels is None and takes_all:
        # All pixels are the candidates: as the user said, or because it takes little time.
        return AllPixels(bands)
    if max_pixels is None:
        max_pixels = max(1, _MAX_FIT_BYTES // (n_bands * float_dtype(scene).itemsize))
    if n_pixels <= max_pixels:
        return AllPixels(bands)
    # Representatives stand for clusters by their size, which only the squared loss can weigh.
    if request.candidates is not None and request.squared_loss:
        per_block = max(1, max_pixels // len(blocks(scene)))
        return Representatives(bands, min(request.candidates, per_block))
    seed = int(generator.integers(2**31))
    # SPA finds at most as many extreme pixels as there are bands.
    n_extreme = min(_EXTREMES_PER_ENDMEMBER * request.r, n_bands)
    return Sample(bands, max_pixels / n_pixels, n_extreme, seed)


def choose_endmembers(request: UnmixRequest, points: Points, seed: int) -> Selection:
    """Fit the estimator to the points and return what it chose."""
    candidates = request.candidates
    if candidates is not None and candidates >= len(points.values):
        # Every point would be a cluster of its own.
        candidates = None
    started = time.perf_counter()
    estimator = make_estimator(request, candidates, seed)
    weights = None
    # The other methods take no weights, and have none but ones.
    if (points.sizes > 1).any():
        weights = points.sizes
    # Without abundances: those of all pixels are computed later.
    estimator.fit_components(points.values, weights)
    chosen = np.asarray(estimator.indices_)
    pixels = None
    pixel_spectra = None
    if request.library is None:
        pixels = points.pixels[chosen]
        pixel_spectra = np.ascontiguousarray(points.values[chosen].T)
    selection = Selection(
        U=estimator.components_.T,
        pixel_spectra=pixel_spectra,
        chosen=chosen,
        pixels=pixels,
        n_fitted=len(points.pixels),
        candidates=candidates,
        illumination=_illumination(request, estimator, points),
    )
    if request.method != "fgnsr":
        return selection
    fit_seconds = time.perf_counter() - started
    selection = _with_solution(selection, request, points, estimator)
    return _with_proof(selection, request, estimator, fit_seconds)


def _illumination(request: UnmixRequest, estimator: Any, points: Points) -> Illumination | None:
    """Return the brightness of endmembers and pixels, if shares are wanted."""
    if request.abundances != "shares":
        return None
    # a single pixel has any brightness; spectra of a library, and averages, have their own
    is_single_pixel = request.library is None and request.endmembers == "pixels"
    return Illumination.of(
        estimator.components_.T,
        points.values.T,
        rescale=is_single_pixel,
        sample_weight=points.sizes,
    )


def _with_proof(
    selection: Selection, request: UnmixRequest, estimator: Any, fit_seconds: float
) -> Selection:
    """Return the selection with a proof about its groups, if one is wanted."""
    if request.prove is False:
        return selection
    budget = request.deadline.left
    if request.prove == "auto":
        # Nobody waits longer for the proof than for what it is about.
        moderate = max(fit_seconds, _LEAST_PROOF_SECONDS)
        if budget is None:
            budget = moderate
        budget = min(budget, moderate)
    started = time.perf_counter()
    proof = estimator.prove(budget=budget)
    if request.deadline.passed and not proof.complete:
        request.deadline.skip("not everything was tried for the proof")
    return replace(selection, proof=proof, proof_seconds=time.perf_counter() - started)


def _with_solution(
    selection: Selection, request: UnmixRequest, points: Points, estimator: Any
) -> Selection:
    """Return the selection with the solution of the model, and what is known about its columns."""
    for what in estimator.skipped_:
        request.deadline.skip(what)
    solution = estimator.solution_
    rows = groups_of_rows(solution, estimator.groups_)
    selection = replace(
        selection,
        solution=solution,
        group_weights=np.array([solution.diagonal[group].sum() for group in rows]),
    )
    dictionary = None
    if request.library is not None:
        # The columns are atoms of the library, and the theorems are about pure pixels.
        if request.check:
            dictionary = Dictionary.of(request.library.values.T, solution)
        return replace(selection, dictionary=dictionary)
    columns: Any = slice(None)
    if estimator.clusters_ is not None:
        columns = estimator.clusters_.indices
    if request.check:
        dictionary = Dictionary.of(points.values[columns].T, solution)
    spread = None
    if estimator.spread_ is not None:
        spread = estimator.spread_.T
    return replace(
        selection,
        groups=tuple(points.pixels[group] for group in estimator.groups_),
        spread=spread,
        counts=estimator.group_counts_,
        variability=estimator.variability_,
        solution_pixels=points.pixels[columns],
        guarantee=_guarantee(selection, request, points),
        dictionary=dictionary,
    )


def _guarantee(selection: Selection, request: UnmixRequest, points: Points) -> Guarantee | None:
    """Return what the theorems promise, if there is time to find out."""
    M = points.values.T
    # A fit of all points, and a small linear program per endmember.
    if not affords_fits(request.deadline, 2, M[:, selection.chosen], M):
        request.deadline.skip("what the theorems promise was not computed")
        return None
    return robustness_report(M, selection.chosen)


def make_estimator(request: UnmixRequest, candidates: int | None, seed: int) -> Any:
    """Return the estimator that the request names, not fitted yet."""
    if request.method != "fgnsr":
        return METHODS[request.method](request.r, random_state=seed, **request.options)
    reduction: int | Candidates | None = candidates
    if candidates is not None and request.check:
        # The check bounds the model in which cluster sizes weigh the residuals; gates solved with
        # sizes that scale the points instead would belong to another model.
        reduction = Candidates(candidates, weighting="residual")
    dictionary = None
    if request.library is not None:
        dictionary = request.library.values
    max_seconds = None
    if request.deadline.left is not None:
        max_seconds = FIT_SHARE * request.deadline.left
    return FGNSR(
        request.r,
        max_seconds=max_seconds,
        candidates=reduction,
        mu=request.mu,
        dictionary=dictionary,
        endmembers=request.endmembers,
        random_state=seed,
        verbose=request.verbose,
        **request.options,
    )
