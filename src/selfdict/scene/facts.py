"""What there is to say about a result: whether the model fits, what it leaves, each fact once.

The text of a result and its view in a notebook, the attributes of its Dataset, the summary that the
command prints, ``run.json``, and the figures at the top of the report all take the facts from here.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from selfdict._display import at_most, counted, percent, shortened
from selfdict._validation import Array
from selfdict.abundances import column_residuals, nnls
from selfdict.model.solution import Status
from selfdict.scene.inspection import Preflight
from selfdict.scene.maps import Maps, outlier_limit
from selfdict.scene.options import method_name

if TYPE_CHECKING:
    from selfdict.scene.result import UnmixResult

_MUCH = 0.1  # a relative error that is no small one
_WHAT_ABUNDANCES_ARE = {
    "shares": "shares: fractions of each pixel's area",
    "unit": "shares relative to spectra of unit length",
    "nnls": "nonnegative coefficients",
    "fcls": "nonnegative coefficients that sum to one",
}


@dataclass(frozen=True)
class Fit:
    """How well mixtures of the endmembers describe a scene, and what may be wrong with it.

    Attributes
    ----------
    error : float
        The relative error, as ``UnmixResult.relative_error``.
    noise : float or None
        The relative error that the noise of the sound bands would leave, see
        :class:`selfdict.scene.Preflight`; None if it is not known.
    n_materials : int
        Number of endmembers.
    faults : tuple of str
        What seems wrong with the data, one sentence each.
    left_out : tuple of str
        Which bands are left out as noise, one sentence each.
    skipped : tuple of str
        What the selection left out because of a time limit.
    """

    error: float
    noise: float | None
    n_materials: int
    faults: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, maps: Maps, n_materials: int, look: Preflight, skipped: tuple[str, ...] = ()
    ) -> "Fit":
        """Judge the maps by what was seen in the scene before."""
        faults = tuple(finding.sentence for finding in look.findings if finding.is_fault)
        noise = [finding for finding in look.findings if finding.kind == "noisy bands"]
        left_out = tuple(finding.sentence for finding in noise)
        return cls(maps.relative_error, look.noise_error, n_materials, faults, left_out, skipped)

    @property
    def is_poor(self) -> bool:
        """Whether more than a tenth of the scene is left, and noise is not the reason."""
        is_noise = self.noise is not None and self.error <= 2 * self.noise
        return self.error > _MUCH and not is_noise

    @property
    def is_sound(self) -> bool:
        """Whether the model describes the scene, and nothing seems wrong with the data."""
        return self.error <= _MUCH and not self.faults

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        if self.is_poor and self.skipped:
            return "These spectra do not describe the scene: the time limit was too short."
        if self.is_poor:
            return "The model does not describe this scene."
        if self.faults:
            return "The data look wrong: check them before you trust the maps."
        if self.error > _MUCH:
            return "The model describes this scene, but there is much noise in it."
        return "The model describes this scene."

    @property
    def sentences(self) -> list[str]:
        """What the verdict rests on, then the likely causes of a poor fit or doubtful data."""
        error = f"Mixtures of {self.n_materials} spectra differ"
        if self.n_materials == 1:
            error = "Multiples of one spectrum differ"
        error += f" from the scene by {percent(self.error)}"
        noise = "noise alone"
        if self.faults:
            # Bands that are marked as noisy do not count, even if they are used.
            noise = "the noise of the sound bands alone"
        if self.noise is not None:
            error += f"; {noise} would account for {percent(self.noise)}"
        found = [f"{error}."]
        found += [f"{said[0].upper()}{said[1:]}." for said in (*self.faults, *self.left_out)]
        if self.skipped:
            found.append(f"For lack of time, {'; '.join(self.skipped)}.")
        elif self.is_poor and not self.faults:
            found.append(
                f"Likely causes: too few materials ({self.n_materials}), faulty bands, undeclared "
                "no-data values, exchanged axes, or values that are neither reflectance nor "
                "radiance."
            )
        return found


@dataclass(frozen=True)
class Patch:
    """Connected pixels that the endmembers do not explain.

    Attributes
    ----------
    pixels : (k, 2) ndarray of int
        Row and column of its pixels, the largest residual first.
    share : float
        The part of the squared error of the whole scene that lies in it.
    spectrum : (n_bands,) ndarray or None
        The mean of the pixels with the larger residuals, at the used bands; None for patches
        beyond the first twelve.
    error : float or None
        With this spectrum as a further endmember the relative error of the scene is at most this.
    """

    pixels: Array
    share: float
    spectrum: Array | None = None
    error: float | None = None


def unexplained_patches(maps: Maps, U: Array) -> tuple[Patch, ...]:
    """Return the patches that endmembers U (m, r) do not explain, the largest errors first."""
    patches = _find_patches(maps)
    if not patches:
        return ()
    outliers = maps.outliers
    before = _squared_errors(U, outliers.M)
    found = []
    for k, patch in enumerate(patches):
        rows, columns = patch.pixels.T
        own = np.flatnonzero(np.isin(outliers.pixels, rows * maps.errors.shape[1] + columns))
        if own.size == 0 or k >= 12:
            found.append(patch)
            continue
        is_large = before[own] >= np.median(before[own])
        spectrum = outliers.M[:, own[is_large]].mean(axis=1)
        after = _squared_errors(np.column_stack([U, spectrum]), outliers.M)
        gain = float(np.maximum(before - after, 0.0).sum())
        error = maps.totals.relative(max(maps.totals.squared_error - gain, 0.0))
        found.append(replace(patch, spectrum=spectrum, error=error))
    return tuple(found)


def _find_patches(maps: Maps) -> list[Patch]:
    errors = maps.errors
    known = errors[np.isfinite(errors)]
    if known.size == 0 or maps.totals.squared_error == 0:
        return []
    length = np.sqrt(maps.totals.squared_norm / known.size)
    # Beside a typical pixel, less is rounding.
    limit = max(outlier_limit(known), 1e-4 * length)
    # NaN, where there is no data, is not larger than anything.
    labels, n_patches = ndimage.label(errors > limit, structure=np.ones((3, 3)))
    squares = np.where(labels > 0, errors, 0.0).astype(np.float64) ** 2
    weights = ndimage.sum_labels(squares, labels, np.arange(1, n_patches + 1))
    found = []
    boxes = ndimage.find_objects(labels)
    for number in np.argsort(-weights, kind="stable").tolist():
        rows, columns = boxes[number]
        corner = np.array([rows.start, columns.start])
        inside = np.argwhere(labels[rows, columns] == number + 1) + corner
        share = float(weights[number] / maps.totals.squared_error)
        # many single pixels are there by chance
        if len(inside) == 1 and share < 0.01:
            continue
        order = np.argsort(-errors[tuple(inside.T)], kind="stable")
        found.append(Patch(inside[order], share))
        if len(found) == 30:
            break
    return found


def _squared_errors(U: Array, M: Array) -> Array:
    return np.asarray(column_residuals(U, M, nnls(U, M)) ** 2)


@dataclass(frozen=True)
class Fact:
    """A fact about a result, with small print; one with a value is a figure."""

    name: str
    text: str
    note: str = ""
    value: float | None = None

    @property
    def key(self) -> str:
        """The name in files."""
        return self.name.replace(" ", "_")

    @property
    def sentence(self) -> str:
        """The text with its note."""
        return f"{self.text} {self.note}".strip()


def facts(result: "UnmixResult") -> list[Fact]:
    """Return what there is to say about a result; no map is read."""
    verdict = " ".join([result.fit.headline, *result.fit.sentences])
    found = [Fact("fit", verdict), *figures(result)]
    kind = str(result.parameters.get("abundances"))
    pixels = [f"({row}, {column})" for row, column in result.pixels.tolist()]
    found += [
        Fact("method", str(result.parameters.get("method"))),
        Fact("endmembers", _endmembers(result)),
        Fact("abundances", _WHAT_ABUNDANCES_ARE.get(kind, "coefficients")),
        Fact("pure pixels", f"{shortened(pixels)} (row, column)"),
    ]
    if result.rank_advice is not None:
        found.append(Fact("number", result.rank_advice.sentences[0]))
    found += _certificate(result)
    if result.unexplained:
        found.append(Fact("not explained", unexplained_in_words(result)))
    if result.skipped:
        found.append(Fact("skipped", f"for lack of time: {'; '.join(result.skipped)}"))
    if result.preflight.findings:
        found.append(Fact("preflight", "; ".join(result.preflight.sentences)))
    if result.notes:
        found.append(Fact("notes", "; ".join(result.notes)))
    return found


def figures(result: "UnmixResult") -> list[Fact]:
    """Return the facts that are numbers, in the order in which the report shows them."""
    n_rows, n_columns = result.residual.shape
    error = result.relative_error
    n_bands = result.endmembers.sizes["band"]
    found = [
        _figure("materials", len(result.pixels), f"chosen by {method_in_words(result)}"),
        Fact("relative error", percent(error), _other_error(result), error),
    ]
    if result.gap is not None:
        note = "from the best possible weights, at most"
        found.append(Fact("certified gap", at_most(result.gap), note, result.gap))
    found += [
        _figure("pixels", result.n_valid, f"with data, of {n_rows:,} × {n_columns:,}"),
        _figure("bands", n_bands, f"used{_wavelength_range(result)}"),
    ]
    total = result.seconds["total"]
    return [*found, Fact("time", seconds(total), "to unmix", total)]


def _figure(name: str, number: int, note: str) -> Fact:
    return Fact(name, f"{number:,}", note, number)


def _certificate(result: "UnmixResult") -> list[Fact]:
    """Return what is proven, and how the solver ended if that was before its tolerance."""
    found = []
    if result.proof is not None:
        text = f"{result.proof.sentence} Scope: {candidates_in_words(result)}."
        found.append(Fact("proof", text))
    if result.check is not None:
        text = f"no other weights are better by more than {at_most(result.check.gap)}"
        found.append(Fact("all pixels", text))
    if result.solution is not None and not has_converged(result):
        found.append(Fact("solver", str(result.solution.status)))
    return found


def _endmembers(result: "UnmixResult") -> str:
    labels = shortened(result.labels)
    if result.counts is None:
        return labels
    if result.shows_single_pixels:
        return f"{labels}; single pixels"
    counts = shortened([str(count) for count in result.counts])
    return f"{labels}; averages over {counts} pixels"


def _other_error(result: "UnmixResult") -> str:
    if result.counts is None or result.shows_single_pixels:
        return "over the whole scene"
    return f"with group averages, {percent(result.pixel_error)} with single pixels"


def _wavelength_range(result: "UnmixResult") -> str:
    if "wavelength" not in result.endmembers.coords:
        return ""
    known = result.endmembers["wavelength"].values
    known = known[np.isfinite(known)]
    if known.size == 0:
        return ""
    return f", {known.min():.5g} to {known.max():.5g} nm"


def has_converged(result: "UnmixResult") -> bool:
    """Whether the solver ended because its tolerance was reached."""
    return result.solution is not None and result.solution.status in (
        Status.CONVERGED,
        Status.EXACT,
    )


def method_in_words(result: "UnmixResult") -> str:
    """Return a name like the paper's: FGNSR-500 selected from 500 candidates."""
    n_candidates = None
    # As many as there were: a scene with few different pixels has fewer than were asked for.
    if result.solution is not None and result.parameters.get("candidates") is not None:
        n_candidates = len(result.solution.diagonal)
    return method_name(result.parameters["method"], n_candidates)


