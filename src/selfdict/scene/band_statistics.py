"""What one pass over a scene tells about each of its bands."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.files.find_cube import axis_of_similar_spectra
from selfdict.scene.blocks import (
    FEWEST_BANDS,
    Block,
    is_all_zero,
    is_impossible,
    stored_matrix,
)
from selfdict.scene.metadata import declared_nodata, scaling_of

_LEAST_PAIRS = 64  # neighbouring pixels in a strip, from which the noise is estimated
_WATER_VAPOUR = ((1340.0, 1445.0), (1790.0, 1955.0))  # nm, where nearly all light is absorbed
# A band stands out if its noise is above the median by this many median deviations, of logarithms.
_DEVIATIONS = 6
# Two sets of pixels together have the sums of these, and the lower of the others.
_COUNTS = ("n_masked", "n_empty", "n_impossible", "n_uniform", "n_pixels", "n_values", "n_negative")
_LOWEST = ("impossible_value", "uniform_value", "lowest")


@dataclass(frozen=True)
class BandStatistics:
    """Counts and ranges of the bands of a scene, or of a block of it."""

    # A uniform pixel has one value other than zero in all its bands, as no spectrum has. The
    # numbers per band are about the pixels that are not uniform, masked or without data.

    n_masked: int  # pixels that a mask leaves out
    n_empty: int  # other pixels: zero in all bands, or without a value in three quarters of them
    n_impossible: int  # pixels with one value in all bands that is no measurement, such as −9999
    impossible_value: float  # the lowest of these values; infinite if there is none
    n_uniform: int  # other uniform pixels
    uniform_value: float  # the lowest value stored in them; infinite if there is none
    n_pixels: int  # all other pixels
    n_values: Array  # (n_bands,), how many of these have a value in a band
    lowest: Array  # (n_bands,), of the stored values; infinite in a band without values
    highest: Array
    n_highest: Array  # (n_bands,), how often the highest value occurs
    n_negative: Array  # (n_bands,), physical values below zero
    sums: Array  # (n_bands,), of the physical values
    squares: Array  # (n_bands,), of their squares
    noise: Array  # (k, n_bands), variances of the noise in each of k strips of the image
    spectral_axis: int | None  # along which vectors are most alike; None if that is not clear

    def __add__(self, other: "BandStatistics") -> "BandStatistics":
        """Return the statistics of two sets of pixels together."""
        highest = np.maximum(self.highest, other.highest)
        own = np.where(self.highest == highest, self.n_highest, 0)
        others = np.where(other.highest == highest, other.n_highest, 0)
        together = {}
        # Squares of damaged values may be infinite.
        with np.errstate(over="ignore"):
            for name in (*_COUNTS, "sums", "squares"):
                together[name] = getattr(self, name) + getattr(other, name)
        for name in _LOWEST:
            together[name] = np.minimum(getattr(self, name), getattr(other, name))
        return BandStatistics(
            **together,
            highest=highest,
            n_highest=own + others,
            noise=np.concatenate([self.noise, other.noise]),
            spectral_axis=self.spectral_axis,
        )

    @property
    def levels(self) -> Array:
        """Root mean square of the physical values of each band; 0 without values, (n_bands,)."""
        with np.errstate(over="ignore"):
            return np.sqrt(self.squares / np.maximum(self.n_values, 1))

    @property
    def noise_levels(self) -> Array:
        """Standard deviation of the noise of each band; NaN if there are too few pixels."""
        if not len(self.noise):
            return np.full(self.noise.shape[1], np.nan)
        # of the strips: a few damaged pixels spoil one of them
        return np.asarray(np.sqrt(np.median(self.noise, axis=0)))

    @property
    def constant(self) -> Array:
        """Which bands hold one value in all pixels, or none, as booleans."""
        # In few pixels the values of a band may agree by chance.
        if self.n_pixels < 16:
            return np.zeros(self.n_values.shape, dtype=bool)
        return np.asarray((self.lowest == self.highest) | (self.n_values == 0))


def examine_block(block: Block) -> BandStatistics:
    """Return the statistics of the bands of a block."""
    scene = block.scene
    nodata = declared_nodata(scene)
    gain, offset = scaling_of(scene)
    raw = stored_matrix(scene)
    inside = np.ones(raw.shape[1], dtype=bool)
    if "valid" in scene.coords:
        inside = scene["valid"].values.ravel().astype(bool)
    # Damaged values may overflow or be signalling NaNs.
    with np.errstate(all="ignore"):
        lowest, highest, n_values = _ranges_of_pixels(raw, nodata)
        is_zero = is_all_zero(lowest, highest, raw.dtype)
        # Outside the image a few faulty bands may hold a number, and inside it one of two detectors
        # may be missing.
        has_data = ~is_zero & (n_values >= 0.25 * len(raw))
        left_out = inside & has_data & is_impossible(raw, gain, offset)
        is_uniform = inside & has_data & (n_values == len(raw)) & (lowest == highest) & ~left_out
        if len(raw) < FEWEST_BANDS:
            is_uniform[:] = False
        usual = inside & has_data & ~is_uniform & ~left_out
        bands = _examine_bands(raw, usual, nodata, gain, offset)
        noise = _noise_of_strips(raw.reshape(scene.shape), usual, gain)
    return BandStatistics(
        n_masked=int(np.count_nonzero(~inside)),
        n_empty=int(np.count_nonzero(inside & ~has_data)),
        n_impossible=int(np.count_nonzero(left_out)),
        impossible_value=float(np.min(lowest[left_out], initial=np.inf)),
        n_uniform=int(np.count_nonzero(is_uniform)),
        uniform_value=float(np.min(lowest[is_uniform], initial=np.inf)),
        n_pixels=int(np.count_nonzero(usual)),
        **bands,
        noise=noise,
        spectral_axis=_spectral_axis(block, raw),
    )


def _examine_bands(
    raw: Array, usual: Array, nodata: float | None, gain: Array, offset: Array
) -> dict[str, Array]:
    """Return the numbers per band over the usual pixels of stored values (bands, pixels)."""
    counts = ("n_values", "n_highest", "n_negative")
    found: dict[str, Array] = {name: np.zeros(len(raw), dtype=np.int64) for name in counts}
    found |= {name: np.zeros(len(raw)) for name in ("sums", "squares")}
    found |= {"lowest": np.full(len(raw), np.inf), "highest": np.full(len(raw), -np.inf)}
    for band, stored in enumerate(raw):
        values = stored
        present = usual & _is_present(stored, nodata)
        if not present.all():
            values = stored[present]
        if values.size == 0:
            continue
        lowest = values.min()
        highest = values.max()
        physical = values.astype(np.float64)
        if gain[band] != 1 or offset[band] != 0:
            physical = physical * gain[band] + offset[band]
        found["n_values"][band] = values.size
        found["lowest"][band] = lowest
        found["highest"][band] = highest
        found["n_highest"][band] = np.count_nonzero(values == highest)
        found["n_negative"][band] = np.count_nonzero(physical < 0)
        found["sums"][band] = physical.sum()
        found["squares"][band] = physical @ physical
    return found


def _is_present(values: Array, nodata: float | None) -> Array:
    """Return which stored values are data."""
    present = np.ones(values.shape, dtype=bool)
    if values.dtype.kind == "f":
        present = np.isfinite(values)
    # A single zero is a measurement, even if zero is declared as no-data; see ``valid_mask``.
    if nodata is not None and nodata != 0:
        present &= values != nodata
    return present


def _ranges_of_pixels(raw: Array, nodata: float | None) -> tuple[Array, Array, Array]:
    """Return the lowest and the highest value of each pixel, and how many it has."""
    lowest = np.full(raw.shape[1], np.inf)
    highest = np.full(raw.shape[1], -np.inf)
    n_values = np.zeros(raw.shape[1], dtype=np.int64)
    # Band by band, so that temporary arrays are small.
    for values in raw:
        present = _is_present(values, nodata)
        np.minimum(lowest, values, out=lowest, where=present)
        np.maximum(highest, values, out=highest, where=present)
        n_values += present
    return lowest, highest, n_values


def _spectral_axis(block: Block, raw: Array) -> int | None:
    """Return along which axis vectors are most alike, by the first block of a scene."""
    shape = block.scene.shape
    if block.number > 0 or min(shape) < 8:
        return None
    if "wavelength" in block.scene.coords and shape[0] not in shape[1:]:
        return None  # there are as many wavelengths as bands
    return axis_of_similar_spectra(raw.reshape(shape))


def _noise_of_strips(cube: Array, usual: Array, gain: Array) -> Array:
    """Return the variance of the noise of each band in some strips of a block, (k, n_bands)."""
    # Noise is what neither the pixel on the left nor the neighbouring bands tell: differences of
    # neighbouring pixels are regressed on the same differences in the bands beside. Edges between
    # materials are alike in neighbouring bands, and noise is not.
    n_bands, n_rows, n_columns = cube.shape
    is_usual = usual.reshape(n_rows, n_columns)
    is_pair = is_usual[:, 1:] & is_usual[:, :-1]
    # More strips would take time without telling more.
    n_strips = min(8, int(is_pair.sum()) // _LEAST_PAIRS, n_rows)
    if n_bands < FEWEST_BANDS or n_strips == 0:
        return np.zeros((0, n_bands))
    found = []
    for rows in np.array_split(np.arange(n_rows), n_strips):
        # some rows of each strip are enough: those with the fewest pixels without data
        fullest = np.argsort(-is_pair[rows].sum(axis=1), kind="stable")
        rows = rows[fullest[: 1 + 2 * _LEAST_PAIRS // n_columns]]
        pairs = is_pair[rows]
        if pairs.sum() < _LEAST_PAIRS // 2:
            continue
        values = cube[:, rows].astype(np.float64)
        steps = np.diff(values, axis=2)[:, pairs] * gain[:, None]
        steps[~np.isfinite(steps)] = 0.0
        found.append(_noise_of_steps(steps))
    return np.array(found).reshape(-1, n_bands)


def _noise_of_steps(steps: Array) -> Array:
    """Return the variance of the noise of bands from differences of pixels (n_bands, n)."""
    n_bands = len(steps)
    products = steps @ steps.T / steps.shape[1]
    numbers = np.arange(n_bands)
    left = np.where(numbers == 0, 2, numbers - 1)
    right = np.where(numbers == n_bands - 1, n_bands - 3, numbers + 1)
    beside = np.stack([left, right], axis=1)
    normal = products[beside[:, :, None], beside[:, None, :]]
    # bands without values have no products
    trace = np.trace(normal, axis1=1, axis2=2)
    normal = normal + (1e-9 * trace + np.finfo(float).tiny)[:, None, None] * np.eye(2)
    across = products[numbers[:, None], beside]
    weights = np.linalg.solve(normal, across[:, :, None])[:, :, 0]
    left_over = products[numbers, numbers] - (weights * across).sum(axis=1)
    # two pixels, and the bands beside, have noise of their own
    return np.asarray(np.maximum(left_over, 0.0) / (2 * (1 + (weights**2).sum(axis=1))))


def noisy_bands(scene: xr.DataArray, statistics: BandStatistics, sound: Array) -> Array:
    """Return which sound bands hold much more noise than others, beside what they measure."""
    levels = statistics.levels
    in_water = np.zeros_like(sound)
    if "wavelength" in scene.coords:
        wavelength = scene["wavelength"].values
        for low, high in _WATER_VAPOUR:
            in_water |= (wavelength >= low) & (wavelength <= high)
    usual = sound & ~in_water & (levels > 0)
    with np.errstate(all="ignore"):
        relative = statistics.noise_levels / levels
        logarithms = np.log(relative[usual & (relative > 0)])
        means = statistics.sums / np.maximum(statistics.n_values, 1)
        deviations = np.sqrt(np.maximum(levels**2 - means**2, 0.0))
    if logarithms.size < FEWEST_BANDS:
        return np.zeros_like(sound)
    typical = np.median(logarithms)
    deviation = np.median(np.abs(logarithms - typical))
    limit = np.exp(typical + max(_DEVIATIONS * deviation, np.log(2)))
    stands_out = sound & (relative > limit)
    # more noise than signal
    is_noise = statistics.noise_levels > np.sqrt(0.5) * deviations
    # and those that bands which stand out connect with them: runs of such bands have one number
    begin = stands_out & (in_water | is_noise)
    runs = np.cumsum(~stands_out)
    return np.asarray(stands_out & np.isin(runs, runs[begin]))
