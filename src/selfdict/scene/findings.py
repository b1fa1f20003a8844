"""The sentences of the preflight: each function looks for one kind of fault."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from selfdict._display import percent
from selfdict._validation import Array
from selfdict.scene.band_statistics import BandStatistics
from selfdict.scene.metadata import (
    band_numbers,
    declared_nodata,
    notes_of,
    scaling_of,
    wavelength_ranges,
)

# Kinds of findings after which a result may be meaningless.
_FAULTS = ("wrong scale", "axes", "undeclared no data", "noise", "range")


@dataclass(frozen=True)
class Finding:
    """One thing to know about a scene.

    Attributes
    ----------
    kind : str
        Such as ``"dead bands"``.
    sentence : str
        The finding in words.
    """

    kind: str
    sentence: str

    @property
    def is_fault(self) -> bool:
        """Whether the data seem wrong: a result may be meaningless."""
        return self.kind in _FAULTS


@dataclass(frozen=True)
class Look:
    """What the sentences are made from: the scene, its statistics, and which bands are used."""

    scene: xr.DataArray
    statistics: BandStatistics
    used: Array
    dead: Array
    marked: Array
    noisy: Array

    @property
    def ranges(self) -> tuple[Array, Array]:
        """The lowest and the highest physical value of each band, two (n_bands,) arrays."""
        gain, offset = scaling_of(self.scene)
        with np.errstate(all="ignore"):
            ends = np.stack([self.statistics.lowest, self.statistics.highest]) * gain + offset
        # A negative gain exchanges the two.
        return ends.min(axis=0), ends.max(axis=0)

    @property
    def usual(self) -> Array:
        """The used bands that have values, and not one value only, (n_bands,)."""
        return np.asarray(self.used & ~self.dead & (self.statistics.n_values > 0))

    @property
    def typical(self) -> float | None:
        """The root mean square of the values of a typical band; None for one or two bands."""
        if self.usual.sum() < 3:
            return None
        return float(np.median(self.statistics.root_mean_squares[self.usual]))

    def range_of(self, chosen: Array) -> str:
        """Return the wavelengths of the chosen bands as text; empty without any."""
        if "wavelength" not in self.scene.coords:
            return ""
        return f" ({wavelength_ranges(self.scene, chosen)})"

    def bands(self, chosen: Array) -> str:
        """Return the numbers of the chosen bands (booleans) as text."""
        return number_list(band_numbers(self.scene)[chosen])


def findings_of(look: Look) -> Iterator[Finding]:
    """Yield all findings: first what was assumed, then what is left out, then what is odd."""
    for note in notes_of(look.scene):
        yield Finding("reading", note)
    for kind, search in _SEARCHES.items():
        for sentence in search(look):
            yield Finding(kind, sentence)


def _scale(look: Look) -> Iterator[str]:
    gain, offset = scaling_of(look.scene)
    if (gain == 1).all() and (offset == 0).all():
        if look.scene.dtype.kind in "iu":
            yield f"values are used as they are stored ({look.scene.dtype}): no scale is declared"
        return
    sentence = f"stored values are multiplied by {_one_or_range(gain)}"
    if (offset != 0).any():
        sentence += f", then {_one_or_range(offset)} is added"
    if np.ptp(gain) > 0 or np.ptp(offset) > 0:
        sentence += ", different for each band"
    yield sentence


def _wrong_scale(look: Look) -> Iterator[str]:
    gain, _ = scaling_of(look.scene)
    typical = look.typical
    if typical is None or (gain == 1).all():
        return
    if typical > 2:
        yield (
            f"a typical value is {typical:.4g} after scaling: right for radiance, too high for "
            "reflectance, which is 0 to 1"
        )
    if 0 < typical < 1e-3:
        yield f"a typical value is {typical:.4g} after scaling: too low for reflectance"


def _axes(look: Look) -> Iterator[str]:
    axis = look.statistics.spectral_axis
    if axis in (None, 0):
        return
    along = ("bands", "rows", "columns")[axis or 0]
    yield (
        f"values along the {along} are more alike than spectra: the axes may be exchanged "
        "(layout=…, --layout)"
    )


def _one_or_range(values: Array) -> str:
    """Return the number that all bands share, or the range of their numbers."""
    if (values == values[0]).all():
        return f"{values[0]:.6g}"
    return f"{values.min():.6g} to {values.max():.6g}"


def _no_data(look: Look) -> Iterator[str]:
    statistics = look.statistics
    n_all = look.scene.sizes["y"] * look.scene.sizes["x"]
    if statistics.n_masked:
        verb = _agree(statistics.n_masked, "is", "are")
        yield f"{statistics.n_masked:,} of {n_all:,} pixels {verb} left out by a mask"
    nodata = declared_nodata(look.scene)
    if statistics.n_empty:
        reason = "zero or not finite"
        if nodata is not None and nodata != 0:
            reason = f"{nodata:.6g} (the no-data value), zero or not finite"
        verb = _agree(statistics.n_empty, "is", "are")
        count = f"{statistics.n_empty:,} of {n_all:,} pixels"
        yield f"{count} {verb} left out: {reason} in all bands, or in most"


def _undeclared_no_data(look: Look) -> Iterator[str]:
    n_all = look.scene.sizes["y"] * look.scene.sizes["x"]
    n = look.statistics.n_impossible
    if n:
        yield (
            f"{n:,} of {n_all:,} {_agree(n, 'pixel holds', 'pixels hold')} one value in all bands "
            f"that is no measurement ({look.statistics.impossible_value:.6g}) and "
            f"{_agree(n, 'is', 'are')} left out; the file declares no such no-data value "
            "(nodata, --no-data)"
        )
    n = look.statistics.n_uniform
    if n:
        yield (
            f"{n:,} {_agree(n, 'pixel holds', 'pixels hold')} one value in all bands (the lowest "
            f"is {look.statistics.uniform_value:.6g}) and {_agree(n, 'is', 'are')} used; "
            "if it marks missing data, declare it by nodata=… (--no-data)"
        )


def _missing_values(look: Look) -> Iterator[str]:
    statistics = look.statistics
    n_missing = np.where(look.used, statistics.n_pixels - statistics.n_values, 0)
    lacking = n_missing > 0
    if lacking.any():
        pixels = f"{n_missing.max():,} {_agree(n_missing.max(), 'pixel', 'pixels')}"
        yield (
            f"{_count(lacking)} {_agree(lacking, 'has', 'have')} no value in up to {pixels} with "
            f"data, left out for that: {look.bands(lacking)}"
        )


def _marked_bands(look: Look) -> Iterator[str]:
    if look.marked.all():
        yield "all bands are marked as bad: the marks are ignored"
        return
    if look.marked.any():
        yield _left_out_or_used(look, look.marked, "is marked as bad", "are marked as bad")


def _dead_bands(look: Look) -> Iterator[str]:
    if look.dead.all():
        yield "every band holds one value in all pixels: there is nothing to tell materials apart"
        return
    dead = look.dead & ~look.marked
    if dead.any():
        yield _left_out_or_used(
            look, dead, "holds one value in all pixels", "hold one value in all pixels"
        )


def _noisy_bands(look: Look) -> Iterator[str]:
    yield from _noise_of(look, look.noisy & ~look.used)


def _noise(look: Look) -> Iterator[str]:
    yield from _noise_of(look, look.noisy & look.used)


def _noise_of(look: Look, chosen: Array) -> Iterator[str]:
    if chosen.any():
        noise = "much more noise than the others"
        said = _left_out_or_used(look, chosen, f"holds {noise}", f"hold {noise}")
        yield said + look.range_of(chosen)


def _left_out_or_used(look: Look, chosen: Array, singular: str, plural: str) -> str:
    outcome = "left out"
    if look.used[chosen].all():
        outcome = "used all the same"
    said = f"{_agree(chosen, singular, plural)} and {_agree(chosen, 'is', 'are')} {outcome}"
    return f"{_count(chosen)} {said}: {look.bands(chosen)}"


def _out_of_range(look: Look) -> Iterator[str]:
    lowest, highest = look.ranges
    usual = look.usual
    typical = look.typical
    if typical is None:
        return
    # Noise in dark bands is a small part of what other bands hold.
    below = usual & (lowest < -0.5 * typical)
    # If most bands are like that, the values are signed, such as differences.
    if below.any() and below.sum() <= usual.sum() / 2:
        yield (
            f"{_count(below)} {_agree(below, 'reaches', 'reach')} far below zero "
            f"(down to {lowest[below].min():.6g}; a typical value is {typical:.4g}): "
            f"{look.bands(below)}"
        )
    typical_highest = float(np.median(highest[usual]))
    # The radiance of the sun differs by less than this between the bands of a sensor.
    above = usual & (highest > 20 * typical_highest)
    if above.any() and typical_highest > 0:
        yield (
            f"{_count(above)} {_agree(above, 'reaches', 'reach')} far above the others "
            f"(up to {highest[above].max():.6g}; the highest value of a typical band is "
            f"{typical_highest:.4g}): {look.bands(above)}"
        )


def _negative(look: Look) -> Iterator[str]:
    n_negative = np.where(look.used, look.statistics.n_negative, 0)
    total = int(n_negative.sum())
    if total == 0:
        return
    share = total / int(look.statistics.n_values[look.used].sum())
    negative = n_negative > 0
    lowest, _ = look.ranges
    yield (
        f"{total:,} {_agree(total, 'value', 'values')} ({percent(share)}) in {_count(negative)} "
        f"{_agree(total, 'is', 'are')} negative, down to {lowest[negative].min():.6g}, and used "
        f"as {_agree(total, 'it is', 'they are')}"
    )


def _saturated(look: Look) -> Iterator[str]:
    statistics = look.statistics
    levels = statistics.highest - statistics.lowest
    # Integers of a small range have many equal values anyway.
    wide = (levels >= 64) | (look.scene.dtype.kind == "f")
    enough = max(10.0, 1e-4 * statistics.n_pixels)
    saturated = look.used & ~look.dead & wide & (statistics.n_highest >= enough)
    if not saturated.any():
        return
    _, highest = look.ranges
    total = int(statistics.n_highest[saturated].sum())
    yield (
        f"{total:,} values in {_count(saturated)} equal the highest value of their band "
        f"(up to {highest[saturated].max():.6g}) and may be saturated: {look.bands(saturated)}"
    )


def _wavelengths(look: Look) -> Iterator[str]:
    if "wavelength" not in look.scene.coords:
        yield "no wavelengths are known: bands are named by their numbers"
        return
    wavelength = look.scene["wavelength"].values
    unknown = ~np.isfinite(wavelength)
    if unknown.any():
        verb = _agree(unknown, "has", "have")
        yield f"{_count(unknown)} {verb} no wavelength: {look.bands(unknown)}"
    known = ~unknown
    falls = np.zeros_like(known)
    positions = np.flatnonzero(known)
    falls[positions[1:]] = np.diff(wavelength[known]) <= 0
    if falls.any():
        where = _agree(falls, "at band", "at bands")
        yield f"wavelengths do not rise {where} {look.bands(falls)}"


_SEARCHES: dict[str, Callable[[Look], Iterator[str]]] = {
    "scale": _scale,
    "wrong scale": _wrong_scale,
    "axes": _axes,
    "no data": _no_data,
    "undeclared no data": _undeclared_no_data,
    "missing values": _missing_values,
    "bad bands": _marked_bands,
    "dead bands": _dead_bands,
    "noisy bands": _noisy_bands,
    "noise": _noise,
    "range": _out_of_range,
    "negative values": _negative,
    "saturation": _saturated,
    "wavelengths": _wavelengths,
}


def _agree(counted: Array | int, singular: str, plural: str) -> str:
    """Return the form that goes with a number, or with that of the bands chosen."""
    if np.sum(counted) == 1:
        return singular
    return plural


def _count(chosen: Array) -> str:
    return f"{chosen.sum()} {_agree(chosen, 'band', 'bands')}"


def number_list(numbers: Array) -> str:
    """Return whole numbers as text, runs of them as ranges.

    Examples
    --------
    >>> import numpy as np
    >>> number_list(np.array([1, 2, 3, 7, 9, 10]))
    '1–3, 7, 9, 10'
    """
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
    texts = []
    for run in runs:
        if len(run) > 2:
            texts.append(f"{run[0]}–{run[-1]}")
        else:
            texts.extend(str(number) for number in run)
    longest = 12  # entries, so that a sentence stays a line
    if len(texts) > longest:
        texts = [*texts[:longest], "…"]
    return ", ".join(texts)
