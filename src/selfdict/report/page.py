"""The report as one HTML file that works offline, on a phone, on paper and by keyboard."""

import base64
import hashlib
import html
import os
import re
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from selfdict import __version__
from selfdict._display import at_least, line_styles, percent, plain
from selfdict._imports import optional
from selfdict._validation import Array
from selfdict.report import words
from selfdict.report.charts import Chart, band_axis, band_labels, label_positions
from selfdict.report.pictures import Maps, map_pictures, packed_pixels, rounded
from selfdict.scene import facts
from selfdict.scene.result import Comparison, UnmixResult
from selfdict.scene.write import staged


def write_report(
    result: UnmixResult,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> Path:
    """Write the report to ``path``, and return the path.

    Parameters
    ----------
    result : UnmixResult
        The result of :func:`selfdict.scene.unmix`.
    path : str or path-like
        The file.
    overwrite : bool
        Replace an existing file.
    **options
        As in :func:`render_report`.

    Returns
    -------
    pathlib.Path
    """
    path = Path(path)
    page = render_report(result, **options)
    with staged(path, overwrite=overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def render_report(
    result: UnmixResult,
    *,
    title: str = "Scene",
    parameters: Mapping[str, Any] | None = None,
    command: str = "",
    translate: Callable[[str], str] = str,
) -> str:
    """Return the report as the text of one self-contained HTML page.

    Parameters
    ----------
    result : UnmixResult
        The result of :func:`selfdict.scene.unmix`. Three bands of its scene are read for the image.
    title : str
        The name of the scene.
    parameters : mapping, optional
        The table of parameters; by default ``result.parameters``.
    command : str
        The command that repeats the run.
    translate : callable
        Applied to sentences that may name arguments of Python: the command names its options.

    Returns
    -------
    str

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.report import render_report
    >>> from selfdict.scene import unmix
    >>> scene = make_scene(shape=(20, 20), n_endmembers=3, random_state=0).scene
    >>> page = render_report(unmix(scene, 3, method="spa"), title="A test")
    >>> "<h1>A test</h1>" in page
    True
    """
    jinja2 = optional("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_package_text),
        autoescape=True,
        # A misspelt variable is an error instead of an empty text.
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"percent": percent, "at_least": at_least, "translate": translate}
    script = _package_text("report.js") + _package_text("explore.js")
    # The page's security policy allows the script with this hash only: text of a scene that got
    # past the escaping would still not run.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    if parameters is None:
        parameters = result.parameters
    # Only files of this package are marked as safe; the template escapes every other value.
    page: str = environment.get_template("report.html.j2").render(
        _variables(result),
        title=title,
        parameters=parameters,
        command=command,
        css=jinja2.utils.markupsafe.Markup(_package_text("report.css")),
        script=jinja2.utils.markupsafe.Markup(script),
        script_hash=f"sha256-{digest}",
        version=__version__,
    )
    return page


def _package_text(name: str) -> str:
    return resources.files("selfdict.report").joinpath(name).read_text(encoding="utf-8")


def _printable(value: Any) -> Any:
    """Return text as :func:`selfdict._display.plain`, anything else as it is."""
    # What has __html__ is the style sheet or the script of this package.
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    # A number stays on one line with its sign and its unit.
    return re.sub(
        r"(?<=\d) (?=(%|points\b|s\b|min\b))|(?<=±) |(?<=min) (?=\d)", "\u00a0", plain(value)
    )


class Page:
    """The report of a result, which a notebook shows in a frame; ``str()`` is its HTML."""

    def __init__(self, result: UnmixResult) -> None:
        self._html = render_report(result, title="Unmixing")

    def __str__(self) -> str:
        return self._html

    def _repr_html_(self) -> str:
        # In a frame of its own, without access to the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self._html)}" sandbox="allow-scripts" '
            'style="width:100%;height:50em;border:1px solid #ccc"></iframe>'
        )


def _variables(result: UnmixResult) -> dict[str, Any]:
    """Return the variables of the template that follow from the result and its scene."""
    maps = Maps(result)
    # All images take at most 2.6 MB of the page, and these with what is known of single pixels at
    # most 3.7 MB.
    pictures, n_bytes = map_pictures(result, maps, 2_600_000)
    chart = _spectrum_chart(result)
    data = _script_data(result, chart)
    data["pixels"] = packed_pixels(result, maps, 3_700_000 - n_bytes)
    data["pixels"]["inPercent"] = words.are_shares(result)
    height, width = maps.image(maps.valid).shape
    # The radius of a mark in pixels of the image, which the page scales to its width.
    radius = max(width, height) / 75
    shown_patches = result.unexplained[:8]
    places = np.array([patch.pixels[0] for patch in shown_patches]).reshape(-1, 2)
    brightness_range = None
    if result.brightness is not None:
        brightness_range = np.percentile(maps.of("brightness")[maps.valid], [5, 95])
    return {
        "result": result,
        "words": words,
        "facts": facts,
        "figures": _figures(result, maps),
        "width": width,
        "height": height,
        "thinned": maps.image_scale,
        "mark": radius,
        "materials": _materials(result, maps, chart, radius),
        "chart": chart,
        "axis_label": band_axis(result.endmembers)[1],
        "matches": _matches(result),
        "patches": list(zip(shown_patches, _marks(places, maps, radius))),
        "brightness_range": brightness_range,
        "residuals": np.percentile(maps.of("residual")[maps.valid], [50, 95, 100]).tolist(),
        "comparison": _compared(result),
        "data": data,
        **pictures,
    }


def _figures(result: UnmixResult, maps: Maps) -> list[facts.Fact]:
    """Return the figures at the top of the page."""
    shown = facts.figures(result)
    if maps.of("uncertainty") is None:
        return shown
    typical = words.typical_error(result, maps.of("uncertainty")[:, maps.valid])
    if not typical:
        return shown
    note = f"standard error of a {words.abundance_word(result)}"
    if result.groups is None:
        note += ", from noise alone"
    # In the small print: the box is narrow.
    if typical.endswith(" points"):
        typical = typical.removesuffix(" points")
        note = f"percentage points, {note}"
    # Beside the error: the numbers by which a result is judged.
    shown.insert(2, facts.Fact("typical uncertainty", typical, note))
    return shown


def _spectrum_chart(result: UnmixResult) -> Chart:
    """Return the chart of the spectra, with room for their spread."""
    low = result.endmembers.values
    high = low
    if result.spread is not None:
        low = low - result.spread.values
        high = high + result.spread.values
    lowest = float(low[np.isfinite(low)].min())
    highest = float(high[np.isfinite(high)].max())
    # Reflectances are read relative to zero. A little noise below it needs no room of its own.
    if lowest > -0.02 * highest:
        lowest = 0.0
    return Chart.of(result.endmembers, lowest, highest, 5)


def _script_data(result: UnmixResult, chart: Chart) -> dict[str, Any]:
    """Return what the script needs to show values under the mouse."""
    spread = None
    if result.spread is not None:
        spread = rounded(result.spread.values, 6)
    return {
        "x": np.round(chart.bands, 3).tolist(),
        "low": chart.y.low,
        "high": chart.y.high,
        # JSON is written whole by a filter, so that ``finalize`` does not see the single labels.
        "bands": [_printable(label) for label in band_labels(result.endmembers)],
        "names": [_printable(name) for name in words.material_names(result)],
        "colours": [style.colour for style in line_styles(len(result.pixels))],
        "spectra": rounded(result.endmembers.values, 6),
        "spread": spread,
    }


def _materials(
    result: UnmixResult, maps: Maps, chart: Chart, radius: float
) -> list[dict[str, Any]]:
    """Return name, colour, mark and lines of each material; ``radius`` is that of the marks."""
    names = words.material_names(result)
    marks = _marks(result.pixels, maps, radius)
    uncertainty = maps.of("uncertainty")
    rows = []
    for k, style in enumerate(line_styles(len(names))):
        spectrum = result.endmembers.values[k]
        row = marks[k] | {
            "k": k,
            "name": names[k],
            "colour": style.colour,
            # In line widths, and lines on the page are two pixels wide.
            "dash": " ".join(f"{2 * length:g}" for length in style.dash),
            "mean": words.amount(result, float(maps.abundances[k][maps.valid].mean())),
            "error": "",
            "reason": words.spectrum_reason(result, k),
            "path": chart.line(spectrum),
            "area": "",
        }
        if result.spread is not None:
            spread = result.spread.values[k]
            row["area"] = chart.area(spectrum - spread, spectrum + spread)
        if uncertainty is not None:
            row["error"] = words.typical_error(result, uncertainty[k][maps.valid])
        rows.append(row)
    return rows


def _marks(pixels: Array, maps: Maps, radius: float) -> list[dict[str, Any]]:
    """Return where the page marks pixels: the centres in the thinned image, and their labels."""
    height, width = maps.image(maps.valid).shape
    # x comes first in an image.
    points = (pixels[:, ::-1] + 0.5) / maps.image_scale
    # 2.4 radii from the centre, so that a number does not touch the circle of its mark.
    labels = label_positions(points, width, height, 2.4 * radius)
    marks = []
    # Digits beyond these cannot be seen and would only enlarge the page.
    for (row, column), point, label in zip(pixels.tolist(), points.round(2), labels.round(2)):
        mark = {"row": row, "column": column, "x": point[0], "y": point[1]}
        marks.append(mark | {"label_x": label[0], "label_y": label[1]})
    return marks


def _matches(result: UnmixResult) -> list[tuple[Any, Chart]]:
    """Return what each endmember may be, and a chart of its spectrum and the nearest one."""
    if result.identification is None:
        return []
    rows = []
    for spectrum, match in zip(result.endmembers.values, result.identification.matches):
        both = np.concatenate([spectrum, match.curve])
        known = both[np.isfinite(both)]
        # Each chart has an axis of its own: a dark spectrum would be a flat line on a common one.
        low = min(0.0, float(known.min()))
        rows.append((match, Chart.of(result.endmembers, low, float(known.max()), 3)))
    return rows


def _compared(result: UnmixResult) -> list[tuple[Comparison, int]]:
    """Return the methods that are compared, this run first, and how many pure pixels they share."""
    if not result.comparison:
        return []
    # As tuples, since pixels are compared as a pair of row and column.
    own = {tuple(pixel) for pixel in result.pixels.tolist()}
    rows = []
    for method in (own_row(result), *result.comparison):
        rows.append((method, sum(tuple(pixel) in own for pixel in method.pixels.tolist())))
    return rows


def own_row(result: UnmixResult) -> Comparison:
    """Return what a comparison shows of the result itself: the error of its pure pixels."""
    error = result.relative_error
    if result.pixel_error is not None:
        error = result.pixel_error
    return Comparison(facts.method_in_words(result), error, result.seconds["select"], result.pixels)
