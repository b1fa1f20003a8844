"""The pixels that a method chooses from: all of a small scene, some of a large one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, as_rank
from selfdict.peers import h2nmf, spa
from selfdict.scene.blocks import Block, blocks, float_dtype
from selfdict.scene.passes import over_blocks
from selfdict.scene.plan import Plan
from selfdict.solvers.block_search import SAMPLE_SIZE

_MAX_FIT_BYTES = 128 * 2**20  # of the pixels to choose from, unless max_pixels is given
_EXTREMES_PER_ENDMEMBER = 3  # extreme pixels that a sample of a block always holds


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
    """Which pixels of each block are kept; by default all.

    The representatives of ``n_clusters`` H2NMF clusters, or a random share and the extreme pixels
    that SPA finds. Pure pixels are extreme and few: a random share alone would miss them.
    """

    n_clusters: int | None = None
    share: float = 1.0
    n_extreme: int = 1
    seed: int = 0

    def choose(self, M: Array, number: int) -> tuple[Any, Array]:
        """Return which columns of M (m, n) to keep, and how many columns each stands for.

        ``number`` is that of the block.
        """
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
    """Read the scene once and return the pixels that each plan's method chooses from.

    All plans are about the same scene. Plans with the same rule share their points.
    """
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
                "the scene has no valid pixel: all are no-data, not finite, zero or masked"
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
        max_pixels = max(1, _MAX_FIT_BYTES // (n_bands * float_dtype(plan.scene.dtype).itemsize))
    if plan.n_pixels <= max_pixels:
        return Thinning()
    # Representatives stand for clusters by their size, which only the squared loss can weigh.
    if plan.candidates is not None and plan.options.has_squared_loss:
        per_block = max(1, max_pixels // len(blocks(plan.scene)))
        return Thinning(n_clusters=min(plan.candidates, per_block))
    # SPA finds at most as many extreme pixels as there are bands.
    n_extreme = min(_EXTREMES_PER_ENDMEMBER * plan.r, n_bands)
    share = max_pixels / plan.n_pixels
    return Thinning(share=share, n_extreme=n_extreme, seed=plan.sample_seed)


def with_pixels(points: Points, others: Points) -> Points:
    """Return the points and those of ``others`` that are not among them, in the order of the scene.

    None of the others stands for more than itself.
    """
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
