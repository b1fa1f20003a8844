"""Which axis of a plain array is the bands, and how a matrix of pixels is an image."""

from collections.abc import Callable, Mapping

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import DIMS, Array

_SHORT_NAMES = {"bands-first": "band y x", "bands-last": "y x band"}
# The orders of pixels, and how messages name them.
_ORDERS = {"column-major": "down the columns", "row-major": "along the rows"}


def parse_layout(layout: str) -> tuple[str, ...]:
    """Return the names of the axes in order, from them or from a short name."""
    names = tuple(_SHORT_NAMES.get(layout, layout).split())
    if sorted(names) != sorted(DIMS):
        raise InputError(
            "layout must name the axes band, y and x in their order, or be 'bands-first' or "
            f"'bands-last', got {layout!r}"
        )
    return names


def guess_layout(
    shape: tuple[int, ...],
    load: Callable[[tuple[slice, ...]], Array] | None,
    n_wavelengths: int | None,
) -> tuple[tuple[str, ...], str]:
    """Return the names of three axes in order, and a sentence that says how they are known.

    ``load`` returns a window of the array, given one slice per axis; None if that would take long.
    """
    matching = [axis for axis in range(3) if shape[axis] == n_wavelengths]
    # MATLAB files and most others keep the spectrum of a pixel along the last axis.
    axis = 2
    how = (
        ", which is a guess: the values do not decide it; "
        "layout='bands-first' takes the first axis as the bands"
    )
    if len(matching) == 1:
        axis = matching[0]
        how = ": as many bands as wavelengths"
    # Few values along an axis are too few to compare.
    elif load is not None and min(shape) >= 8:
        similar = axis_of_similar_spectra(load(middle_of(shape)))
        if similar is not None:
            axis = similar
            ordinal = ("first", "second", "third")[axis]
            how = f": spectra along the {ordinal} axis are most alike; layout=… takes another"
    # Bands may also be the middle axis, as in files that interleave lines; y is before x.
    names = ["y", "x"]
    names.insert(axis, "band")
    sizes = " × ".join(str(size) for size in shape)
    return tuple(names), f"the axes {sizes} are taken as {', '.join(names)}{how}"


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
    values = _without_outliers(window, None)
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


def _without_outliers(values: Array, axis: tuple[int, ...] | None) -> Array:
    """Return values as float64 without fill values, which would outweigh everything else."""
    with np.errstate(all="ignore"):
        values = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
        low, high = np.percentile(values, (1, 99), axis=axis, keepdims=True)
        return np.clip(values, low, high)


def _unexplained(values: Array, axis: int, n: int) -> float:
    """Return the share of the norm that three vectors along an axis leave, over n of its places."""
    # The same number of places for every axis: fewer are explained better.
    places = np.linspace(0, values.shape[axis] - 1, n).astype(int)
    vectors = np.moveaxis(values.take(places, axis), axis, 0).reshape(n, -1)
    powers = np.linalg.eigvalsh(vectors @ vectors.T)
    return float(np.sqrt(max(powers[:-3].sum(), 0.0) / max(powers.sum(), np.finfo(float).tiny)))


def unfold(values: Array, n_rows: int, n_columns: int, order: str | None) -> tuple[Array, str]:
    """Return a matrix, one axis of which is the pixels, as a cube (band, y, x), and a note.

    ``order`` says how pixels are counted: down the columns of the image, as in MATLAB, or along its
    rows, as in NumPy; None: as the image is smoother.
    """
    if order is not None and order not in _ORDERS:
        raise InputError(f"layout of a matrix must be 'column-major' or 'row-major', got {order!r}")
    axis = "column"
    if values.shape[1] != n_rows * n_columns:
        values = values.T
        axis = "row"
    images = {
        # MATLAB counts pixels column by column: reshape to (x, y) and swap.
        "column-major": values.reshape(-1, n_columns, n_rows).transpose(0, 2, 1),
        "row-major": values.reshape(-1, n_rows, n_columns),
    }
    how = "as layout=… says"
    if order is None:
        order, how = _guess_order(images)
    return images[order], f"one {axis} per pixel, counted {_ORDERS[order]} of the image, {how}"


def _guess_order(images: Mapping[str, Array]) -> tuple[str, str]:
    """Return the order in which the image is smoother along both axes, and how it is known."""
    n_bands, n_rows, n_columns = images["row-major"].shape
    # Few rows or columns are too few to compare, and some bands are enough.
    if min(n_rows, n_columns) >= 8 and n_rows != n_columns:
        bands = np.linspace(0, n_bands - 1, min(n_bands, 16)).astype(int)
        roughness = {order: _roughness(image[bands]) for order, image in images.items()}
        smooth, rough = sorted(roughness, key=lambda order: roughness[order])
        # Noise stays below 1.05.
        if roughness[rough] > 1.1 * roughness[smooth]:
            how = f"the order in which it is smoother; layout='{rough}' takes the other"
            return smooth, how
    return "column-major", "as in MATLAB, which is a guess; layout='row-major' takes the rows"


def _roughness(image: Array) -> float:
    """Return the mean distance of neighbours along both axes of some bands (band, y, x)."""
    values = _without_outliers(image, (1, 2))
    along_rows = np.abs(np.diff(values, axis=2)).mean()
    along_columns = np.abs(np.diff(values, axis=1)).mean()
    return float(along_rows + along_columns)
