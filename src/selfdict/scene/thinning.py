"""Which pixels the method gets to see: all of a small scene, representatives or a sample of a large one."""

from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.peers import h2nmf, spa
from selfdict.scene.blocks import block_matrix
from selfdict.scene.passes import Block


@dataclass(frozen=True)
class Points:
    """Some valid pixels of a scene.

    Attributes
    ----------
    values : (k, m) ndarray
        The pixels as rows; negative values are zero.
    pixels : (k,) ndarray of int
        Their positions in the scene, counted row by row.
    sizes : (k,) ndarray of int
        How many pixels each of them stands for.
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
        M = np.maximum(M[:, valid], 0)
        kept, sizes = self.choose(M, block.number) if M.shape[1] else (np.arange(0), np.arange(0))
        return Points(np.ascontiguousarray(M[:, kept].T), block.pixels[valid][kept], sizes)

    def choose(self, M: Array, number: int) -> tuple[Array, Array]:
        """Return which columns of M (m, n) to keep, and how many columns each stands for."""
        return np.arange(M.shape[1]), np.ones(M.shape[1], dtype=np.intp)


@dataclass(frozen=True)
class Sample(AllPixels):
    """Keep a random share of each block, and its extreme pixels, found by SPA, always."""

    share: float
    n_extreme: int
    seed: int

    def choose(self, M: Array, number: int) -> tuple[Array, Array]:
        """Return which columns of M (m, n) to keep; none stands for others."""
        n = M.shape[1]
        # float64: where only noise is left, SPA must compare many residuals of nearly one size
        extreme = spa(M.astype(np.float64), min(self.n_extreme, n), allow_fewer=True)
        generator = np.random.default_rng(
            [self.seed, number]
        )  # the same whichever process the block comes to
        kept = np.union1d(extreme, generator.choice(n, int(self.share * n), replace=False))
        return kept, np.ones(kept.size, dtype=np.intp)


@dataclass(frozen=True)
class Representatives(AllPixels):
    """Keep the representatives of the H2NMF clusters of each block, with the sizes of the clusters."""

    n_clusters: int

    def choose(self, M: Array, number: int) -> tuple[Array, Array]:
        """Return which columns of M (m, n) to keep, and how many columns each stands for."""
        clusters = h2nmf(M, min(self.n_clusters, M.shape[1]))
        order = np.argsort(clusters.indices)
        return clusters.indices[order], clusters.sizes[order]


def gather(parts: list[Points]) -> Points:
    """Put the points of all blocks together, in the order of the scene whatever the shape of the blocks."""
    values, pixels, sizes = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("values", "pixels", "sizes")
    )
    if (np.diff(pixels) < 0).any():
        order = np.argsort(pixels)
        values, pixels, sizes = values[order], pixels[order], sizes[order]
    return Points(values, pixels, sizes)
