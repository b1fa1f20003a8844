"""Maps as small PNG images that can be put into a page as ``data:`` addresses."""

import base64
import io
from typing import Any

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.report.palette import NO_DATA


def false_colour_bands(wavelengths: Array | None, n_bands: int) -> tuple[int, int, int]:
    """Return the bands shown as red, green and blue: near infrared, red and green where the scene has them.

    Parameters
    ----------
    wavelengths : (m,) ndarray or None
        Centres of the bands in nanometres.
    n_bands : int
        m, used alone when there are no wavelengths: then three bands spread over the range.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.report.images import false_colour_bands
    >>> false_colour_bands(np.linspace(400.0, 2500.0, 211), 211)
    (46, 25, 15)
    """
    if wavelengths is not None and np.nanmin(wavelengths) <= 560 and np.nanmax(wavelengths) >= 850:
        red, green, blue = (
            int(np.nanargmin(np.abs(wavelengths - nm))) for nm in (860.0, 650.0, 550.0)
        )
    else:
        red, green, blue = (int(share * (n_bands - 1)) for share in (0.8, 0.5, 0.2))
    return red, green, blue


def stretch(bands: Array, mask: Array) -> Array:
    """Stretch each band of (3, y, x) from its 2nd to its 98th percentile over ``mask`` to 0…1."""
    out = np.zeros(bands.shape, dtype=np.float32)
    for k, band in enumerate(bands):
        if mask.any():
            low, high = np.percentile(band[mask], (2, 98))
            out[k] = np.clip(
                (np.nan_to_num(band) - low) / max(high - low, np.finfo(np.float32).tiny), 0, 1
            )
    return out


def colour_limit(maps: Array, mask: Array, at_least: float = 0.0) -> float:
    """Return the top of one colour scale for maps (k, y, x): 99.5 % of the values lie below it."""
    return max(at_least, float(np.percentile(maps[:, mask], 99.5))) or 1.0


def thin_out(image: Array, longest: int) -> Array:
    """Keep every k-th row and column of (…, y, x), so that no side exceeds ``longest`` pixels."""
    step = -(-max(image.shape[-2:]) // longest)
    return image[..., ::step, ::step]


def rgb_png(image: Array, mask: Array) -> str:
    """Return the image (3, y, x) with values in 0…1 as a PNG ``data:`` address, grey outside ``mask``."""
    pixels = np.moveaxis((255 * image + 0.5).astype(np.uint8), 0, -1)
    pixels[~mask] = NO_DATA
    return _data_address(optional("PIL.Image").fromarray(pixels))


def map_png(values: Array, mask: Array, top: float, colours: str) -> str:
    """Return the map (y, x) as a PNG ``data:`` address: 0…``top`` on a colour map, grey outside ``mask``.

    The PNG has one byte a pixel (254 colours and the grey), a quarter of the size of full colour.
    """
    shades = np.linspace(0, 1, 255)
    table = np.vstack([255 * optional("matplotlib").colormaps[colours](shades)[:, :3], NO_DATA])
    level = np.clip(np.nan_to_num(values) / top, 0, 1)
    picture = optional("PIL.Image").fromarray(
        np.where(mask, (254 * level + 0.5), 255).astype(np.uint8)
    )
    picture.putpalette(table.astype(np.uint8).tobytes())
    return _data_address(picture)


def css_gradient(colours: str, stops: int = 12) -> str:
    """Return a colour map as a CSS gradient from left to right."""
    rgb = (255 * optional("matplotlib").colormaps[colours](np.linspace(0, 1, stops))[:, :3]).astype(
        int
    )
    return "linear-gradient(to right, " + ", ".join(f"rgb({r} {g} {b})" for r, g, b in rgb) + ")"


def _data_address(picture: Any) -> str:
    stream = io.BytesIO()
    picture.save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
