"""The contents of the report as plain arrays, independent of scenes, solvers and files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from selfdict._validation import Array
from selfdict.readout.guarantee import Guarantee
from selfdict.report.evidence import GroupProof
from selfdict.report.words import Certificate

# For annotations only: a report of plain arrays does not need the scene package.
if TYPE_CHECKING:
    from selfdict.scene import Match, SceneCheck


@dataclass(frozen=True)
class MethodResult:
    """One row of the comparison: relative error, seconds and pure pixels of a method.

    The error is that of mixtures of the pure pixels, with nonnegative coefficients.
    """

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
        The spectra of the materials.
    abundances : (r, y, x) ndarray
        The abundance of each endmember in each pixel.
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
        Relative error of the whole scene, mixed from the endmembers.
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
    endmember_kind : {"pixels", "average"}
        What the endmembers are, if they are of the scene.
    abundance_kind : {"shares", "unit", "nnls", "fcls"}
        What the abundances are.
    spread : (m, r) ndarray or None
        The standard deviation of the pixels that an endmember is the average of.
    counts, group_sizes : (r,) ndarray of int or None
        How many pixels were averaged, and how many belong to each group.
    group_weights : (r,) ndarray or None
        The sum of the weights of each group; None: the weights of single pixels are shown.
    proof : GroupProof or None
        What is proven about the groups.
    check : SceneCheck or None
        How far the weights can be from the best ones, counted over all pixels.
    candidates_reason : str
        Which pixels the candidates are; empty: cluster representatives, or all pixels.
    uncertainty : (r, y, x) ndarray or None
        The standard error of each abundance.
    brightness : (y, x) ndarray or None
        How bright each pixel is; 1 is typical.
    pixel_error : float or None
        Relative error of the whole scene, mixed from the pure pixels with nonnegative coefficients.
    findings : sequence of str
        Sentences about the data: what was assumed, left out, or seems wrong.
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
    endmember_kind: str = "pixels"
    abundance_kind: str = "nnls"
    spread: Array | None = None
    counts: Array | None = None
    group_sizes: Array | None = None
    group_weights: Array | None = None
    proof: GroupProof | None = None
    check: "SceneCheck | None" = None
    candidates_reason: str = ""
    uncertainty: Array | None = None
    brightness: Array | None = None
    pixel_error: float | None = None
    findings: Sequence[str] = ()
    names: Sequence[str] = ()
    matches: "Sequence[Match]" = ()
    every: int = 1
    n_pixels: int = 0
    n_valid: int = 0
    select_seconds: float | None = None

    @property
    def sums_to_one(self) -> bool:
        """Whether the abundances are shares of a whole, which are written in percent."""
        return self.abundance_kind != "nnls"

    def material(self, k: int) -> str:
        """Return the name of endmember k, counted from 0."""
        if self.names:
            return f"{k + 1}. {self.names[k]}"
        if self.matches and self.matches[k].material is not None:
            return f"Material {k + 1} ({self.matches[k].material})"
        return f"Material {k + 1}"
