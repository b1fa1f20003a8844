"""What the report shows, as plain arrays: the page needs no scene, no solver and no file."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._validation import Array
from selfdict.readout.guarantee import Guarantee
from selfdict.report.images import false_colour_bands, stretch
from selfdict.report.words import Certificate

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import UnmixResult

_MAX_PIXELS = (
    4_000_000  # of a larger scene the report shows, and summarises, evenly spaced rows and columns
)


@dataclass(frozen=True)
class MethodResult:
    """One line of the comparison: the relative error and the seconds of a method, and its pure pixels."""

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
        The name of the scene, as a person would write it; any text.
    method : str
        The method that chose the pure pixels.
    false_colour : (3, y, x) ndarray
        Red, green and blue in 0…1.
    false_colour_labels : sequence of str
        The bands shown as red, green and blue.
    mask : (y, x) ndarray of bool
        True where the scene has data.
    band_positions : (m,) ndarray
        Where the bands lie on the axis of the spectra: wavelengths, or band numbers.
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
        The name of the coordinate reference system; empty when there is none.
    weights : (r,) ndarray
        The diagonal of X at the pure pixels.
    other_weights : (k,) ndarray
        The other positive entries of the diagonal of X, the largest first.
    error : float
        Relative error of the whole scene.
    seconds : float
        How long the unmixing took.
    certificate : Certificate or None
        The solver's proof; None for methods without one.
    guarantee : Guarantee or None
        What the theorems of the paper promise; None for methods they are not about.
    comparison : sequence of MethodResult
        The same scene unmixed by other methods.
    parameters : mapping
        Names and values shown in the last table.
    command : str
        The command that repeats the run; empty when there is none.
    names : sequence of str
        The names of the endmembers, where they come from a library; empty for pure pixels.
    every : int
        The image, the mask and the maps hold one row and one column in so many of the scene.
    n_pixels, n_valid : int
        Pixels of the whole scene, and those of them with data; 0 for as many as the mask has.
    select_seconds : float or None
        How much of ``seconds`` the choice took, as the comparison has it; None: all of it.
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
    every: int = 1
    n_pixels: int = 0
    n_valid: int = 0
    select_seconds: float | None = None

    def material(self, k: int) -> str:
        """Return what endmember k, counted from 0, is called."""
        return f"{k + 1}. {self.names[k]}" if self.names else f"Material {k + 1}"


def report_data(
    scene: "xr.DataArray",
    result: "UnmixResult",
    *,
    title: str = "Scene",
    comparison: Sequence[MethodResult] = (),
    parameters: Mapping[str, Any] | None = None,
    command: str = "",
) -> ReportData:
    """Gather what the report and the plots show of an unmixed scene.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        The scene that was unmixed; three of its bands are read for the picture.
    result : UnmixResult
        What :func:`selfdict.scene.unmix` found in it.
    title : str
        The name of the scene.
    comparison : sequence of MethodResult
        The same scene unmixed by other methods, see :func:`method_result`.
    parameters : mapping, optional
        What the table of parameters shows; default: those of the result.
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
    every = math.ceil(math.sqrt(n_pixels / _MAX_PIXELS)) if n_pixels > _MAX_PIXELS else 1
    thin = {"y": slice(None, None, every), "x": slice(None, None, every)}
    endmembers, mask = result.endmembers, result.valid.isel(thin).values
    wavelengths = scene["wavelength"].values if "wavelength" in scene.coords else None
    picture = list(false_colour_bands(wavelengths, scene.sizes["band"]))
    labels = _band_labels(scene)
    used = "wavelength" in endmembers.coords
    n_bands = endmembers.sizes["band"]
    weights, others = _weights(result)
    solution = result.solution
    return ReportData(
        title=title,
        method=_method_name(result),
        false_colour=stretch(scene.isel({"band": picture, **thin}).values.astype(np.float32), mask),
        false_colour_labels=[labels[k] for k in picture],
        mask=mask,
        band_positions=endmembers["wavelength"].values if used else np.arange(1.0, n_bands + 1),
        band_labels=_band_labels(endmembers),
        axis_label="Wavelength (nm)" if used else "Band",
        endmembers=endmembers.transpose("band", "endmember").values,
        abundances=result.abundances.isel(thin).values,
        residual=result.residual.isel(thin).values,
        pixels=result.pixels,
        error=result.relative_error,
        seconds=result.seconds["total"],
        weights=weights,
        other_weights=others,
        coordinates=result.coordinates,
        crs=result.crs or "",
        certificate=None
        if solution is None
        else Certificate(
            objective=float(solution.objective),
            dual_bound=float(solution.dual_bound),
            gap=float(solution.gap),
            mu=float(solution.mu),
            status=str(solution.status),
            n_candidates=len(solution.diagonal),
            n_support=len(solution.support),
        ),
        guarantee=result.guarantee,
        comparison=comparison,
        parameters=result.parameters if parameters is None else parameters,
        command=command,
        names=[str(name) for name in endmembers["name"].values]
        if "name" in endmembers.coords
        else (),
        every=every,
        n_pixels=n_pixels,
        n_valid=int(result.parameters["n_valid"]),
        select_seconds=result.seconds["select"],
    )


def method_result(result: "UnmixResult") -> MethodResult:
    """Return what the comparison shows of a result, without its maps; the seconds are those of the choice."""
    return MethodResult(
        _method_name(result), result.relative_error, result.seconds["select"], result.pixels
    )


def _method_name(result: "UnmixResult") -> str:
    """Return a name like the paper's: FGNSR-500 chose from 500 candidates.

    The number is how many there were, not how many were asked for: a scene of few different pixels
    has fewer.
    """
    name = str(result.parameters["method"]).upper()
    if result.solution is None or result.parameters.get("candidates") is None:
        return name
    return f"{name}-{len(result.solution.diagonal)}"


def _band_labels(data: "xr.DataArray") -> list[str]:
    """Return a name for each band: the one it has, or its number, with its wavelength where known."""
    n_bands = data.sizes["band"]
    names = (
        [str(v) for v in data["band_name"].values] if "band_name" in data.coords else [""] * n_bands
    )
    labels = [name or f"Band {k + 1}" for k, name in enumerate(names)]
    if "wavelength" in data.coords:
        labels = [f"{label} · {nm:.5g} nm" for label, nm in zip(labels, data["wavelength"].values)]
    return labels


def _weights(result: "UnmixResult") -> tuple[Array, Array]:
    """Return the diagonal of X at the pure pixels, or the gates of the spectra, and its other positive entries."""
    if result.solution is None or (result.solution_pixels is None and result.atoms is None):
        return np.zeros(len(result.pixels)), np.zeros(0)
    diagonal = result.solution.diagonal
    chosen: list[int | None] = [] if result.atoms is None else result.atoms.tolist()
    if result.solution_pixels is not None:
        place = {tuple(pixel): k for k, pixel in enumerate(result.solution_pixels.tolist())}
        chosen = [place.get(tuple(pixel)) for pixel in result.pixels.tolist()]
    weights = np.array([0.0 if k is None else float(diagonal[k]) for k in chosen])
    rest = np.delete(diagonal, [k for k in chosen if k is not None])
    return weights, np.sort(rest[rest > 0])[::-1]
