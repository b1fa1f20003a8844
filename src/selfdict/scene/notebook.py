"""The result of unmixing in a notebook: spectra and small maps without any plotting library."""

import base64
import html
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from selfdict._colours import class_colours
from selfdict._display import table
from selfdict._validation import Array
from selfdict.scene.summary import facts

if TYPE_CHECKING:
    from selfdict.scene.result import UnmixResult

_MOST_MAPS = 12  # more would make a notebook heavy
_LONGEST_SIDE = 160  # pixels of a small map
_MOST_PIXELS = 4_000_000  # maps in files with more of them are not read for a picture
_PIXELS_WITHOUT_DATA = 255  # white; data is 0 to 254


def page(result: "UnmixResult") -> str:
    """Return a summary, the spectra and small maps as HTML without scripts."""
    parts = [table(f"UnmixResult: {len(result.pixels)} materials", facts(result))]
    parts.append(spectra_svg(result.endmembers, result.labels))
    parts.append(_maps(result))
    return f'<div style="max-width:900px">{"".join(parts)}</div>'


def _maps(result: "UnmixResult") -> str:
    maps = result.abundances
    n_pixels = maps.sizes["y"] * maps.sizes["x"]
    is_in_files = maps.chunks is not None
    if is_in_files and n_pixels > _MOST_PIXELS:
        return "<div>The maps are in files, too large to show here.</div>"
    step = -(-max(maps.shape[1:]) // _LONGEST_SIDE)
    figures = []
    for k, label in enumerate(result.labels[:_MOST_MAPS]):
        values = maps[k, ::step, ::step].values
        figures.append(
            '<figure style="display:inline-block;margin:4px 8px 4px 0">'
            f'<img alt="abundances" src="{png(values)}" '
            'style="image-rendering:pixelated;min-width:120px">'
            f"<figcaption>{html.escape(label)}</figcaption></figure>"
        )
    if len(result.labels) > _MOST_MAPS:
        figures.append(f"<div>and {len(result.labels) - _MOST_MAPS} more maps</div>")
    caption = "Abundances from black (0) to white (1 or the largest)."
    return f"<div>{''.join(figures)}<div><small>{caption}</small></div></div>"


def png(values: Array) -> str:
    """Return a map as the ``data:`` address of a grey PNG image.

    Parameters
    ----------
    values : (n_rows, n_columns) ndarray
        From 0, black, to 1 or the largest, white; NaN is transparent.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> png(np.zeros((2, 2)))[:22]
    'data:image/png;base64,'
    """
    known = np.isfinite(values)
    largest = max(1.0, float(values[known].max(initial=0.0)))
    levels: Array = np.full(values.shape, _PIXELS_WITHOUT_DATA, dtype=np.uint8)
    levels[known] = np.clip(254 * values[known] / largest, 0, 254).astype(np.uint8)
    n_rows, n_columns = values.shape
    # each line of a PNG starts with the number of its filter, 0 for none
    lines = np.concatenate([np.zeros((n_rows, 1), np.uint8), levels], axis=1)
    header = struct.pack(">IIBBBBB", n_columns, n_rows, 8, 0, 0, 0, 0)  # 8 bits, grey
    content = (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"tRNS", struct.pack(">H", _PIXELS_WITHOUT_DATA))
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def spectra_svg(endmembers: xr.DataArray, labels: list[str]) -> str:
    """Return spectra as an SVG with a legend.

    Parameters
    ----------
    endmembers : xarray.DataArray (endmember, band)
        With or without a coordinate ``wavelength``.
    labels : list of str
        One per endmember.

    Returns
    -------
    str
    """
    width = 640
    height = 220
    margin = 40
    values = endmembers.values.astype(np.float64)
    x, unit = band_positions(endmembers)
    low = float(np.nanmin(values, initial=0.0))
    high = float(np.nanmax(values, initial=low))
    left = margin + (width - 2 * margin) * _from_0_to_1(x, float(x.min()), float(x.max()))
    top = height - margin - (height - 2 * margin) * _from_0_to_1(values, low, high)
    colours = _colours(len(values))
    lines = []
    for k in range(len(values)):
        points = [f"{a:.1f},{b:.1f}" for a, b in zip(left, top[k], strict=True) if np.isfinite(b)]
        lines.append(
            f'<polyline fill="none" stroke="{colours[k]}" stroke-width="1.5" '
            f'points="{" ".join(points)}"><title>{html.escape(labels[k])}</title></polyline>'
        )
    axis = (
        f'<text x="{margin}" y="{height - 8}">{x.min():.4g}</text>'
        f'<text x="{width - margin}" y="{height - 8}" text-anchor="end">{x.max():.4g} {unit}</text>'
        f'<text x="4" y="{height - margin}">{low:.3g}</text>'
        f'<text x="4" y="{margin}">{high:.3g}</text>'
    )
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-size="11" fill="currentColor" role="img">{axis}{"".join(lines)}</svg>'
        f"<div>{_legend(labels)}</div>"
    )


def _legend(labels: list[str]) -> str:
    entries = []
    colours = _colours(len(labels))
    for k, label in enumerate(labels[:_MOST_MAPS]):
        entries.append(f'<span style="color:{colours[k]}">▬</span>&#160;{html.escape(label)}')
    if len(labels) > _MOST_MAPS:
        entries.append(f"and {len(labels) - _MOST_MAPS} more")
    return "&ensp;".join(entries)


def _colours(count: int) -> list[str]:
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in class_colours(count)]


def band_positions(endmembers: xr.DataArray) -> tuple[Array, str]:
    """Return where the bands are on an axis, and the unit: wavelengths, or numbers from 1."""
    n_bands = endmembers.sizes["band"]
    if "wavelength" in endmembers.coords:
        wavelengths = endmembers["wavelength"].values.astype(np.float64)
        if np.isfinite(wavelengths).all():
            return wavelengths, "nm"
    return np.arange(1.0, n_bands + 1), "band"


def _from_0_to_1(values: Array, low: float, high: float) -> Array:
    if not high > low:
        return np.full(values.shape, 0.5)
    return (values - low) / (high - low)
