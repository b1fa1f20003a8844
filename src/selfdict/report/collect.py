"""From an unmixed scene to the contents of the report."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._validation import Array
from selfdict.report.data import MethodResult, ReportData
from selfdict.report.evidence import GroupProof
from selfdict.report.images import false_colour_bands, stretch
from selfdict.report.words import Certificate, negative_sentence

# For annotations only: a report of plain arrays needs neither xarray nor the scene package.
if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Match, UnmixResult

# Of a scene with more pixels the report reads evenly spaced rows and columns only, so that it needs
# little memory however large the scene is.
_MAX_PIXELS = 4_000_000


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
    image_bands = _image_bands(scene, result)
    # Three bands and the thinned rows and columns are all that is read of the scene.
    # By slices, since dask reads whole chunks, with all their bands, for a list of bands.
    bands = [scene.isel({"band": slice(k, k + 1), **thin}).values for k in image_bands]
    image = np.concatenate(bands).astype(np.float32)
    scene_labels = _band_labels(scene)
    if parameters is None:
        parameters = result.parameters
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
        **_maps(result, thin),
        pixels=result.pixels,
        error=result.relative_error,
        seconds=result.seconds["total"],
        weights=weights,
        other_weights=other_weights,
        coordinates=result.coordinates,
        crs=result.crs or "",
        certificate=_certificate(result),
        check=result.check,
        candidates_reason=_candidates_reason(result),
        guarantee=result.guarantee,
        comparison=comparison,
        parameters=parameters,
        command=command,
        endmember_kind=_endmember_kind(result),
        abundance_kind=str(result.parameters["abundances"]),
        pixel_error=result.pixel_error,
        findings=_findings(result),
        **_groups(result),
        **_names(result),
        every=every,
        n_pixels=n_pixels,
        n_valid=int(result.parameters["n_valid"]),
        select_seconds=result.seconds["select"],
    )


def _endmember_kind(result: "UnmixResult") -> str:
    """Return what the spectra are: an average over one pixel, for lack of time, is that pixel."""
    if result.shows_single_pixels:
        return "pixels"
    return str(result.parameters["endmembers"])


def method_result(result: "UnmixResult") -> MethodResult:
    """Return what the comparison shows of a result, without its maps.

    The error is that of the pure pixels with nonnegative coefficients, whatever the endmembers and
    abundances are: other errors cannot be compared. The seconds are those of the selection: the
    abundances are computed alike for all methods.
    """
    error = result.relative_error
    if result.pixel_error is not None:
        error = result.pixel_error
    return MethodResult(_method_name(result), error, result.seconds["select"], result.pixels)


def _maps(result: "UnmixResult", thin: Mapping[str, slice]) -> dict[str, Any]:
    """Return the thinned maps."""
    uncertainty = None
    if result.uncertainty is not None:
        uncertainty = result.uncertainty.isel(thin).values
    brightness = None
    if result.brightness is not None:
        brightness = result.brightness.isel(thin).values
    return {
        "abundances": result.abundances.isel(thin).values,
        "brightness": brightness,
        "residual": result.residual.isel(thin).values,
        "uncertainty": uncertainty,
    }


def _names(result: "UnmixResult") -> dict[str, Any]:
    """Return what the materials are called: by a library they come from, or were looked up in."""
    names: list[str] = []
    if "name" in result.endmembers.coords:
        names = [str(name) for name in result.endmembers["name"].values]
    matches: Sequence[Match] = ()
    if result.identification is not None:
        matches = result.identification.matches
    return {"names": names, "matches": matches}


def _groups(result: "UnmixResult") -> dict[str, Any]:
    """Return what the report shows of the groups."""
    spread = None
    if result.spread is not None:
        spread = result.spread.transpose("band", "endmember").values
    sizes = None
    if result.groups is not None:
        sizes = np.array([len(group) for group in result.groups])
    proof = None
    if result.proof is not None:
        proof = GroupProof.of(result.proof)
    return {
        "spread": spread,
        "counts": result.counts,
        "group_sizes": sizes,
        "group_weights": result.group_weights,
        "proof": proof,
    }


def _findings(result: "UnmixResult") -> list[str]:
    """Return the sentences about the data."""
    findings = []
    if result.preflight is not None:
        findings += result.preflight.sentences
    elif result.negative is not None and result.negative.count > 0:
        findings.append(negative_sentence(result.negative.count, result.negative.n_values))
    findings += result.notes
    if result.rank_advice is not None:
        findings += result.rank_advice.sentences
    findings += [f"left out for lack of time: {what}" for what in result.given_up]
    return findings


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


def _candidates_reason(result: "UnmixResult") -> str:
    """Return which pixels the candidates are, unless they are cluster representatives."""
    if result.parameters.get("candidates") is not None:
        return ""
    return str(result.parameters.get("candidates_reason", ""))


def _wavelengths(data: "xr.DataArray") -> Array | None:
    if "wavelength" not in data.coords:
        return None
    wavelengths: Array = data["wavelength"].values
    return wavelengths


def _band_numbers(data: "xr.DataArray") -> Array:
    """Return the numbers of the bands in their file, counted from 1."""
    if "band_number" not in data.coords:
        return np.arange(1, data.sizes["band"] + 1)
    numbers: Array = data["band_number"].values
    return numbers


def _band_axis(endmembers: "xr.DataArray") -> tuple[Array, str]:
    """Return the positions of the bands on the axis of the spectra, and the label of that axis."""
    wavelengths = _wavelengths(endmembers)
    # A band without a wavelength would have no position on an axis of wavelengths.
    if wavelengths is None or not np.isfinite(wavelengths).all():
        return _band_numbers(endmembers).astype(float), "Band"
    return wavelengths, "Wavelength (nm)"


def _band_labels(data: "xr.DataArray") -> list[str]:
    """Return a label for each band: its name or number, and its wavelength if known."""
    labels = [f"Band {number}" for number in _band_numbers(data)]
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


def _image_bands(scene: "xr.DataArray", result: "UnmixResult") -> list[int]:
    """Return the bands of the scene to show; none holds one value, none is marked as bad."""
    sound = np.arange(scene.sizes["band"])
    if result.preflight is not None:
        sound = np.flatnonzero(result.preflight.sound)
    wavelengths = _wavelengths(scene)
    if wavelengths is not None:
        wavelengths = wavelengths[sound]
    return [int(sound[k]) for k in false_colour_bands(wavelengths, sound.size)]


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
