"""The check of a scene before it is used: what is assumed about it, and what seems wrong."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import starmap
from operator import add
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._display import percent
from selfdict._validation import Array
from selfdict.scene.band_statistics import BandStatistics, examine_block, noisy_bands
from selfdict.scene.blocks import good_bands, with_mask
from selfdict.scene.metadata import (
    band_numbers,
    declared_nodata,
    notes_of,
    number_list,
    scaling_of,
    wavelength_ranges,
)
from selfdict.scene.model import as_scene
from selfdict.scene.passes import over_blocks

_Found = Iterator[tuple[str, str]]  # the kind and the sentence of each finding


@dataclass(frozen=True)
class Finding:
    """One thing to know about a scene."""

    kind: str  # such as "dead bands"
    sentence: str

    @property
    def is_fault(self) -> bool:
        """Whether the data seem wrong: a result may be meaningless."""
        return self.kind in ("wrong scale", "axes", "undeclared no data", "noise", "range")


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
        return _without(np.ones_like(self.dead), self.dead | self.marked | self.noisy)


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
    Everything else is only reported.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        Dims are recognised as in :func:`as_scene`.
    keep_bands, mask, client
        As in :func:`unmix`.
    progress : callable, optional
        Called with the share done.

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
    scene = with_mask(as_scene(scene), mask)
    parts = [part for _, part in over_blocks(scene, examine_block, client, progress)]
    statistics = reduce(add, parts)
    marked = ~good_bands(scene)
    dead = statistics.constant
    noisy = noisy_bands(scene, statistics, ~(dead | marked))
    used = np.ones_like(dead)
    if not keep_bands:
        used = _without(_without(used, marked), dead)
        if "wavelength" in scene.coords:
            used = _without(used, noisy)
    look = Preflight(
        findings=(),
        used=used,
        dead=dead,
        marked=marked,
        noisy=noisy,
        noise=statistics.noise_levels,
        levels=statistics.levels,
        numbers=band_numbers(scene),
        n_pixels=statistics.n_pixels,
    )
    return replace(look, findings=tuple(starmap(Finding, _findings(scene, statistics, look))))


def _without(used: Array, faulty: Array) -> Array:
    """Return the used bands that are not faulty; all if none would be left."""
    left = used & ~faulty
    if not left.any():
        return used
    return left


def _findings(scene: xr.DataArray, statistics: BandStatistics, look: Preflight) -> _Found:
    """Yield all findings: first what was assumed, then what is left out, then what is odd."""
    for note in notes_of(scene):
        yield "reading", note
    # of a typical band; one or two bands have no typical value
    typical = None
    usual = look.used & ~look.dead & (statistics.n_values > 0)
    if usual.sum() >= 3:
        typical = float(np.median(look.levels[usual]))
    yield from _about_scale(scene, typical)
    if statistics.spectral_axis:
        along = ("bands", "rows", "columns")[statistics.spectral_axis]
        yield (
            "axes",
            f"values along the {along} are more alike than spectra: the axes may be exchanged: "
            "name them by layout=…, or make the bands the last axis of an array",
        )
    yield from _about_pixels(scene, statistics)
    yield from _about_bands(scene, statistics, look)
    yield from _about_values(scene, statistics, look, usual, typical)
    yield from _about_wavelengths(scene, look)


def _about_scale(scene: xr.DataArray, typical: float | None) -> _Found:
    gain, offset = scaling_of(scene)
    if (gain == 1).all() and (offset == 0).all():
        if scene.dtype.kind in "iu":
            yield (
                "scale",
                f"values are used as they are stored ({scene.dtype}): no scale is declared",
            )
        return
    sentence = f"stored values are multiplied by {_one_or_range(gain)}"
    if (offset != 0).any():
        sentence += f", then {_one_or_range(offset)} is added"
    if np.ptp(gain) > 0 or np.ptp(offset) > 0:
        sentence += ", different for each band"
    yield "scale", sentence
    if typical is None or (gain == 1).all():
        return
    after = f"a typical value is {typical:.4g} after scaling"
    if typical > 2:
        reason = "plausible for radiance, too high for reflectance (0 to 1)"
        yield "wrong scale", f"{after}: {reason}"
    if 0 < typical < 1e-3:
        yield "wrong scale", f"{after}: too low for reflectance"


def _one_or_range(values: Array) -> str:
    """Return the number that all bands share, or the range of their numbers."""
    if (values == values[0]).all():
        return f"{values[0]:.6g}"
    return f"{values.min():.6g} to {values.max():.6g}"


def _about_pixels(scene: xr.DataArray, statistics: BandStatistics) -> _Found:
    of_all = f"of {scene.sizes['y'] * scene.sizes['x']:,}"
    n = statistics.n_masked
    if n:
        yield "no data", _said(n, f"{n:,} {of_all} pixels [is|are] left out by a mask")
    n = statistics.n_empty
    if n:
        reason = "zero or not finite"
        nodata = declared_nodata(scene)
        if nodata:
            reason = f"{nodata:.6g} (the no-data value), {reason}"
        sentence = (
            f"{n:,} {of_all} pixels [is|are] {reason} in all or most bands, and [is|are] left out"
        )
        yield "no data", _said(n, sentence)
    n = statistics.n_impossible
    if n:
        sentence = (
            f"{n:,} {of_all} [pixel holds|pixels hold] one value in all bands that is no "
            f"measurement ({statistics.impossible_value:.6g}) and [is|are] left out; the file "
            "declares no such no-data value (nodata=…)"
        )
        yield "undeclared no data", _said(n, sentence)
    n = statistics.n_uniform
    if n:
        sentence = (
            f"{n:,} [pixel holds|pixels hold] one value in all bands (the lowest is "
            f"{statistics.uniform_value:.6g}) and [is|are] used; if it marks missing data, declare "
            "it by nodata=…"
        )
        yield "undeclared no data", _said(n, sentence)


def _about_bands(scene: xr.DataArray, statistics: BandStatistics, look: Preflight) -> _Found:
    n_missing = np.where(look.used, statistics.n_pixels - statistics.n_values, 0)
    most = n_missing.max()
    if most:
        pixels = _said(most, f"{most:,} [pixel|pixels]")
        sentence = f"[has|have] no value in some pixels (at most {pixels}), which are left out"
        yield "missing values", _of_bands(look, n_missing > 0, sentence)
    if look.marked.all():
        yield "bad bands", "all bands are marked as bad: the marks are ignored"
    elif look.marked.any():
        yield "bad bands", _left_out(look, look.marked, "[is|are] marked as bad")
    dead = look.dead & ~look.marked
    if look.dead.all():
        sentence = (
            "every band has the same value in all pixels, so materials cannot be distinguished"
        )
        yield "dead bands", sentence
    elif dead.any():
        yield "dead bands", _left_out(look, dead, "[holds|hold] one value in all pixels")
    kinds = {"noisy bands": look.noisy & ~look.used, "noise": look.noisy & look.used}
    for kind, noisy in kinds.items():
        if noisy.any():
            sentence = _left_out(look, noisy, "[holds|hold] much more noise than the others")
            if "wavelength" in scene.coords:
                sentence += f" ({wavelength_ranges(scene, noisy)})"
            yield kind, sentence


def _about_values(
    scene: xr.DataArray,
    statistics: BandStatistics,
    look: Preflight,
    usual: Array,
    typical: float | None,
) -> _Found:
    gain, offset = scaling_of(scene)
    with np.errstate(all="ignore"):  # damaged values may overflow
        ends = np.stack([statistics.lowest, statistics.highest]) * gain + offset
        spans = statistics.highest - statistics.lowest
    # A negative gain exchanges the two.
    lowest = ends.min(axis=0)
    highest = ends.max(axis=0)
    if typical is not None:
        yield from _about_ranges(look, usual, typical, lowest, highest)
    n_negative = np.where(look.used, statistics.n_negative, 0)
    total = int(n_negative.sum())
    if total:
        share = percent(total / int(statistics.n_values[look.used].sum()))
        sentence = (
            f"{total:,} [value|values] ({share}) in {_count(n_negative > 0)} [is|are] negative, "
            f"down to {lowest[n_negative > 0].min():.6g}, and used as [it is|they are]"
        )
        yield "negative values", _said(total, sentence)
    # Integers of a small range have many equal values anyway.
    wide = (spans >= 64) | (scene.dtype.kind == "f")
    enough = max(10.0, 1e-4 * statistics.n_pixels)
    saturated = look.used & ~look.dead & wide & (statistics.n_highest >= enough)
    if saturated.any():
        yield (
            "saturation",
            f"{statistics.n_highest[saturated].sum():,} values in {_count(saturated)} equal the "
            f"highest value of their band (up to {highest[saturated].max():.6g}) and may be "
            f"saturated: {number_list(look.numbers[saturated])}",
        )


def _about_ranges(
    look: Preflight, usual: Array, typical: float, lowest: Array, highest: Array
) -> _Found:
    """Yield which bands reach much further than a typical band."""
    typical_highest = float(np.median(highest[usual]))
    reach_up = f"the highest value of a typical band is {typical_highest:.4g}"
    # Noise in dark bands is a small part of what other bands hold.
    below = usual & (lowest < -0.5 * typical)
    if below.sum() <= usual.sum() / 2:
        if below.any():
            reach = f"down to {lowest[below].min():.6g}; a typical value is {typical:.4g}"
            yield "range", _of_bands(look, below, f"[reaches|reach] far below zero ({reach})")
    elif typical_highest > 0:
        # Most bands: the values are signed, such as differences, if they reach as far up.
        below &= lowest < -20 * typical_highest
        if below.any():
            reach = (
                f"[reaches|reach] far below zero (down to {lowest[below].min():.6g}; {reach_up}); "
                "if this value marks missing data, declare it by nodata=…"
            )
            yield "undeclared no data", _said(below.sum(), f"{_count(below)} {reach}")
    # The radiance of the sun differs by less than this between the bands of a sensor.
    above = usual & (highest > 20 * typical_highest)
    if above.any() and typical_highest > 0:
        reach = f"up to {highest[above].max():.6g}; {reach_up}"
        yield "range", _of_bands(look, above, f"[reaches|reach] far above the others ({reach})")


def _about_wavelengths(scene: xr.DataArray, look: Preflight) -> _Found:
    if "wavelength" not in scene.coords:
        yield "wavelengths", "no wavelengths are known: bands are named by their numbers"
        return
    wavelength = scene["wavelength"].values
    known = np.isfinite(wavelength)
    if not known.all():
        yield "wavelengths", _of_bands(look, ~known, "[has|have] no wavelength")
    falls = np.zeros_like(known)
    positions = np.flatnonzero(known)
    falls[positions[1:]] = np.diff(wavelength[known]) <= 0
    if falls.any():
        sentence = f"wavelengths do not rise at [band|bands] {number_list(look.numbers[falls])}"
        yield "wavelengths", _said(falls.sum(), sentence)


def _left_out(look: Preflight, bands: Array, fault: str) -> str:
    """Return what is wrong with some bands, and whether they are used."""
    outcome = "left out"
    if look.used[bands].all():
        outcome = "used all the same"
    return _of_bands(look, bands, f"{fault} and [is|are] {outcome}")


def _of_bands(look: Preflight, bands: Array, sentence: str) -> str:
    """Return a sentence about some bands (booleans), which are counted and listed."""
    said = _said(bands.sum(), f"{_count(bands)} {sentence}")
    return f"{said}: {number_list(look.numbers[bands])}"


def _count(bands: Array) -> str:
    return _said(bands.sum(), f"{bands.sum()} [band|bands]")


def _said(n: int, sentence: str) -> str:
    """Return a sentence about n things, with one form of each ``[singular|plural]`` in it."""
    form = r"\2"
    if n == 1:
        form = r"\1"
    return re.sub(r"\[([^|\]]*)\|([^\]]*)\]", form, sentence)
