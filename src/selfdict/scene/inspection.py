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
from selfdict.scene.blocks import FEWEST_BANDS, with_mask
from selfdict.scene.findings import Finding, Look, findings_of
from selfdict.scene.metadata import band_numbers
from selfdict.scene.model import as_scene
from selfdict.scene.passes import over_blocks

# In fewer pixels the values of a band may agree by chance.
_FEWEST_PIXELS = 16
_WATER_VAPOUR = ((1340.0, 1445.0), (1790.0, 1955.0))  # nm
# A band stands out if its noise is above the median by so many median deviations, of logarithms.
_DEVIATIONS = 6
# of the deviation of a band, from which on there is more noise than signal
_MOSTLY_NOISE = np.sqrt(0.5)


@dataclass(frozen=True)
class Preflight:
    """What the preflight found in a scene.

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
    noisy : (n_bands,) ndarray of bool
        The bands whose noise is far above that of the others: in water vapour (1340–1445 and
        1790–1955 nm) and beside it, and those that hold more noise than signal.
    noise : (n_bands,) ndarray
        The standard deviation of the noise of each band, estimated from neighbouring pixels and
        bands, in the unit of the values; NaN if there are too few pixels.
    levels : (n_bands,) ndarray
        The root mean square of the values of each band.
    numbers : (n_bands,) ndarray of int
        The numbers of all bands in their file, counted from 1.
    n_pixels : int
        Number of pixels with data.
    """

    findings: tuple[Finding, ...]
    used: Array
    dead: Array
    marked: Array
    noisy: Array
    noise: Array
    levels: Array
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
    def noise_error(self) -> float | None:
        """The relative error that the noise of the sound bands would leave; None if not known."""
        bands = self.used & self.sound
        noise = self.noise[bands]
        total = float((self.levels[bands] ** 2).sum())
        if not np.isfinite(noise).all() or not 0 < total < np.inf:
            return None
        return float(np.sqrt((noise**2).sum() / total))

    @property
    def sound(self) -> Array:
        """The bands that are neither dead, marked as bad nor noisy; all if there is none."""
        sound = ~(self.dead | self.marked | self.noisy)
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
    """Scan a scene once, block by block, and report what is assumed and what looks wrong.

    Bands that hold one value in all pixels, bands that the scene marks as bad and, if wavelengths
    are known, bands of noise (water vapour) are left out of :func:`unmix`, unless ``keep_bands``.
    Everything else is reported only.

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
    dead = _constant_bands(statistics)
    noisy = _find_noisy(scene, statistics, ~(dead | marked))
    used = np.ones_like(dead)
    if not keep_bands:
        used = _without(_without(used, marked), dead)
        if "wavelength" in scene.coords:
            used = _without(used, noisy)
    look = Look(scene, statistics, used, dead, marked, noisy)
    return Preflight(
        findings=tuple(findings_of(look)),
        used=used,
        dead=dead,
        marked=marked,
        noisy=noisy,
        noise=statistics.noise_levels,
        levels=statistics.root_mean_squares,
        numbers=band_numbers(scene),
        n_pixels=statistics.n_pixels,
    )


def _constant_bands(statistics: BandStatistics) -> Array:
    """Return which bands hold one value in all pixels, or none, as booleans."""
    if statistics.n_pixels < _FEWEST_PIXELS:
        return np.zeros(statistics.n_values.shape, dtype=bool)
    is_constant = statistics.lowest == statistics.highest
    return np.asarray(is_constant | (statistics.n_values == 0))


def _without(used: Array, faulty: Array) -> Array:
    """Return the used bands that are not faulty; all if none would be left."""
    left = used & ~faulty
    if not left.any():
        return used
    return left


def _find_noisy(scene: xr.DataArray, statistics: BandStatistics, sound: Array) -> Array:
    """Return which bands hold much more noise than the others, beside what they measure."""
    noisy = np.zeros_like(sound)
    levels = statistics.root_mean_squares
    in_water = _in_water_vapour(scene)
    usual = sound & ~in_water & (levels > 0)
    with np.errstate(all="ignore"):
        relative = statistics.noise_levels / levels
        logarithms = np.log(relative[usual & (relative > 0)])
    if logarithms.size < FEWEST_BANDS:
        return noisy
    typical = np.median(logarithms)
    deviation = np.median(np.abs(logarithms - typical))
    limit = np.exp(typical + max(_DEVIATIONS * deviation, np.log(2)))
    stands_out = sound & (relative > limit)
    is_noise = statistics.noise_levels > _MOSTLY_NOISE * statistics.deviations
    noisy = stands_out & (in_water | is_noise)
    # and the bands beside them, one after the other
    while True:
        beside = np.zeros_like(noisy)
        beside[1:] |= noisy[:-1]
        beside[:-1] |= noisy[1:]
        grown = noisy | (beside & stands_out)
        if (grown == noisy).all():
            return np.asarray(noisy)
        noisy = grown


def _in_water_vapour(scene: xr.DataArray) -> Array:
    """Return which bands lie where water vapour absorbs nearly all light."""
    found = np.zeros(scene.sizes["band"], dtype=bool)
    if "wavelength" in scene.coords:
        wavelength = scene["wavelength"].values
        for low, high in _WATER_VAPOUR:
            found |= (wavelength >= low) & (wavelength <= high)
    return found
