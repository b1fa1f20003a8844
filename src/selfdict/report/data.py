"""The contents of the report as plain arrays, independent of scenes, solvers and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._validation import Array
from selfdict.readout.guarantee import Guarantee
from selfdict.report.images import false_colour_bands, stretch
from selfdict.report.words import Certificate

# For annotations only: a report of plain arrays needs neither xarray nor the scene package.
if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Match, UnmixResult

# Of a scene with more pixels the report reads evenly spaced rows and columns only, so that it needs
# little memory however large the scene is.
_MAX_PIXELS = 4_000_000


@dataclass(frozen=True)
class MethodResult:
    """One row of the comparison: relative error, seconds and pure pixels of a method."""

    method: str
    error: float
    seconds: float
    pixels: Array


@dataclass(frozen=True)
class ReportData:
    """The contents of a report.

    Attributes
    ----------
    title : str
        The name of the scene; any text.
    method : str
        The method that chose the pure pixels.
    false_colour : (3, y, x) ndarray
        Red, green and blue in 0…1.
    false_colour_labels : sequence of str
        The bands shown as red, green and blue.
    mask : (y, x) ndarray of bool
        True where the scene has data.
    band_positions : (m,) ndarray
        Positions of the bands on the axis of the spectra: wavelengths, or band numbers.
    band_labels : sequence of str
        The name of each band.
    axis_label : str
        The label of that axis.
    endmembers : (m, r) ndarray
        The spectra of the pure pixels.
    abundances : (r, y, x) ndarray
        The share of each endmember in each pixel.
    residual : (y, x) ndarray
        The relative residual of each pixel.
    pixels : (r, 2) ndarray of int
        Row and column of the pure pixels, counted from 0.
    coordinates : (r, 2) ndarray or None
        Their map coordinates (x, y) in ``crs``.
    crs : str
        The name of the coordinate reference system; empty if there is none.
    weights : (r,) ndarray
        The diagonal of X at the pure pixels.
    other_weights : (k,) ndarray
        The other positive entries of the diagonal of X, in descending order.
    error : float
        Relative error of the whole scene.
    seconds : float
        Seconds that the unmixing took.
    certificate : Certificate or None
        The solver's proof; None for methods without one.
    guarantee : Guarantee or None
        What the theorems of the paper guarantee; None for methods that they do not cover.
    comparison : sequence of MethodResult
        The same scene unmixed by other methods.
    parameters : mapping
        Names and values shown in the last table.
    command : str
        The command that repeats the run; empty if there is none.
    names : sequence of str
        The names of the endmembers if they come from a library; empty for pure pixels.
    matches : sequence of Match
        What the endmembers are, if they were looked up in a library; else empty.
    every : int
        The image, the mask and the maps contain every n-th row and column of the scene; this is n.
    n_pixels, n_valid : int
        Number of pixels of the whole scene, and of those with data; 0: as many as the mask has.
    select_seconds : float or None
        Seconds of the selection alone, as in the comparison; None: ``seconds``.
    """

    title: str
    method: str
    false_colour: Array
    false_colour_labels: Sequence[str]
    mask: Array
    band_positions: Array
    band_labels: Sequence[str]
    axis_label: str
    endmembers: Array
    abundances: Array
    residual: Array
    pixels: Array
    error: float
    seconds: float
    weights: Array
    other_weights: Array
    coordinates: Array | None = None
    crs: str = ""
    certificate: Certificate | None = None
    guarantee: Guarantee | None = None
    comparison: Sequence[MethodResult] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    names: Sequence[str] = ()
    matches: "Sequence[Match]" = ()
    every: int = 1
    n_pixels: int = 0
    n_valid: int = 0
    select_seconds: float | None = None

    def material(self, k: int) -> str:
        """Return the name of endmember k, counted from 0."""
        if self.names:
            return f"{k + 1}. {self.names[k]}"
        if self.matches and self.matches[k].material is not None:
            return f"Material {k + 1} ({self.matches[k].material})"
        return f"Material {k + 1}"


def report_data(
    scene: "xr.DataArray",
    result: "UnmixResult",
    *,
    title: str = "Scene",
    comparison: Sequence[MethodResult] = (),
    parameters: Mapping[str, Any] | None = None,
    command: str = "",
) -> ReportData:
    """Collect what the report and the plots show of an unmixed scene.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        The scene that was unmixed; three of its bands are read for the image.
    result : UnmixResult
        The result of :func:`selfdict.scene.unmix`.
    title : str
        The name of the scene.
    comparison : sequence of MethodResult
        The same scene unmixed by other methods, see :func:`method_result`.
    parameters : mapping, optional
        Contents of the table of parameters; default: the parameters of the result.
    command : str
        The command that repeats the run.

    Returns
    -------
    ReportData

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.report import render_report, report_data
    >>> from selfdict.scene import unmix
    >>> scene = make_scene(shape=(20, 20), n_endmembers=3, random_state=0).scene
    >>> data = report_data(scene, unmix(scene, 3, method="spa"), title="A test")
    >>> "<h1>A test</h1>" in render_report(data)
    True
    """
    n_pixels = scene.sizes["y"] * scene.sizes["x"]
    every = math.ceil(math.sqrt(max(1.0, n_pixels / _MAX_PIXELS)))
    thin = {"y": slice(None, None, every), "x": slice(None, None, every)}
    mask = result.valid.isel(thin).values
    endmembers = result.endmembers
    positions, axis_label = _band_axis(endmembers)
    weights, other_weights = _weights(result)
    # Bands of the scene: those of the endmembers are without the bands that were dropped.
    image_bands = list(false_colour_bands(_wavelengths(scene), scene.sizes["band"]))
    # Three bands and the thinned rows and columns are all that is read of the scene.
    image = scene.isel({"band": image_bands, **thin}).values.astype(np.float32)
    scene_labels = _band_labels(scene)
    if parameters is None:
        parameters = result.parameters
    names: list[str] = []
    if "name" in endmembers.coords:
        names = [str(name) for name in endmembers["name"].values]
    matches: Sequence[Match] = ()
    if result.identification is not None:
        matches = result.identification.matches
    return ReportData(
        title=title,
        method=_method_name(result),
        false_colour=stretch(image, mask),
        false_colour_labels=[scene_labels[k] for k in image_bands],
        mask=mask,
        band_positions=positions,
        band_labels=_band_labels(endmembers),
        axis_label=axis_label,
        endmembers=endmembers.transpose("band", "endmember").values,
        abundances=result.abundances.isel(thin).values,
        residual=result.residual.isel(thin).values,
        pixels=result.pixels,
        error=result.relative_error,
        seconds=result.seconds["total"],
        weights=weights,
        other_weights=other_weights,
        coordinates=result.coordinates,
        crs=result.crs or "",
        certificate=_certificate(result),
        guarantee=result.guarantee,
        comparison=comparison,
        parameters=parameters,
        command=command,
        names=names,
        matches=matches,
        every=every,
        n_pixels=n_pixels,
        n_valid=int(result.parameters["n_valid"]),
        select_seconds=result.seconds["select"],
    )


def method_result(result: "UnmixResult") -> MethodResult:
    """Return what the comparison shows of a result, without its maps.

    The seconds are those of the selection: the abundances are computed alike for all methods.
    """
    return MethodResult(
        _method_name(result), result.relative_error, result.seconds["select"], result.pixels
    )


def _method_name(result: "UnmixResult") -> str:
    """Return a name like the paper's: FGNSR-500 selected from 500 candidates.

    The number counts the candidates there were. A scene with few different pixels has fewer than
    were asked for.
    """
    name = str(result.parameters["method"]).upper()
    if result.solution is None or result.parameters.get("candidates") is None:
        return name
    return f"{name}-{len(result.solution.diagonal)}"


def _certificate(result: "UnmixResult") -> Certificate | None:
    solution = result.solution
    if solution is None:
        return None
    return Certificate(
        objective=float(solution.objective),
        dual_bound=float(solution.dual_bound),
        gap=float(solution.gap),
        mu=float(solution.mu),
        status=str(solution.status),
        n_candidates=len(solution.diagonal),
        n_support=len(solution.support),
    )


def _wavelengths(data: "xr.DataArray") -> Array | None:
    if "wavelength" not in data.coords:
        return None
    wavelengths: Array = data["wavelength"].values
    return wavelengths


def _band_axis(endmembers: "xr.DataArray") -> tuple[Array, str]:
    """Return the positions of the bands on the axis of the spectra, and the label of that axis."""
    wavelengths = _wavelengths(endmembers)
    # A band without a wavelength would have no position on an axis of wavelengths.
    if wavelengths is None or not np.isfinite(wavelengths).all():
        return np.arange(1.0, endmembers.sizes["band"] + 1), "Band"
    return wavelengths, "Wavelength (nm)"


def _band_labels(data: "xr.DataArray") -> list[str]:
    """Return a label for each band: its name or number, and its wavelength if known."""
    labels = [f"Band {k + 1}" for k in range(data.sizes["band"])]
    if "band_name" in data.coords:
        for k, value in enumerate(data["band_name"].values):
            # Files may name some bands only.
            labels[k] = str(value) or labels[k]
    wavelengths = _wavelengths(data)
    if wavelengths is None:
        return labels
    for k, nanometres in enumerate(wavelengths):
        if np.isfinite(nanometres):
            labels[k] += f" · {nanometres:.5g} nm"
    return labels


def _weights(result: "UnmixResult") -> tuple[Array, Array]:
    """Return the weights of the endmembers, and the other positive weights in descending order.

    The weights are the diagonal of X; with a library, the gates of its spectra.
    """
    solution = result.solution
    if solution is None:
        return np.zeros(len(result.pixels)), np.zeros(0)
    # Positions of the endmembers in the diagonal. A pixel that the exchange found outside the
    # candidates has none.
    chosen: list[int | None]
    if result.solution_pixels is not None:
        candidates = {tuple(pixel): k for k, pixel in enumerate(result.solution_pixels.tolist())}
        chosen = [candidates.get(tuple(pixel)) for pixel in result.pixels.tolist()]
    elif result.atoms is not None:
        chosen = result.atoms.tolist()
    else:
        return np.zeros(len(result.pixels)), np.zeros(0)
    weights = np.zeros(len(chosen))
    for k, position in enumerate(chosen):
        if position is not None:
            weights[k] = float(solution.diagonal[position])
    others = np.delete(solution.diagonal, [k for k in chosen if k is not None])
    return weights, np.sort(others[others > 0])[::-1]