def is_about_all_pixels(result: "UnmixResult") -> bool:
    """Whether the candidates of the solution are all pixels with data."""
    if result.solution is None or result.atoms is not None:
        return False
    return len(result.solution.diagonal) >= result.n_valid


def candidates_in_words(result: "UnmixResult") -> str:
    """Return what the solution and the proof are about."""
    solution: Any = result.solution
    n_candidates = len(solution.diagonal)
    if result.atoms is not None:
        return f"all {n_candidates:,} spectra of the library"
    if is_about_all_pixels(result):
        return f"all {result.n_valid:,} pixels"
    if result.parameters.get("candidates") is None:
        return f"{n_candidates:,} of {result.n_valid:,} pixels"
    return f"{n_candidates:,} candidates that stand for {result.n_valid:,} pixels"


def unexplained_in_words(result: "UnmixResult") -> str:
    """Return how much of the scene is in patches that are not explained."""
    patches = counted(len(result.unexplained), "patch", "patches")
    pixels = counted(sum(len(patch.pixels) for patch in result.unexplained), "pixel")
    share = percent(sum(patch.share for patch in result.unexplained))
    return f"{patches} with {pixels} in all: {share} of the squared error"


def seconds(value: float) -> str:
    """Write a duration: ``0.42 s``, ``12.3 s``, ``3 min 05 s``."""
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"
