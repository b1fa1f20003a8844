"""The report's charts: bands on an axis, round ticks, lines as SVG paths, and labels of points.

Positions are in percent of the plot area, so that the same chart fits a phone, a desktop and a
printed page. Lines are in an SVG that stretches with its box (and whose strokes do not), labels are
HTML elements placed beside it.
"""

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.metadata import band_numbers


def wavelengths(data: xr.DataArray) -> Array | None:
    """Return the wavelengths of the bands in nm, NaN where one is not known; None without any."""
    if "wavelength" not in data.coords:
        return None
    return np.asarray(data["wavelength"].values, dtype=np.float64)


def band_axis(endmembers: xr.DataArray) -> tuple[Array, str]:
    """Return the positions of the bands on the axis of the spectra, and the label of that axis."""
    known = wavelengths(endmembers)
    # A band without a wavelength would have no position on an axis of wavelengths.
    if known is None or not np.isfinite(known).all():
        return band_numbers(endmembers).astype(np.float64), "Band"
    return known, "Wavelength (nm)"


def band_labels(data: xr.DataArray) -> list[str]:
    """Return a label for each band: its name (if short) or number, and its wavelength if known."""
    labels = [f"Band {number}" for number in band_numbers(data)]
    if "band_name" in data.coords:
        for k, value in enumerate(data["band_name"].values):
            # Files may name some bands only, or name them by all that was done to them.
            if 0 < len(str(value)) <= 40:
                labels[k] = str(value)
    known = wavelengths(data)
    if known is not None:
        for k, nanometres in enumerate(known):
            if np.isfinite(nanometres):
                labels[k] += f" · {nanometres:.5g} nm"
    return labels


def band_gaps(x: Array) -> Array:
    """Return the bands before which a spectrum is broken: a step five times the median or more."""
    if len(x) < 2:
        return np.empty(0, dtype=int)
    steps = np.abs(np.diff(x))
    return np.flatnonzero(steps > 5 * np.median(steps)) + 1


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: its position in percent from the origin, and its label."""

    position: float
    label: str


@dataclass(frozen=True)
class Axis:
    """A linear axis from ``low`` to ``high`` with its ticks."""

    low: float
    high: float
    ticks: tuple[Tick, ...]

    def position(self, values: Array | float) -> Array:
        """Return the positions of ``values`` in percent from the origin."""
        return 100 * (np.asarray(values, dtype=float) - self.low) / (self.high - self.low)


def nice_axis(low: float, high: float, n_ticks: int = 6, *, widen: bool = False) -> Axis:
    """Return an axis from ``low`` to ``high`` with about ``n_ticks`` ticks at round numbers.

    With ``widen`` the ends move outwards to the next tick.

    Examples
    --------
    >>> [tick.label for tick in nice_axis(0.0, 0.93, 5, widen=True).ticks]
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    """
    # Constant data, or a single band: an axis of length zero could not place anything.
    if not high > low:
        low -= 0.5
        high += 0.5
    wanted_step = (high - low) / n_ticks
    power = 10.0 ** math.floor(math.log10(wanted_step))
    round_steps = [k * power for k in (1, 2, 2.5, 5, 10)]
    # Compared by their ratio: a step twice as long is as far off as one half as long.
    step = min(round_steps, key=lambda s: abs(math.log(s / wanted_step)))
    # The tolerances keep a tick whose value misses an end by rounding alone.
    tolerance = 1e-9
    first = math.floor(low / step + tolerance)
    last = math.ceil(high / step - tolerance)
    if widen:
        low = first * step
        high = last * step
    ticks = []
    for k in range(first, last + 1):
        value = k * step
        if low - tolerance * step <= value <= high + tolerance * step:
            ticks.append(Tick(100 * (value - low) / (high - low), f"{value:.6g}"))
    return Axis(low, high, tuple(ticks))


@dataclass(frozen=True)
class Chart:
    """The axes of spectra over the bands, and their lines as SVG paths, broken at missing bands."""

    x: Axis
    y: Axis
    bands: Array  # in percent

    @classmethod
    def of(cls, endmembers: xr.DataArray, low: float, high: float, n_ticks: int) -> "Chart":
        """Return a chart for the bands of the endmembers and values from ``low`` to ``high``."""
        positions, _ = band_axis(endmembers)
        x = nice_axis(float(positions.min()), float(positions.max()), 8)
        return cls(x, nice_axis(low, high, n_ticks, widen=True), x.position(positions))

    def line(self, spectrum: Array) -> str:
        """Return the path of a spectrum."""
        y = self.y.position(spectrum)
        return "".join(_line(self.bands[run], y[run]) for run in _runs(self.bands, y))

    def area(self, low: Array, high: Array) -> str:
        """Return the path of the area between two spectra."""
        bottom = self.y.position(low)
        top = self.y.position(high)
        path = []
        for run in _runs(self.bands, bottom + top):
            # Along the upper line, and back along the lower one.
            x = np.concatenate([self.bands[run], self.bands[run][::-1]])
            path.append(_line(x, np.concatenate([top[run], bottom[run][::-1]])) + "Z")
        return "".join(path)


def _runs(x: Array, y: Array) -> list[slice]:
    """Return the runs of points that a line connects."""
    is_finite = np.isfinite(y)
    # Whether each point but the last is connected to the next one.
    connected = is_finite[:-1] & is_finite[1:]
    connected[band_gaps(x) - 1] = False
    starts = np.flatnonzero(is_finite & ~np.append(False, connected))
    stops = np.flatnonzero(is_finite & ~np.append(connected, False)) + 1
    return [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]


def _line(x: Array, y: Array) -> str:
    # The y axis of an SVG points down.
    return "M" + "L".join(f"{x[k]:.5g} {100 - y[k]:.5g}" for k in range(len(x)))


def label_positions(points: Array, width: int, height: int, distance: float) -> Array:
    """Return the position of a label beside each point (r, 2) (x, y) of an image."""
    # Each label in turn takes one of eight positions around its point: the one inside the image
    # that is farthest from all other points and from the labels placed before.
    angles = np.deg2rad(np.arange(-45, 315, 45))
    offsets = distance * np.column_stack([np.cos(angles), np.sin(angles)])
    margin = 0.7 * distance
    labels = np.empty((len(points), 2))
    for k, point in enumerate(points):
        candidates = point + offsets
        # The point at infinity stands in where there is nothing else to keep away from.
        others = np.vstack([np.delete(points, k, axis=0), labels[:k], [[np.inf, np.inf]]])
        differences = candidates[:, None] - others[None]
        clearance = np.min(np.hypot(differences[..., 0], differences[..., 1]), axis=1)
        # Beyond three distances more clearance is no gain: the first such direction is taken,
        # so that labels of isolated points all stand on the same side.
        clearance = np.minimum(clearance, 3 * distance)
        inside = (candidates > margin) & (candidates < np.array([width, height]) - margin)
        labels[k] = candidates[np.argmax(np.where(inside.all(axis=1), clearance, -1.0))]
    return labels
