"""Maps as small PNG images that a page can contain as ``data:`` addresses."""

import base64
import io
from typing import Any

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.report.palette import NO_DATA_RGB


def false_colour_bands(wavelengths: Array | None, n_bands: int) -> tuple[int, int, int]:
    """Return the bands to show as red, green and blue.

    They are near infrared, red and green if the scene has them, as in a colour-infrared photograph.
    Otherwise they are three bands spread over the range.

    Parameters
    ----------
    wavelengths : (m,) ndarray or None
        Centres of the bands in nanometres.
    n_bands : int
        Number of bands m, used alone if there are no wavelengths.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.report.images import false_colour_bands
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


def stretch(bands: Array, mask: Array) -> Array:
    """Stretch each band of (3, y, x) from its 2nd to its 98th percentile over ``mask`` to 0…1."""
    stretched = np.zeros(bands.shape, dtype=np.float32)
    # There are no percentiles of nothing.
    if not mask.any():
        return stretched
    for k, band in enumerate(bands):
        # Percentiles, since a few outliers would leave all other pixels nearly black.
        low, high = np.percentile(band[mask], (2, 98))
        # The smallest positive number avoids a division by zero in a constant band.
        width = max(high - low, np.finfo(np.float32).tiny)
        stretched[k] = np.clip((np.nan_to_num(band) - low) / width, 0, 1)
    return stretched


def colour_limit(maps: Array, mask: Array, at_least: float = 0.0) -> float:
    """Return the top of one colour scale for maps (k, y, x): 99.5 % of the values are below it."""
    limit = max(at_least, float(np.percentile(maps[:, mask], 99.5)))
    # Maps that are zero everywhere, such as an exact residual, still need a scale of some length.
    if limit == 0:
        return 1.0
    return limit


def thin_out(image: Array, longest: int) -> Array:
    """Return every k-th row and column of (…, y, x), with no side over ``longest`` pixels."""
    step = -(-max(image.shape[-2:]) // longest)
    return image[..., ::step, ::step]


def rgb_png(image: Array, mask: Array) -> str:
    """Return the image (3, y, x) in 0…1 as a PNG ``data:`` address, grey outside ``mask``."""
    # One half is added since the conversion to integers cuts the fraction off.
    pixels = np.moveaxis((255 * image + 0.5).astype(np.uint8), 0, -1)
    pixels[~mask] = NO_DATA_RGB
    return _data_address(optional("PIL.Image").fromarray(pixels))


def map_png(values: Array, mask: Array, top: float, colours: str) -> str:
    """Return the map (y, x) as a PNG ``data:`` address, grey outside ``mask``.

    The colour map covers 0…``top``. The PNG has one byte per pixel (255 colours and the grey), a
    third of the size of full colour.
    """
    shades = np.linspace(0, 1, 255)
    palette = np.vstack(
        [255 * optional("matplotlib").colormaps[colours](shades)[:, :3], NO_DATA_RGB]
    )
    level = np.clip(np.nan_to_num(values) / top, 0, 1)
    # Entry 255 of the palette is the grey.
    indices = np.where(mask, 254 * level + 0.5, 255).astype(np.uint8)
    picture = optional("PIL.Image").fromarray(indices)
    picture.putpalette(palette.astype(np.uint8).tobytes())
    return _data_address(picture)


def class_png(classes: Array, colours: list[tuple[int, int, int]]) -> str:
    """Return a map of classes (y, x) as a PNG ``data:`` address: 0 is grey, k is colour k − 1."""
    palette = np.array([NO_DATA_RGB, *colours], dtype=np.uint8)
    picture = optional("PIL.Image").fromarray(palette[classes])
    # Few colours: a palette makes the file small.
    return _data_address(picture.quantize(colors=min(256, len(palette))))


def pale(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return a colour mixed with white, for places that are only partly of that class."""
    red, green, blue = (round(0.45 * value + 0.55 * 255) for value in colour)
    return red, green, blue


def css_gradient(colours: str) -> str:
    """Return a colour map as a CSS gradient from left to right."""
    shades = optional("matplotlib").colormaps[colours](np.linspace(0, 1, 12))
    rgb = (255 * shades[:, :3]).astype(int)
    return "linear-gradient(to right, " + ", ".join(f"rgb({r} {g} {b})" for r, g, b in rgb) + ")"


def _data_address(picture: Any) -> str:
    stream = io.BytesIO()
    picture.save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
