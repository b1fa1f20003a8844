"""A look at a scene before it is used: what was assumed about it, and what seems wrong with it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._validation import Array
from selfdict.scene.band_statistics import BandStatistics, examine_block
from selfdict.scene.blocks import with_mask
from selfdict.scene.findings import Finding, Look, findings_of
from selfdict.scene.metadata import band_numbers
from selfdict.scene.model import as_scene
from selfdict.scene.passes import over_blocks

# In fewer pixels the values of a band may agree by chance.
_FEWEST_PIXELS = 16


@dataclass(frozen=True)
class Preflight:
    """What a look at a scene found.

    Attributes
    ----------
    findings : tuple of Finding
        Each has a ``kind``, such as ``"dead bands"``, and a ``sentence``.
    used : (n_bands,) ndarray of bool
        The bands that :func:`unmix` uses.
    dead : (n_bands,) ndarray of bool
        The bands that hold one value in all pixels, or none.
    marked : (n_bands,) ndarray of bool
        The bands that the scene marks as bad.
    numbers : (n_bands,) ndarray of int
        The numbers of all bands in their file, counted from 1.
    n_pixels : int
        Number of pixels with data.
    """

    findings: tuple[Finding, ...]
    used: Array
    dead: Array
    marked: Array
    numbers: Array
    n_pixels: int

    @property
    def sentences(self) -> list[str]:
        """The findings, one plain sentence each."""
        return [finding.sentence for finding in self.findings]

    @property
    def left_out(self) -> Array:
        """The numbers of the bands that are not used, (k,)."""
        return np.asarray(self.numbers[~self.used])

    @property
    def sound(self) -> Array:
        """The bands that are neither dead nor marked as bad; all if there is none, (n_bands,)."""
        sound = ~(self.dead | self.marked)
        if not sound.any():
            return np.ones_like(sound)
        return sound


def preflight(
    scene: xr.DataArray,
    *,
    keep_bands: bool = False,
    mask: ArrayLike | None = None,
    client: Any = None,
    progress: Callable[[float], Any] | None = None,
) -> Preflight:
    """Look at a scene in one pass, block by block, and say what there is to know about it.

    Bands that hold one value in all pixels, and bands that the scene marks as bad, are left out of
    :func:`unmix`, unless ``keep_bands``. Everything else is reported only.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        Dims are recognised as in :func:`as_scene`.
    keep_bands : bool
        Use all bands.
    mask : (n_rows, n_columns) array-like of bool, optional
        True for pixels to leave out.
    client : distributed.Client, optional
        A dask cluster whose workers read the blocks.
    progress : callable, optional
        Called with the share done.

    Returns
    -------
    Preflight

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene, preflight
    >>> values = np.random.default_rng(0).uniform(0.1, 0.5, (4, 10, 10))
    >>> values[2] = 0
    >>> look = preflight(build_scene(values, wavelength=[450, 550, 650, 750]))
    >>> look.sentences
    ['1 band holds one value in all pixels and is left out: 3']
    >>> look.used
    array([ True,  True, False,  True])
    """
    return examine(with_mask(as_scene(scene), mask), keep_bands, client, progress)


def examine(
    scene: xr.DataArray,
    keep_bands: bool,
    client: Any,
    progress: Callable[[float], Any] | None,
) -> Preflight:
    """Look at a scene (band, y, x) that has its mask; see :func:`preflight`."""
    parts = [part for _, part in over_blocks(scene, examine_block, client, progress)]
    statistics = reduce(add, parts)
    marked = np.zeros(scene.sizes["band"], dtype=bool)
    if "good_band" in scene.coords:
        marked = ~scene["good_band"].values.astype(bool)
    dead = _dead_bands(statistics)
    used = _used_bands(dead, marked, keep_bands)
    look = Look(scene, statistics, used, dead, marked)
    return Preflight(
        findings=tuple(findings_of(look)),
        used=used,
        dead=dead,
        marked=marked,
        numbers=band_numbers(scene),
        n_pixels=statistics.n_pixels,
    )


def _dead_bands(statistics: BandStatistics) -> Array:
    """Return which bands hold one value in all pixels, or none, as booleans."""
    if statistics.n_pixels < _FEWEST_PIXELS:
        return np.zeros(statistics.n_values.shape, dtype=bool)
    is_constant = statistics.lowest == statistics.highest
    return np.asarray(is_constant | (statistics.n_values == 0))


def _used_bands(dead: Array, marked: Array, keep_bands: bool) -> Array:
    """Return which bands are used, as booleans; at least one is."""
    used = np.ones_like(dead)
    if keep_bands:
        return used
    # Marks on all bands, or one value in each, tell no band from another.
    if not marked.all():
        used &= ~marked
    if not dead[used].all():
        used &= ~dead
    return used
