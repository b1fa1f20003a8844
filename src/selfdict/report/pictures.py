"""What a page shows of the pixels: images of the scene and its maps, and numbers in a few bytes.

The spectrum m of a pixel is stored as its fit, s Σ a_k u_k, and the part of its residual that lies
in the eight leading directions of all residuals. Every number takes one byte.
"""

import base64
import io
import math
import zlib
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
from selfdict.scene.blocks import block_matrix
from selfdict.scene.exports import dominant_materials
from selfdict.scene.metadata import band_numbers
from selfdict.scene.result import UnmixResult

# Of a scene with more pixels only evenly spaced rows and columns are read, so that little memory is
# needed however large the scene is.
MOST_PIXELS = 4_000_000
# Residuals that the directions are found from, and pixels that are fitted at a time: the fits of
# all pixels are as large as the scene.
_N_PIXELS = 4000


class Maps:
    """The maps of a result as arrays: every n-th row and column, each map read on first use."""

    def __init__(self, result: UnmixResult, most_pixels: int = MOST_PIXELS) -> None:
        self._result = result
        self._read: dict[str, Array | None] = {}
        n_rows, n_columns = result.residual.shape
        self.every = math.ceil(math.sqrt(max(1.0, n_rows * n_columns / most_pixels)))
        longest = -(-max(n_rows, n_columns) // self.every)
        # An image shows every n-th row and column of the maps, at most 512 along a side.
        self.step = -(-longest // 512)

    @property
    def image_scale(self) -> int:
        """How many rows and columns of the scene one pixel of an image stands for."""
        return self.every * self.step

    def image(self, values: Array) -> Array:
        """Return what an image shows of maps (…, y, x)."""
        return values[..., :: self.step, :: self.step]

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
        return np.asarray(np.isfinite(self.of("residual")))

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

    def false_colour(self) -> tuple[Array, list[str]]:
        """Return three sound bands, all that is read, as (3, y, x) in 0…1, and their labels."""
        scene = self._result.scene
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
    """Return near infrared, red and green if the scene has them, else three bands far apart."""
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


def map_pictures(result: UnmixResult, maps: Maps, most_bytes: int) -> tuple[dict[str, Any], int]:
    """Return the images of the scene and of all maps, as large as fit, and their size in bytes."""
    image, image_labels = maps.false_colour()
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
        maps.step += 1


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
    """Return the images of a map, or of maps (k, y, x), and their scale, an axis in ``unit``."""
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
    """Return a map (y, x) as a PNG of 255 colours from 0 to ``top``, grey where it is not known."""
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


def packed_pixels(result: UnmixResult, maps: Maps, most_bytes: int) -> dict[str, Any]:
    """Return what the page says about a pixel, of as many pixels as fit into ``most_bytes``."""
    height, width = maps.image(maps.valid).shape
    # Shares, errors, eight directions and three more numbers, each a byte that takes about 0.9
    # characters when it is compressed.
    n_characters = 0.9 * (2 * len(result.pixels) + 11) * height * width
    every = max(1, round(math.sqrt(n_characters / most_bytes)))
    packed = _packed(result, maps, every)
    while len(packed["bytes"]) > most_bytes:
        every += 1
        packed = _packed(result, maps, every)
    return packed | {
        "scale": maps.image_scale,
        "height": height,
        "width": width,
        "pure": result.pixels.tolist(),
    }


def _packed(result: UnmixResult, maps: Maps, every: int) -> dict[str, Any]:
    """Return every n-th row and column of the images as JSON takes it."""
    kept = slice(None, None, every)
    names = {"shares": "abundances", "errors": "uncertainty"}
    names |= {"residual": "residual", "brightness": "brightness"}
    layers = {}
    for stored_as, name in names.items():
        if maps.of(name) is not None:
            picture = maps.image(maps.of(name))[..., kept, kept]
            # (k, y, x), also of a map with one layer
            layers[stored_as] = picture.reshape(-1, *picture.shape[-2:])
    abundances = layers["shares"]
    spectra = _reference_spectra(result)
    directions = np.zeros((0, spectra.shape[1]))
    # Spectra are stored of a scene in memory: another pass over a file would take too long.
    if result.scene.chunks is None:
        scale, residuals, directions = _spectra_of_pixels(
            result, abundances, spectra, maps.image_scale * every
        )
        layers |= {"scale": scale, "residuals": residuals}
    described = []
    stored = []
    for name, layer in layers.items():
        codes, tops = _as_bytes(layer)
        described.append((name, tops))
        stored.append(codes.tobytes())
    n_rows, n_columns = abundances.shape[1:]
    return {
        "every": every,
        "rows": n_rows,
        "columns": n_columns,
        "layers": described,
        "spectra": rounded(spectra, 5),
        "directions": rounded(directions, 5),
        "bytes": base64.b64encode(zlib.compress(b"".join(stored))).decode("ascii"),
    }


def _reference_spectra(result: UnmixResult) -> Array:
    """Return the spectra that the abundances refer to, (r, n_bands)."""
    # Spectra of a library may have bands without a value.
    spectra = np.nan_to_num(np.asarray(result.endmembers.values, dtype=np.float32))
    kind = result.parameters["abundances"]
    if kind == "shares" and result.illumination is not None:
        return np.asarray(result.illumination.spectra.T, dtype=np.float32)
    if kind == "unit":
        lengths = np.linalg.norm(spectra, axis=1, keepdims=True)
        return spectra / np.where(lengths > 0, lengths, 1.0)
    return spectra


def _spectra_of_pixels(
    result: UnmixResult, abundances: Array, spectra: Array, every: int
) -> tuple[Array, Array, Array]:
    """Return the scale of each fit, the residuals in their leading directions, and these."""
    bands = np.isin(band_numbers(result.scene), result.endmembers["band_number"].values)
    kept = slice(None, None, every)
    M, _ = block_matrix(result.scene.isel(y=kept, x=kept), bands)
    H = abundances.reshape(len(abundances), -1)
    known = np.flatnonzero(np.isfinite(H).all(axis=0))
    sample = known[:: max(1, known.size // _N_PIXELS)]
    _, residuals = _fit(M[:, sample], H[:, sample], spectra)
    _, vectors = np.linalg.eigh(residuals @ residuals.T)
    directions = vectors[:, ::-1][:, :8].T
    scale = np.full(H.shape[1], np.nan)
    in_directions = np.full((len(directions), H.shape[1]), np.nan)
    for first in range(0, known.size, _N_PIXELS):
        part = known[first : first + _N_PIXELS]
        scale[part], residuals = _fit(M[:, part], H[:, part], spectra)
        in_directions[:, part] = directions @ residuals
    shape = (-1, *abundances.shape[1:])
    return scale.reshape(shape), in_directions.reshape(shape), directions


def _fit(M: Array, H: Array, spectra: Array) -> tuple[Array, Array]:
    """Return the scales that fit mixtures to pixels (n_bands, n) best, and what they leave."""
    mixed = spectra.T @ H
    squares = np.einsum("ij,ij->j", mixed, mixed)
    scale = np.einsum("ij,ij->j", M, mixed) / np.where(squares > 0, squares, 1.0)
    return scale, M - scale * mixed


def _as_bytes(layer: Array) -> tuple[Array, list[float]]:
    """Return values (k, y, x) as bytes, 0 where they are not known, and the largest of each map."""
    # A byte is 128 + 127 √|v / top| with the sign of v, so that small values have small errors.
    codes = np.zeros(layer.shape, dtype=np.uint8)
    tops = []
    for k, values in enumerate(layer):
        known = np.isfinite(values)
        top = float(np.max(np.abs(values[known]), initial=0.0))
        tops.append(float(f"{top:.6g}"))
        level = np.nan_to_num(values) / (top or 1.0)
        signed = 128 + np.rint(127 * np.sign(level) * np.sqrt(np.abs(level)))
        codes[k] = np.where(known, signed, 0)
    return codes, tops


def rounded(rows: Array, digits: int) -> list[list[float | None]]:
    """Return numbers with some digits; None for NaN and infinity, which JSON does not have."""
    numbers: list[list[float | None]] = []
    for row in rows:
        numbers.append([float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in row])
    return numbers
