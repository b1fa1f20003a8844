"""Which axis of a plain array is the bands, if the file does not say."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import DIMS, Array
from selfdict.files.errors import SceneError

_SHORT_NAMES = {"bands-first": "band y x", "bands-last": "y x band"}


def parse_layout(layout: str) -> tuple[str, ...]:
    """Return the names of the axes in order, from them or from a short name."""
    names = tuple(_SHORT_NAMES.get(layout, layout).split())
    if sorted(names) != sorted(DIMS):
        raise InputError(
            "layout must name the axes band, y and x in their order, or be 'bands-first' or "
            f"'bands-last', got {layout!r}"
        )
    return names


def order_axes(
    path: Path, values: Array, layout: str | None, n_wavelengths: int | None = None
) -> tuple[Array, str]:
    """Return a cube as (band, y, x), and a sentence that says how its axes are known.

    ``layout`` is for :func:`parse_layout`; None: see :func:`guess_layout`.
    """
    if values.ndim != 3:
        raise SceneError(path, f"a scene must have 3 axes, got shape {values.shape}")
    if layout is not None:
        names = parse_layout(layout)
        note = f"the axes {_sizes(values.shape)} are {', '.join(names)}, as layout says"
    elif values.dtype.kind in "biuf":
        names, note = guess_layout(values.shape, values.__getitem__, n_wavelengths)
    else:
        raise SceneError(path, f"a scene must hold real numbers, got {values.dtype}")
    return values.transpose([names.index(dim) for dim in DIMS]), note


def guess_layout(
    shape: tuple[int, ...],
    load: Callable[[tuple[slice, ...]], Array] | None,
    n_wavelengths: int | None,
) -> tuple[tuple[str, ...], str]:
    """Return the names of three axes in order, and a sentence that says how they are known.

    ``load`` returns a window of the array, given one slice per axis; None if that would take long.
    """
    matching = [axis for axis in range(3) if shape[axis] == n_wavelengths]
    if len(matching) == 1:
        names = _with_bands_at(matching[0])
        return names, f"{_taken(shape, names)}: as many bands as wavelengths"
    axis = None
    # Few values along an axis are too few to compare.
    if load is not None and min(shape) >= 8:
        axis = axis_of_similar_spectra(load(middle_of(shape)))
    if axis is not None:
        names = _with_bands_at(axis)
        ordinal = ("first", "second", "third")[axis]
        return names, (
            f"{_taken(shape, names)}: spectra along the {ordinal} axis are most alike; "
            "layout=… takes another"
        )
    # MATLAB files and most others keep the spectrum of a pixel along the last axis.
    names = _with_bands_at(2)
    return names, (
        f"{_taken(shape, names)}, which is a guess: the values do not tell; "
        "layout='bands-first' takes the first axis as the bands"
    )


def _with_bands_at(axis: int) -> tuple[str, ...]:
    # Bands may also be the middle axis, as in files that interleave lines; y is before x.
    names = ["y", "x"]
    names.insert(axis, "band")
    return tuple(names)


def _taken(shape: tuple[int, ...], names: tuple[str, ...]) -> str:
    return f"the axes {_sizes(shape)} are taken as {', '.join(names)}"


def _sizes(shape: tuple[int, ...]) -> str:
    return " × ".join(str(size) for size in shape)


def middle_of(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the window that is examined, one slice of at most 64 places per axis."""
    window = []
    for size in shape:
        start = max(0, (size - 64) // 2)
        window.append(slice(start, min(size, start + 64)))
    return tuple(window)


def axis_of_similar_spectra(window: Array) -> int | None:
    """Return the axis along which three vectors explain all others best, None if it is not clear.

    A scene holds a few materials, so that its spectra lie near a space of few dimensions. Its rows
    and columns, as vectors over all pixels of an image line, do not.
    """
    with np.errstate(all="ignore"):
        values = np.nan_to_num(window.astype(np.float64), posinf=0.0, neginf=0.0)
    # Fill values would outweigh everything else.
    low, high = np.percentile(values, (1, 99))
    values = np.clip(values, low, high)
    largest = np.abs(values).max()
    if largest == 0:
        return None
    values /= largest
    tails = [_unexplained(values, axis, min(values.shape)) for axis in range(3)]
    best, second = np.sort(tails)[:2]
    # A constant array is explained along every axis. Cubes of noise have a ratio below 1.03, the
    # real and generated scenes of the documentation one above 1.3.
    if second <= 1e-6 or second < 1.2 * best:
        return None
    return int(np.argmin(tails))


def _unexplained(values: Array, axis: int, n: int) -> float:
    """Return the share of the norm that three vectors along an axis leave, over n of its places."""
    # The same number of places for every axis: fewer are explained better.
    places = np.linspace(0, values.shape[axis] - 1, n).astype(int)
    vectors = np.moveaxis(values.take(places, axis), axis, 0).reshape(n, -1)
    powers = np.linalg.eigvalsh(vectors @ vectors.T)
    return float(np.sqrt(max(powers[:-3].sum(), 0.0) / max(powers.sum(), np.finfo(float).tiny)))
