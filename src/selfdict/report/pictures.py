"""The images of the scene and of its maps: thinned, coloured, and as PNGs that a page contains."""

import base64
import io
import math
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from selfdict._display import (
    ABUNDANCE_MAP,
    BRIGHTNESS_MAP,
    NO_DATA_RGB,
    RAMPS,
    RESIDUAL_MAP,
    UNCERTAINTY_MAP,
    class_colours,
    rgb_of,
)
from selfdict._imports import optional
from selfdict._validation import Array
from selfdict.report import words
from selfdict.report.charts import band_labels, nice_axis, wavelengths
from selfdict.scene.exports import dominant_materials
from selfdict.scene.result import UnmixResult

# Of a scene with more pixels evenly spaced rows and columns are read only, so that little memory
# is needed however large the scene is.
MOST_PIXELS = 4_000_000


class Maps:
    """The maps of a result as arrays: every n-th row and column, each map read on first use."""

    def __init__(self, result: UnmixResult, most_pixels: int = MOST_PIXELS) -> None:
        self._result = result
        self._read: dict[str, Array | None] = {}
        n_rows, n_columns = result.residual.shape
        self.every = math.ceil(math.sqrt(max(1.0, n_rows * n_columns / most_pixels)))
        longest = -(-max(n_rows, n_columns) // self.every)
        # An image shows every n-th row and column of the maps, at most 512 along a side.
        self._step = -(-longest // 512)

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

    def thinned(self, data: xr.DataArray) -> Array:
        """Return every n-th row and column of (…, y, x)."""
        every = slice(None, None, self.every)
        return np.asarray(data.isel(y=every, x=every).values)

    def of(self, name: str) -> Any:
        """Return a map of the result by its name, thinned; None if the result does not have it."""
        if name not in self._read:
            self._read[name] = None
            data = getattr(self._result, name)
            if data is not None:
                self._read[name] = self.thinned(data)
        return self._read[name]

    @property
    def valid(self) -> Array:
        """Where there is data, (y, x) of bool."""
        return np.asarray(self.of("valid"))

    @property
    def abundances(self) -> Array:
        """The abundances, (r, y, x)."""
        return np.asarray(self.of("abundances"))

    @cached_property
    def largest_error(self) -> Array | None:
        """The largest known standard error of each pixel, (y, x); None without any."""
        if self.of("uncertainty") is None:
            return None
        return np.asarray(np.fmax.reduce(self.of("uncertainty"), axis=0))

    def false_colour(self, scene: xr.DataArray) -> tuple[Array, list[str]]:
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
        return _stretched(image, self.valid), [labels[k] for k in bands]


def false_colour_bands(wavelengths: Array | None, n_bands: int) -> list[int]:
    """Return the bands to show as red, green and blue.

    They are near infrared, red and green if the scene has them, as in a colour-infrared photograph.
    Otherwise they are three bands spread over the range.

    Examples
    --------
    >>> false_colour_bands(np.linspace(400.0, 2500.0, 211), 211)
    [46, 25, 15]
    """
    if wavelengths is not None:
        # A file may leave out the wavelengths of some bands.
        known = wavelengths[np.isfinite(wavelengths)]
        # 550 and 860 nm need not be covered exactly: 10 nm less on either side will do.
        if known.size > 0 and known.min() <= 560 and known.max() >= 850:
            return [int(np.nanargmin(np.abs(wavelengths - nm))) for nm in (860, 650, 550)]
    return [int(part * (n_bands - 1)) for part in (0.8, 0.5, 0.2)]


def _stretched(bands: Array, valid: Array) -> Array:
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


def map_pictures(
    result: UnmixResult, scene: xr.DataArray, maps: Maps, most_bytes: int
) -> tuple[dict[str, Any], int]:
    """Return the images of the scene and of all maps, as large as fit, and their size in bytes."""
    image, image_labels = maps.false_colour(scene)
    while True:
        layers = _layers(result, maps)
        scene_png = _rgb_png(maps.image(image), maps.image(maps.valid))
        dominant = _dominant(maps, len(result.pixels))
        pngs = [scene_png, dominant["png"]]
        for layer in layers.values():
            if layer is not None:
                pngs += layer["pngs"]
        n_bytes = sum(len(png) for png in pngs)
        if n_bytes <= most_bytes:
            pictures = {"scene_png": scene_png, "image_labels": image_labels, "dominant": dominant}
            return pictures | layers, n_bytes
        maps.coarser()


def _dominant(maps: Maps, r: int) -> dict[str, Any]:
    """Return the map of the material that each pixel holds most of, and the part of each."""
    classes = np.where(maps.valid, dominant_materials(maps.abundances), 0)
    counts = np.bincount(classes.ravel(), minlength=r + 1)[1:]
    palette = np.array([NO_DATA_RGB, *class_colours(r)])
    return {
        "png": _indexed_png(maps.image(classes).astype(np.uint8), palette),
        "parts": counts / max(1, maps.valid.sum()),
    }


def _layers(result: UnmixResult, maps: Maps) -> dict[str, dict[str, Any] | None]:
    """Return the images of each map; None where nothing is known."""
    unit = 1.0
    if words.are_shares(result):
        unit = 100.0
    # The scale of abundances reaches a pure pixel, even if there is none.
    return {
        "abundances": _coloured(maps, maps.abundances, ABUNDANCE_MAP, unit, at_least=1.0),
        "uncertainty": _coloured(maps, maps.largest_error, UNCERTAINTY_MAP, unit),
        "brightness": _coloured(maps, maps.of("brightness"), BRIGHTNESS_MAP, at_least=1.0),
        "residual": _coloured(maps, maps.of("residual"), RESIDUAL_MAP, 100.0),
    }


def _coloured(
    maps: Maps, values: Array | None, colours: str, unit: float = 1.0, at_least: float = 0.0
) -> dict[str, Any] | None:
    """Return the images of a map (y, x) or of maps (k, y, x) on one colour scale, and that scale.

    The axis of the scale counts in ``unit`` of the values.
    """
    if values is None:
        return None
    layers = values.reshape(-1, *values.shape[-2:])
    known = maps.valid & np.isfinite(layers).all(axis=0)
    if not known.any():
        return None
    axis = nice_axis(0.0, unit * colour_limit(layers, known, at_least), 4)
    top = axis.high / unit
    shown = maps.image(known)
    stops = RAMPS[colours].split()
    return {
        "axis": axis,
        "gradient": f"linear-gradient(to right, {', '.join(f'#{stop}' for stop in stops)})",
        # Abundances that sum to one may exceed 1 by rounding.
        "over": bool(layers[:, known].max() > top * (1 + 1e-6)),
        "pngs": [_map_png(layer, shown, top, stops) for layer in maps.image(layers)],
    }


def _map_png(values: Array, known: Array, top: float, stops: list[str]) -> str:
    """Return the map (y, x) as a PNG ``data:`` address, grey where nothing is known.

    The colours cover 0…``top``. The PNG has one byte per pixel (255 colours and the grey), a third
    of the size of full colour.
    """
    level = np.clip(np.nan_to_num(values) / top, 0, 1)
    # Entry 255 of the palette is the grey.
    indices = np.where(known, 254 * level + 0.5, 255).astype(np.uint8)
    places = np.linspace(0, len(stops) - 1, 255)
    channels = np.array([rgb_of(stop) for stop in stops]).T
    ramp = [np.interp(places, np.arange(len(stops)), channel) for channel in channels]
    return _indexed_png(indices, np.vstack([np.stack(ramp, axis=1), NO_DATA_RGB]))


def _rgb_png(image: Array, valid: Array) -> str:
    """Return the image (3, y, x) in 0…1 as a PNG ``data:`` address, grey where nothing is valid."""
    # The conversion to integers cuts the fraction off.
    pixels = np.moveaxis((255 * image + 0.5).astype(np.uint8), 0, -1)
    pixels[~valid] = NO_DATA_RGB
    return _data_address(optional("PIL.Image").fromarray(pixels))


def _indexed_png(indices: Array, palette: Array) -> str:
    picture = optional("PIL.Image").fromarray(indices)
    picture.putpalette(palette.astype(np.uint8).tobytes())
    return _data_address(picture)


def _data_address(picture: Any) -> str:
    stream = io.BytesIO()
    picture.save(stream, format="PNG")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
