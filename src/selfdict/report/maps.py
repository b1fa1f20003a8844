"""The images of the scene and of all maps, their colour scales, and what is said beside them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._colours import ABUNDANCE_MAP, BRIGHTNESS_MAP, RESIDUAL_MAP, UNCERTAINTY_MAP
from selfdict._validation import Array
from selfdict.report import facts, words
from selfdict.report.charts import nice_axis
from selfdict.report.pictures import Maps, colour_limit, css_gradient, map_png, rgb_png
from selfdict.report.tables import dominant

# For annotations only.
if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import UnmixResult

_PICTURE_BYTES = 2_600_000  # most characters of the page in all images together


def map_pictures(result: "UnmixResult", scene: "xr.DataArray", maps: Maps) -> dict[str, Any]:
    """Return the images of the scene and of all maps, as large as fit into the page."""
    image, image_labels = maps.false_colour(scene)
    while True:
        pictures = {
            "scene_png": rgb_png(maps.image(image), maps.image(maps.valid)),
            "image_labels": image_labels,
            "dominant": dominant(result, maps),
            "abundances": _abundances(result, maps),
            "uncertainty": _uncertainty(result, maps),
            "brightness": _brightness(maps),
            "residual": _residual(result, maps),
        }
        if n_bytes_of(pictures) <= _PICTURE_BYTES:
            return pictures
        maps.coarser()


def n_bytes_of(pictures: dict[str, Any]) -> int:
    """Return how much of the page the images take."""
    n_bytes = len(pictures["scene_png"]) + len(pictures["dominant"]["png"])
    for name in ("abundances", "uncertainty", "brightness", "residual"):
        if pictures[name] is not None:
            n_bytes += sum(len(png) for png in pictures[name]["pngs"])
    return n_bytes


def _coloured(
    maps: Maps, values: Array, known: Array, colours: str, name: str, at_least: float = 0.0
) -> dict[str, Any]:
    """Return the images of values (k, y, x) on one colour scale, and that scale."""
    axis = nice_axis(0.0, colour_limit(values, known, at_least), 4)
    shown = maps.image(known)
    return {
        "name": name,
        "axis": axis,
        "gradient": css_gradient(colours),
        # Abundances that sum to one may exceed 1 by rounding.
        "over": bool(values[:, known].max() > axis.high * (1 + 1e-6)),
        "pngs": [map_png(layer, shown, axis.high, colours) for layer in maps.image(values)],
    }


def _abundances(result: "UnmixResult", maps: Maps) -> dict[str, Any]:
    """Return the abundance maps; their scale reaches a pure pixel, even if there is none."""
    if not facts.are_shares(result):
        name = "Coefficient; 1 is the spectrum itself"
        return _coloured(maps, maps.abundances, maps.valid, ABUNDANCE_MAP, name, at_least=1.0)
    name = "Share of the material, in %"
    if facts.abundance_kind(result) == "shares":
        name = "Fraction of the area, in %"
    return _coloured(maps, 100 * maps.abundances, maps.valid, ABUNDANCE_MAP, name, at_least=100.0)


def _uncertainty(result: "UnmixResult", maps: Maps) -> dict[str, Any] | None:
    """Return the map of the largest standard error of each pixel; None if none is known."""
    if maps.largest_error is None:
        return None
    known = maps.valid & np.isfinite(maps.largest_error)
    if not known.any():
        return None
    unit = 1.0
    name = "Largest standard error of a coefficient"
    if facts.are_shares(result):
        unit = 100.0
        name = "Largest standard error of a share, in percentage points"
    shown = _coloured(maps, unit * maps.largest_error[None], known, UNCERTAINTY_MAP, name)
    return shown | {"text": words.uncertainty_sentence(result)}


def _brightness(maps: Maps) -> dict[str, Any] | None:
    """Return the map of the brightness of each pixel; None if there is none."""
    if maps.brightness is None:
        return None
    name = "Brightness; 1 is typical"
    shown = _coloured(maps, maps.brightness[None], maps.valid, BRIGHTNESS_MAP, name, at_least=1.0)
    return shown | {"text": words.brightness_sentence(maps.brightness[maps.valid])}


def _residual(result: "UnmixResult", maps: Maps) -> dict[str, Any]:
    """Return the map of the residual."""
    name = "Residual, in % of the norm of the pixel"
    shown = _coloured(maps, 100 * maps.residual[None], maps.valid, RESIDUAL_MAP, name)
    return shown | {"text": words.residual_sentence(result)}


def residual_rows(maps: Maps) -> list[tuple[str, str]]:
    """Return the figures beside the map of the residual."""
    inside = maps.residual[maps.valid]
    return [
        ("Median pixel", words.percent(float(np.median(inside)))),
        ("95th percentile", words.percent(float(np.percentile(inside, 95)))),
        ("Worst pixel", words.percent(float(inside.max()))),
    ]
