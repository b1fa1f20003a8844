"""The settings of an unmixing applied to one scene: bands, candidates, pixels to choose from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import InputError
from selfdict._validation import Array, as_rank
from selfdict.compute.deadline import Deadline
from selfdict.compute.device import physical_memory
from selfdict.model.problem import Problem
from selfdict.peers import h2nmf, spa
from selfdict.reductions.automatic import (
    N_CLUSTERS,
    CandidateChoice,
    choose_by_samples,
    choose_candidates,
    needs_samples,
)
from selfdict.scene.blocks import (
    Block,
    blocks,
    cut,
    float_dtype,
    good_bands,
    stored_matrix,
    with_mask,
)
from selfdict.scene.identification import check_names
from selfdict.scene.inspection import Preflight, preflight
from selfdict.scene.library import resample_library
from selfdict.scene.metadata import notes_of
from selfdict.scene.options import MOST_MATERIALS, UnmixOptions, parse_method
from selfdict.scene.passes import over_blocks
from selfdict.solvers.block_search import SAMPLE_SIZE

# pixels that a cluster shares among its workers are more than this
_MAX_CLIENT_BYTES = 128 * 2**20


@dataclass(frozen=True, eq=False)
class Plan:
    """Options and what follows from them for a scene."""

    options: UnmixOptions
    scene: xr.DataArray  # with the user's mask in its ``valid`` coordinate
    bands: Array  # the used ones, (n_bands,) booleans
    r: int  # the largest number to consider if it is to be found
    choice: CandidateChoice  # of the candidates
    library: xr.DataArray | None  # at the used bands, without spectra that do not cover them
    notes: tuple[str, ...]
    seed: int  # of the method
    sample_seed: int
    deadline: Deadline
    client: Any  # of a dask cluster, or None

    @classmethod
    def of(cls, options: UnmixOptions, scene: xr.DataArray, client: Any = None) -> "Plan":
        """Check the options against a scene, of which no value is read."""
        scene = with_mask(scene, options.mask)
        bands = good_bands(scene)
        # As the preflight decides it: marks on all bands tell nothing.
        if options.keep_bands or not bands.any():
            bands = np.ones_like(bands)
        library = options.library
        notes: tuple[str, ...] = ()
        if library is not None:
            library, is_covered = resample_library(library, scene.isel(band=bands))
            notes = tuple(notes_of(library))
            bands = bands.copy()
            bands[np.flatnonzero(bands)[~is_covered]] = False
        if options.names is not None:
            # Before hours of work, not after them.
            check_names(scene.isel(band=bands), options.names)
        n_pixels = scene.sizes["y"] * scene.sizes["x"]
        n_choices = n_pixels
        if library is not None:
            n_choices = library.sizes["spectrum"]
        r = min(MOST_MATERIALS, n_choices)
        if options.r != "auto":
            r = as_rank(options.r, n_choices)
        seed, sample_seed = options.generator().integers(2**31, size=2)
        return cls(
            options=options,
            scene=scene,
            bands=bands,
            r=r,
            choice=_choice(options, n_pixels, int(bands.sum()), r),
            library=library,
            notes=notes,
            seed=int(seed),
            sample_seed=int(sample_seed),
            deadline=Deadline(options.max_seconds),
            client=client,
        )

    @property
    def n_pixels(self) -> int:
        """Number of pixels of the scene."""
        return int(self.scene.sizes["y"] * self.scene.sizes["x"])

    @property
    def candidates(self) -> int | None:
        """Number of clusters; None for all pixels, and for other methods."""
        return self.choice.n_clusters

    @property
    def takes_all(self) -> bool:
        """Whether all pixels are candidates of the model."""
        return self.options.is_fgnsr and self.candidates is None

    @property
    def is_solved_in_blocks(self) -> bool:
        """Whether all pixels are the candidates and do not fit in the memory of this process."""
        if not self.takes_all or self.options.max_pixels is not None:
            return False
        if self.library is not None or not self.options.has_squared_loss:
            return False
        itemsize = float_dtype(self.scene.dtype).itemsize
        n_bytes = self.n_pixels * int(self.bands.sum()) * itemsize
        if self.client is not None:
            return n_bytes > _MAX_CLIENT_BYTES
        # The solver in memory needs about four times the data, beside the data itself.
        return 5 * n_bytes > physical_memory()

    def examined(
        self, look: Preflight | None, report: Callable[[float], Any]
    ) -> "tuple[Plan, Preflight]":
        """Look at the scene, unless that was done, and leave out the bands that this leaves out."""
        scene = held_in_memory(self.scene, self.client)
        if look is None:
            keep_bands = self.options.keep_bands
            look = preflight(scene, keep_bands=keep_bands, client=self.client, progress=report)
        if look.used.shape != self.bands.shape:
            raise InputError(
                f"the preflight is of a scene with {look.used.size} bands, "
                f"this one has {self.bands.size}"
            )
        bands = self.bands & look.used
        if not bands.any():
            raise InputError("no band is left: keep_bands=True uses all of them")
        if bands.sum() == 1 and self.options.r != 1:
            raise InputError("the scene has one band: unmixing compares spectra of several")
        library = self.library
        if library is not None:
            library = library.isel(band=look.used[self.bands])
        return replace(self, scene=scene, bands=bands, library=library), look

    def with_samples(self, M: Array, sizes: Array) -> "Plan":
        """Return the plan with the candidates that samples of all pixels M (m, n) speak for."""
        is_given = self.options.candidates != "auto" or self.options.max_pixels is not None
        if is_given or not self.takes_all:
            return self
        max_seconds = self.options.max_seconds
        if not needs_samples(M.shape[1], M.shape[0], self.r, max_seconds):
            return self
        problem = Problem(M, sample_weight=sizes)
        return replace(self, choice=choose_by_samples(problem, self.r, max_seconds))

    def of_method(self, name: str) -> "Plan":
        """Return the plan of a method to compare with: pure pixels, and nothing else."""
        method, n_clusters = parse_method(name)
        further = {}
        if method == self.options.method:
            further = dict(self.options.estimator)
        options = UnmixOptions(
            r=self.options.r,
            method=method,
            candidates=n_clusters or "auto",
            endmembers="pixels",
            abundances="nnls",
            max_pixels=self.options.max_pixels,
            estimator=further,
        )
        choice = _choice(options, self.n_pixels, int(self.bands.sum()), self.r)
        return replace(self, options=options, choice=choice)


def fits_in_memory(scene: xr.DataArray) -> bool:
    """Whether the values of a scene take little of the memory: it is read once, and kept."""
    return bool(scene.nbytes <= physical_memory() / 8)


def held_in_memory(scene: xr.DataArray, client: Any = None) -> xr.DataArray:
    """Return the scene with its values loaded, if they are not and take little of the memory."""
    # The workers of a cluster read for themselves.
    if scene.chunks is None or client is not None or not fits_in_memory(scene):
        return scene
    values = np.empty(scene.shape, scene.dtype)
    for block in cut(scene):
        part = stored_matrix(block.scene).reshape(block.scene.shape)
        values[:, block.rows, block.columns] = part
    held = scene.copy(data=values)
    # The same blocks as without loading: what a block is thinned to depends on its pixels.
    held.encoding = scene.encoding | {
        "preferred_chunks": {"y": max(scene.chunks[1]), "x": max(scene.chunks[2])}
    }
    return held


def _choice(options: UnmixOptions, n_pixels: int, n_bands: int, r: int) -> CandidateChoice:
    """Return which pixels are the candidates, and why."""
    if not options.is_fgnsr:
        return CandidateChoice(None, "")
    n_seen = min(n_pixels, options.max_pixels or n_pixels)
    reason = "All pixels are candidates, as asked for."
    if n_seen < n_pixels:
        reason = (
            f"The candidates are a random sample of about {n_seen:,} of {n_pixels:,} pixels, and "
            "extreme pixels (max_pixels)."
        )
    everything = CandidateChoice(None, reason)
    candidates = options.candidates
    if candidates is None:
        return everything
    if candidates != "auto":
        reason = f"{candidates} cluster representatives, as asked for."
        return CandidateChoice(int(candidates), reason)
    if options.library is not None or not options.has_squared_loss:
        reason = f"{N_CLUSTERS} cluster representatives, as always with a library or another loss."
        return CandidateChoice(N_CLUSTERS, reason)
    # Clusters are those of all pixels, whose number the reason names.
    choice = choose_candidates(n_pixels, n_bands, r, options.max_seconds)
    if n_seen == n_pixels:
        return choice
    if choose_candidates(n_seen, n_bands, r, options.max_seconds).n_clusters is None:
        return everything
    return choice


@dataclass(frozen=True)
class Points:
    """Some valid pixels of a scene."""

    M: Array  # (m, k), in which the values of a pixel are neighbours in memory
    pixels: Array  # (k,), their positions in the scene, counted row by row
    sizes: Array  # (k,), number of pixels that each of them stands for

    def __len__(self) -> int:
        return len(self.pixels)


@dataclass(frozen=True)
class Thinning:
    """Which pixels of each block are kept; by default all."""

    n_clusters: int | None = None  # only the representatives of these H2NMF clusters
    share: float = 1.0  # else a random part
    # and extreme pixels, by SPA: pure ones are extreme and few, and a part may miss them
    n_extreme: int = 1
    seed: int = 0

    def choose(self, M: Array, number: int) -> tuple[Any, Array]:
        """Return which columns of M of a block to keep, and how many columns each stands for."""
        n = M.shape[1]
        if self.n_clusters is not None:
            clusters = h2nmf(M, min(self.n_clusters, n))
            # In the order of the scene, as all points are.
            order = np.argsort(clusters.indices)
            return clusters.indices[order], clusters.sizes[order]
        if self.share == 1:
            return slice(None), np.ones(n, dtype=np.intp)
        # Seeded by the number of the block, so that the sample does not depend on the process or
        # the order in which blocks are read.
        generator = np.random.default_rng([self.seed, number])
        drawn = generator.choice(n, int(self.share * n), replace=False)
        # float64: where only noise is left, SPA compares many residuals of nearly one size
        extreme = spa(M.astype(np.float64), min(self.n_extreme, n), allow_fewer=True)
        kept = np.union1d(extreme, drawn)
        return kept, np.ones(kept.size, dtype=np.intp)


def thin_block(bands: Array, rules: Sequence[Thinning], block: Block) -> list[Points]:
    """Read a block once and return the points of each rule."""
    M, pixels = block.valid_pixels(bands)
    if not pixels.size:
        # Neither SPA nor H2NMF takes a matrix without columns.
        return [Points(M, pixels, pixels) for _ in rules]
    found = []
    for rule in rules:
        kept, sizes = rule.choose(M, block.number)
        found.append(Points(np.asfortranarray(M[:, kept]), pixels[kept], sizes))
    return found


def read_points(plans: Sequence[Plan], report: Callable[[float], Any]) -> list[Points]:
    """Read the scene of all plans once; return the pixels that each one's method chooses from."""
    rules = [_rule(plan) for plan in plans]
    distinct = tuple(dict.fromkeys(rules))
    parts: list[list[Points]] = [[] for _ in distinct]
    task = partial(thin_block, plans[0].bands, distinct)
    for _, found in over_blocks(plans[0].scene, task, plans[0].client, report):
        for part, points in zip(parts, found):
            part.append(points)
    gathered = {rule: gather(part) for rule, part in zip(distinct, parts)}
    for points in gathered.values():
        if not len(points):
            raise InputError(
                "the scene has no valid pixel: all are no-data, not finite, zero, too large or "
                "masked"
            )
    first = plans[0]
    if first.library is None and first.options.r != "auto":
        # Only now is it known how many pixels are valid.
        as_rank(first.r, len(gathered[rules[0]]))
    return [gathered[rule] for rule in rules]


