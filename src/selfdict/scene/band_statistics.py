"""What one pass over a scene tells about each of its bands."""

from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.scene.blocks import FEWEST_BANDS, is_all_zero, is_impossible, stored_block
from selfdict.scene.metadata import declared_nodata, scaling_of
from selfdict.scene.passes import Block

# Share of the bands in which a pixel with data has a value. Outside the image a few faulty bands
# may hold a number, and inside it one of two detectors may be missing.
_LEAST_SHARE = 0.25


@dataclass(frozen=True)
class BandStatistics:
    """Counts and ranges of the bands of a scene, or of a block of it.

    A *uniform* pixel has one value other than zero in all its bands, as no spectrum has. Such
    pixels, those that a mask leaves out and those without data are counted; the numbers per band
    are about all other pixels. Uniform pixels whose value is no measurement hold no data.
    """

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
    squares: Array  # (n_bands,), sum of the squares of the physical values

    def __add__(self, other: "BandStatistics") -> "BandStatistics":
        """Return the statistics of two sets of pixels together."""
        highest = np.maximum(self.highest, other.highest)
        own = np.where(self.highest == highest, self.n_highest, 0)
        others = np.where(other.highest == highest, other.n_highest, 0)
        # Squares of damaged values may be infinite.
        with np.errstate(over="ignore"):
            squares = self.squares + other.squares
        return BandStatistics(
            n_masked=self.n_masked + other.n_masked,
            n_empty=self.n_empty + other.n_empty,
            n_impossible=self.n_impossible + other.n_impossible,
            impossible_value=min(self.impossible_value, other.impossible_value),
            n_uniform=self.n_uniform + other.n_uniform,
            uniform_value=min(self.uniform_value, other.uniform_value),
            n_pixels=self.n_pixels + other.n_pixels,
            n_values=self.n_values + other.n_values,
            lowest=np.minimum(self.lowest, other.lowest),
            highest=highest,
            n_highest=own + others,
            n_negative=self.n_negative + other.n_negative,
            squares=squares,
        )

    @property
    def root_mean_squares(self) -> Array:
        """Root mean square of the physical values of each band; 0 without values, (n_bands,)."""
        with np.errstate(over="ignore"):
            return np.sqrt(self.squares / np.maximum(self.n_values, 1))


def examine_block(block: Block) -> BandStatistics:
    """Return the statistics of the bands of a block."""
    scene = block.scene
    nodata = declared_nodata(scene)
    raw = stored_block(scene, slice(None), slice(None))
    inside = np.ones(raw.shape[1], dtype=bool)
    if "valid" in scene.coords:
        inside = scene["valid"].values.ravel().astype(bool)
    # Damaged values may overflow or be signalling NaNs.
    with np.errstate(all="ignore"):
        lowest, highest, n_values = _ranges_of_pixels(raw, nodata)
        is_zero = is_all_zero(lowest, highest, raw.dtype)
        has_data = ~is_zero & (n_values >= _LEAST_SHARE * len(raw))
        left_out = inside & has_data & is_impossible(raw, *scaling_of(scene))
        is_uniform = inside & has_data & (n_values == len(raw)) & (lowest == highest) & ~left_out
        if len(raw) < FEWEST_BANDS:
            is_uniform[:] = False
        usual = inside & has_data & ~is_uniform & ~left_out
        bands = _examine_bands(raw, usual, nodata, *scaling_of(scene))
    return BandStatistics(
        n_masked=int(np.count_nonzero(~inside)),
        n_empty=int(np.count_nonzero(inside & ~has_data)),
        n_impossible=int(np.count_nonzero(left_out)),
        impossible_value=float(np.min(lowest[left_out], initial=np.inf)),
        n_uniform=int(np.count_nonzero(is_uniform)),
        uniform_value=float(np.min(lowest[is_uniform], initial=np.inf)),
        n_pixels=int(np.count_nonzero(usual)),
        **bands,
    )


def _examine_bands(
    raw: Array, usual: Array, nodata: float | None, gain: Array, offset: Array
) -> dict[str, Array]:
    """Return the numbers per band over the usual pixels of stored values (bands, pixels)."""
    n_bands = len(raw)
    lowest = np.full(n_bands, np.inf)
    highest = np.full(n_bands, -np.inf)
    n_values = np.zeros(n_bands, dtype=np.int64)
    n_highest = np.zeros(n_bands, dtype=np.int64)
    n_negative = np.zeros(n_bands, dtype=np.int64)
    squares = np.zeros(n_bands)
    for band, stored in enumerate(raw):
        values = stored[usual & _is_present(stored, nodata)]
        n_values[band] = values.size
        if values.size == 0:
            continue
        lowest[band] = values.min()
        highest[band] = values.max()
        n_highest[band] = np.count_nonzero(values == values.max())
        physical = values.astype(np.float64) * gain[band] + offset[band]
        n_negative[band] = np.count_nonzero(physical < 0)
        squares[band] = physical @ physical
    return {
        "n_values": n_values,
        "lowest": lowest,
        "highest": highest,
        "n_highest": n_highest,
        "n_negative": n_negative,
        "squares": squares,
    }


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
