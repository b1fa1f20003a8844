"""The pixels that a method chooses from.

These are all pixels of a small scene, and representatives or a sample of a large one.
"""

from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.peers import h2nmf
from selfdict.reductions.columns import sample_columns
from selfdict.scene.blocks import block_matrix
from selfdict.scene.passes import Block


@dataclass(frozen=True)
class Points:
    """Some valid pixels of a scene.

    Attributes
    ----------
    values : (k, m) ndarray
        The pixels as rows.
    pixels : (k,) ndarray of int
        Their positions in the scene, counted row by row.
    sizes : (k,) ndarray of int
        Number of pixels that each of them stands for.
    """

    values: Array
    pixels: Array
    sizes: Array


@dataclass(frozen=True)
class AllPixels:
    """Keep every valid pixel of a block."""

    bands: Array

    def __call__(self, block: Block) -> Points:
        """Return the pixels of the block to keep."""
        M, valid = block_matrix(block.scene, slice(None), slice(None), self.bands)
        M = M[:, valid]
        pixels = block.pixels[valid]
        if not pixels.size:
            # Neither SPA nor H2NMF takes a matrix without columns.
            return Points(np.ascontiguousarray(M.T), pixels, np.arange(0))
        kept, sizes = self.choose(M, block.number)
        return Points(np.ascontiguousarray(M[:, kept].T), pixels[kept], sizes)

    def choose(self, M: Array, number: int) -> tuple[Array, Array]:
        """Return which columns of M (m, n) to keep, and how many columns each stands for."""
        return np.arange(M.shape[1]), np.ones(M.shape[1], dtype=np.intp)


@dataclass(frozen=True)
class Sample(AllPixels):
    """Keep a random share of each block, and always its extreme pixels, found by SPA.

    Pure pixels are extreme and few: a random share alone would miss them.
    """

    share: float
    n_extreme: int
    seed: int

    def choose(self, M: Array, number: int) -> tuple[Array, Array]:
        """Return which columns of M (m, n) to keep; none stands for others."""
        # Seeded by the number of the block, so that the sample does not depend on the process or
        # the order in which blocks are read.
        generator = np.random.default_rng([self.seed, number])
        kept = sample_columns(M, int(self.share * M.shape[1]), self.n_extreme, generator)
        return kept, np.ones(kept.size, dtype=np.intp)


@dataclass(frozen=True)
class Representatives(AllPixels):
    """Keep the representatives of each block's H2NMF clusters, with the sizes of the clusters."""

    n_clusters: int

    def choose(self, M: Array, number: int) -> tuple[Array, Array]:
        """Return which columns of M (m, n) to keep, and how many columns each stands for."""
        clusters = h2nmf(M, min(self.n_clusters, M.shape[1]))
        # In the order of the scene, as all points are.
        order = np.argsort(clusters.indices)
        return clusters.indices[order], clusters.sizes[order]


def with_pixels(points: Points, others: Points) -> Points:
    """Return the points and those of ``others`` that are not among them, in the order of the scene.

    None of the others stands for more than itself.
    """
    is_new = ~np.isin(others.pixels, points.pixels)
    added = Points(others.values[is_new], others.pixels[is_new], others.sizes[is_new])
    return gather([points, added])


def gather(parts: list[Points]) -> Points:
    """Return the points of all blocks, in the order of the scene."""
    values = np.concatenate([part.values for part in parts])
    pixels = np.concatenate([part.pixels for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    # Blocks of whole rows are in order already, and sorting copies all values.
    if (np.diff(pixels) < 0).any():
        order = np.argsort(pixels)
        return Points(values[order], pixels[order], sizes[order])
    return Points(values, pixels, sizes)
