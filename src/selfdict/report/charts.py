"""Geometry of the report's charts.

Everything is placed in percent of the plot area, so that a chart fits a phone, a desktop and a
printed page without being drawn again: lines live in an SVG that stretches with its box (and whose
strokes do not), labels are HTML placed beside it.
"""

import math
from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: its place in percent from the origin, and its label."""

    place: float
    label: str


@dataclass(frozen=True)
class Axis:
    """A linear axis from ``low`` to ``high`` with its ticks."""

    low: float
    high: float
    ticks: tuple[Tick, ...]

    def place(self, values: Array | float) -> Array:
        """Return where ``values`` lie, in percent from the origin."""
        return 100 * (np.asarray(values, dtype=float) - self.low) / (self.high - self.low)


def nice_axis(low: float, high: float, n_ticks: int = 6, *, widen: bool = False) -> Axis:
    """Return an axis over ``low``…``high`` with about ``n_ticks`` ticks at round numbers.

    With ``widen`` the ends move out to the next tick.

    Examples
    --------
    >>> from selfdict.report.charts import nice_axis
    >>> [tick.label for tick in nice_axis(0.0, 0.93, 5, widen=True).ticks]
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    """
    if not high > low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / n_ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((k * power for k in (1, 2, 2.5, 5, 10)), key=lambda s: abs(math.log(s / rough)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if widen:
        low, high = first * step, last * step
    values = [
        k * step
        for k in range(first, last + 1)
        if low - 1e-9 * step <= k * step <= high + 1e-9 * step
    ]
    ticks = tuple(
        Tick(
            100 * (v - low) / (high - low), f"{v:.6g}".replace("-0", "0") if v == 0 else f"{v:.6g}"
        )
        for v in values
    )
    return Axis(low, high, ticks)


def svg_path(x: Array, y: Array) -> str:
    """Return the line through the points (percent from the lower left) as an SVG path.

    The line is broken where a value is not finite, and over gaps in ``x`` of more than five times
    the median step: bands that were dropped are not bridged.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.report.charts import svg_path
    >>> svg_path(np.array([0.0, 50.0, 100.0]), np.array([0.0, np.nan, 100.0]))
    'M0 100M100 0'
    """
    steps = np.abs(np.diff(x, prepend=x[:1]))
    limit = 5 * float(np.median(steps[1:])) if len(x) > 1 else 0.0
    parts, pen_down = [], False
    for a, b, step in zip(x, y, steps):
        if not np.isfinite(b):
            pen_down = False
            continue
        parts.append(f"{'L' if pen_down and step <= limit else 'M'}{a:.5g} {100 - b:.5g}")
        pen_down = True
    return "".join(parts)


def label_places(points: Array, width: int, height: int, distance: float) -> Array:
    """Place a label beside each point (r, 2) (x, y) of an image, away from the other points and labels.

    Each label takes, in turn, the one of eight directions that keeps it inside the image and
    farthest from everything placed so far.
    """
    angles = np.deg2rad(np.arange(-45, 315, 45))
    offsets = distance * np.column_stack([np.cos(angles), np.sin(angles)])
    labels = np.empty((len(points), 2))
    for k, point in enumerate(points):
        spots = point + offsets
        others = np.vstack([np.delete(points, k, axis=0), labels[:k], [[np.inf, np.inf]]])
        room = np.min(np.hypot(*(spots[:, None] - others[None]).transpose(2, 0, 1)), axis=1)
        margin = 0.7 * distance
        inside = (spots > margin).all(axis=1) & (spots < np.array([width, height]) - margin).all(
            axis=1
        )
        labels[k] = spots[np.argmax(np.where(inside, np.minimum(room, 3 * distance), -1.0))]
    return labels
