"""Maps and the false-colour image: thinned, scaled, and as PNG images that a page can contain."""

import base64
import io
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._colours import NO_DATA_RGB, RAMPS, rgb_of
from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.report.facts import band_labels, wavelengths

# For annotations only: arrays need no xarray.
if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import UnmixResult

# Of a scene with more pixels evenly spaced rows and columns are read only, so that little memory
# is needed however large the scene is.
MOST_PIXELS = 4_000_000
# Longest side of a PNG image in pixels.
LONGEST_SIDE = 512


class Maps:
    """The maps of a result as arrays: every n-th row and column, each map read on first use."""

    def __init__(
        self,
        result: "UnmixResult",
        most_pixels: int = MOST_PIXELS,
        longest_side: int = LONGEST_SIDE,
    ) -> None:
        self._result = result
        n_rows, n_columns = result.residual.shape
        self.every = math.ceil(math.sqrt(max(1.0, n_rows * n_columns / most_pixels)))
        longest = -(-max(n_rows, n_columns) // self.every)
        # An image shows every n-th row and column of the maps.
        self._step = -(-longest // longest_side)

    def coarser(self) -> None:
        """Let images show fewer rows and columns."""
        self._step += 1

    @property
    def image_scale(self) -> int:
        """How many rows and columns of the scene one pixel of an image stands for."""
        return self.every * self._step

    def image(self, values: Array) -> Array:
        """Return what an image shows of maps (…, y, x)."""
        return values[..., :: self._step, :: self._step]

    def thinned(self, data: "xr.DataArray") -> Array:
        """Return every n-th row and column of (…, y, x)."""
        every = slice(None, None, self.every)
        return np.asarray(data.isel(y=every, x=every).values)

    @cached_property
    def valid(self) -> Array:
        """Where there is data, (y, x) of bool."""
        return self.thinned(self._result.valid)

    @cached_property
    def abundances(self) -> Array:
        """The abundances, (r, y, x)."""
        return self.thinned(self._result.abundances)

    @cached_property
    def residual(self) -> Array:
        """The relative residual, (y, x)."""
        return self.thinned(self._result.residual)

    @cached_property
    def brightness(self) -> Array | None:
        """The brightness, (y, x); None without one."""
        if self._result.brightness is None:
            return None
        return self.thinned(self._result.brightness)

    @cached_property
    def uncertainty(self) -> Array | None:
        """The standard errors of the abundances, (r, y, x); None without any."""
        if self._result.uncertainty is None:
            return None
        return self.thinned(self._result.uncertainty)

    @cached_property
    def largest_error(self) -> Array | None:
        """The largest known standard error of each pixel, (y, x); None without any."""
        if self.uncertainty is None:
            return None
        return np.asarray(np.fmax.reduce(self.uncertainty, axis=0))

    def false_colour(self, scene: "xr.DataArray") -> tuple[Array, list[str]]:
        """Return three bands as an image (3, y, x) in 0…1, and their labels.

        Nothing else is read of the scene. No band holds one value or is marked as bad.
        """
        sound = np.arange(scene.sizes["band"])
        if self._result.preflight is not None:
            sound = np.flatnonzero(self._result.preflight.sound)
        known = wavelengths(scene)
        if known is not None:
            known = known[sound]
        bands = [int(sound[k]) for k in false_colour_bands(known, sound.size)]
        # By slices, since dask reads whole chunks, with all their bands, for a list of bands.
        parts = [self.thinned(scene.isel(band=slice(k, k + 1))) for k in bands]
        image = np.concatenate(parts).astype(np.float32)
        labels = band_labels(scene)
        return stretch(image, self.valid), [labels[k] for k in bands]


def false_colour_bands(wavelengths: Array | None, n_bands: int) -> tuple[int, int, int]:
    """Return the bands to show as red, green and blue.

    They are near infrared, red and green if the scene has them, as in a colour-infrared photograph.
    Otherwise they are three bands spread over the range.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.report.pictures import false_colour_bands
    >>> false_colour_bands(np.linspace(400.0, 2500.0, 211), 211)
    (46, 25, 15)
    """
    if wavelengths is not None:
        # A file may leave out the wavelengths of some bands.
        known = wavelengths[np.isfinite(wavelengths)]
        # 550 and 860 nm need not be covered exactly: 10 nm less on either side will do.
        if known.size > 0 and known.min() <= 560 and known.max() >= 850:
            return (
                _nearest_band(wavelengths, 860.0),
                _nearest_band(wavelengths, 650.0),
                _nearest_band(wavelengths, 550.0),
            )
    last = n_bands - 1
    return int(0.8 * last), int(0.5 * last), int(0.2 * last)


def _nearest_band(wavelengths: Array, nanometres: float) -> int:
    return int(np.nanargmin(np.abs(wavelengths - nanometres)))


def stretch(bands: Array, valid: Array) -> Array:
    """Stretch each band of (3, y, x) from its 2nd to its 98th percentile over ``valid`` to 0…1."""
    stretched = np.zeros(bands.shape, dtype=np.float32)
    # There are no percentiles of nothing.
    if not valid.any():
        return stretched
    for k, band in enumerate(bands):
        # Percentiles, since a few outliers would leave all other pixels nearly black.
        low, high = np.percentile(band[valid], (2, 98))
        # The smallest positive number avoids a division by zero in a constant band.
        width = max(high - low, np.finfo(np.float32).tiny)
        stretched[k] = np.clip((np.nan_to_num(band) - low) / width, 0, 1)
    return stretched


def colour_limit(maps: Array, known: Array, at_least: float = 0.0) -> float:
    """Return the top of one colour scale for maps (…, y, x): 99.5 % of the values are below it."""
    # Maps without any value, or that are zero everywhere, still need a scale of some length.
    if not known.any():
        return max(at_least, 1.0)
    limit = max(at_least, float(np.percentile(maps[..., known], 99.5)))
    if limit == 0:
        return 1.0
    return limit


def rgb_png(image: Array, valid: Array) -> str:
    """Return the image (3, y, x) in 0…1 as a PNG ``data:`` address, grey where nothing is valid."""
    # The conversion to integers cuts the fraction off.
    pixels = np.moveaxis((255 * image + 0.5).astype(np.uint8), 0, -1)
    pixels[~valid] = NO_DATA_RGB
    return _data_address(optional("PIL.Image").fromarray(pixels))


def map_png(values: Array, known: Array, top: float, colours: str) -> str:
    """Return the map (y, x) as a PNG ``data:`` address, grey where nothing is known.

    The colour map covers 0…``top``. The PNG has one byte per pixel (255 colours and the grey), a
    third of the size of full colour.
    """
    level = np.clip(np.nan_to_num(values) / top, 0, 1)
    # Entry 255 of the palette is the grey.
    indices = np.where(known, 254 * level + 0.5, 255).astype(np.uint8)
    return _indexed_png(indices, np.vstack([_ramp(colours, 255), NO_DATA_RGB]))


def class_png(classes: Array, colours: list[tuple[int, int, int]]) -> str:
    """Return a map of classes (y, x) as a PNG ``data:`` address: 0 is grey, k is colour k − 1."""
    return _indexed_png(classes.astype(np.uint8), np.array([NO_DATA_RGB, *colours]))


def _indexed_png(indices: Array, palette: Array) -> str:
    picture = optional("PIL.Image").fromarray(indices)
    picture.putpalette(palette.astype(np.uint8).tobytes())
    return _data_address(picture)


def css_gradient(colours: str) -> str:
    """Return a colour map as a CSS gradient from left to right."""
    stops = ", ".join(f"#{stop}" for stop in RAMPS[colours].split())
    return f"linear-gradient(to right, {stops})"


def _ramp(colours: str, count: int) -> Array:
    """Return ``count`` colours of a colour map, (count, 3), in 0…255."""
    stops = np.array([rgb_of(stop) for stop in RAMPS[colours].split()])
    places = np.linspace(0, len(stops) - 1, count)
    channels = [np.interp(places, np.arange(len(stops)), channel) for channel in stops.T]
    return np.stack(channels, axis=1)


def _data_address(picture: Any) -> str:
    stream = io.BytesIO()
    picture.save(stream, format="PNG")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