def _rule(plan: Plan) -> Thinning:
    """Return how the pixels of each block are thinned."""
    n_bands = int(plan.bands.sum())
    max_pixels = plan.options.max_pixels
    if plan.is_solved_in_blocks:
        # A sample carries the choice of endmembers; the model is solved for all pixels.
        max_pixels = min(plan.n_pixels, SAMPLE_SIZE)
    elif max_pixels is None and plan.takes_all:
        # All pixels are the candidates: as the user said, or because it takes little time.
        return Thinning()
    if max_pixels is None:
        # as many as fill 128 MiB
        max_pixels = max(1, 2**27 // (n_bands * float_dtype(plan.scene.dtype).itemsize))
    if plan.n_pixels <= max_pixels:
        return Thinning()
    # Representatives stand for clusters by their size, which only the squared loss can weigh.
    if plan.candidates is not None and plan.options.has_squared_loss:
        per_block = max(1, max_pixels // len(blocks(plan.scene)))
        return Thinning(n_clusters=min(plan.candidates, per_block))
    # SPA finds at most as many extreme pixels as there are bands.
    n_extreme = min(3 * plan.r, n_bands)
    share = max_pixels / plan.n_pixels
    return Thinning(share=share, n_extreme=n_extreme, seed=plan.sample_seed)


def with_pixels(points: Points, others: Points) -> Points:
    """Return the points and those of ``others`` that are not among them."""
    is_new = ~np.isin(others.pixels, points.pixels)
    added = Points(others.M[:, is_new], others.pixels[is_new], others.sizes[is_new])
    return gather([points, added])


def gather(parts: Sequence[Points]) -> Points:
    """Return the points of all blocks, in the order of the scene."""
    if len(parts) == 1:
        return parts[0]
    M = np.asfortranarray(np.concatenate([part.M for part in parts], axis=1))
    pixels = np.concatenate([part.pixels for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    # Blocks of whole rows are in order already, and sorting copies all values.
    if (np.diff(pixels) < 0).any():
        order = np.argsort(pixels)
        return Points(np.asfortranarray(M[:, order]), pixels[order], sizes[order])
    return Points(M, pixels, sizes)
