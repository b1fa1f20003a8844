"""The options of the commands: each is declared once, with its panel in the help.

The lists have the order in which the help shows them. An option without a default has that of
:class:`selfdict.scene.options.UnmixOptions`.
"""

import math
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from selfdict.cli.console import Argument, Option

FORMATS = ("envi", "geotiff", "netcdf", "zarr")
_FILE = click.Path(path_type=Path)
_input = partial(Option, panel="Input")
_model = partial(Option, panel="Model")
_limit = partial(Option, panel="Limits")


class Number(click.ParamType):  # type: ignore[type-arg]  # older ones take no argument
    """A finite number from ``least`` to ``most``, or one of some words."""

    name = "number"

    def __init__(
        self, kind: type, least: float | None, *words: str, most: float = math.inf
    ) -> None:
        self._kind = kind
        self._least = least
        self._most = most
        self._words = words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number or the word."""
        if value in self._words:
            return value
        try:
            number = self._kind(value)
        except ValueError:
            number = math.nan
        is_known = isinstance(number, int) or math.isfinite(number)
        if is_known and (self._least is None or self._least <= number <= self._most):
            return number
        wanted = "a finite number"
        if self._kind is int:
            wanted = "a whole number"
        if self._least is not None:
            wanted += f" of at least {self._least:g}"
        if math.isfinite(self._most):
            wanted += f" and at most {self._most:g}"
        choices = "".join(f" or {word!r}" for word in self._words)
        self.fail(f"must be {wanted}{choices}; got {value!r}", param, ctx)


READING = [
    Argument("file", "ENVI, GeoTIFF, MATLAB, NetCDF, HDF5, zarr or NumPy file."),
    _input("--bands", metavar="LIST", help="Bands to use, such as 1-103,109-149 (counted from 1)."),
    _input(
        "--roi",
        metavar="ROWS,COLUMNS",
        help="Rows and columns to use, such as 10:60,20:80 (counted from 0).",
    ),
    _input(
        "--mask", type=_FILE, help="File with one band; pixels whose value is not 0 are left out."
    ),
    _input(
        "--no-data",
        metavar="VALUE",
        type=Number(float, None),
        help="Value that marks missing data; default: the one the file declares.",
    ),
    _input(
        "--variable",
        metavar="NAME",
        help="The array to read from a .mat, .npz, NetCDF, HDF5 or zarr file.",
    ),
    _input(
        "--wavelengths",
        metavar="FILE|A:B",
        help="Wavelengths of a file that has none: a text file or ENVI header, or 400:2500 (nm).",
    ),
    _input(
        "--quality",
        is_flag=True,
        help="Leave out pixels that the product marks: clouds (EMIT, EnMAP), errors (PRISMA).",
    ),
    _input(
        "--drop-bad-bands", is_flag=True, rare=True, help="Leave out bands the file marks as bad."
    ),
    _input(
        "--overlap",
        type=click.Choice(["vnir", "swir", "both"]),
        rare=True,
        help="PRISMA, EnMAP: the detector to keep where their bands overlap; default: vnir.",
    ),
    _input(
        "--shape",
        metavar="ROWS,COLUMNS",
        rare=True,
        help="Size of the image, such as 100,150, for a matrix of bands and pixels (.mat, .npz).",
    ),
    _input(
        "--layout",
        metavar="AXES",
        rare=True,
        help="Axes of a plain array (.mat, .npy, .npz, HDF5): bands-first, bands-last, or their "
        "order, such as 'y band x'; default: a guess from the values.",
    ),
    # The maximum is more bytes than any machine has.
    _limit(
        "--max-bytes",
        type=Number(int, 0, most=2**62),
        rare=True,
        help="Bytes of the largest block or array to load; default: a limit that follows from the "
        "size of the file.",
    ),
]

_RANK = _model(
    "--rank",
    "-r",
    required=True,
    type=Number(int, 1, "auto"),
    help="Number of materials; 'auto': the number that 'selfdict rank' recommends.",
)
_KEEP_BANDS = _input(
    "--keep-bands",
    is_flag=True,
    rare=True,
    help="Use all bands, including bad, constant and noisy ones (water vapour).",
)
# numpy's generators take no negative seed.
_SEED = _model(
    "--seed",
    type=Number(int, 0),
    default=0,
    rare=True,
    help="Seed of the random numbers; default: 0.",
)
# The threads are really started, up to the limits of the operating system.
_THREADS = _limit(
    "--threads",
    type=Number(int, 1, most=4096),
    help="Largest number of threads; default: all cores.",
)
_TIME_LIMIT = _limit(
    "--time-limit",
    metavar="SECONDS",
    type=Number(float, 0),
    help="fgnsr: for selection, proof and comparison, after which the best selection so far is "
    "used; reading and mapping are always completed.",
)
_FORCE = Option("--force", is_flag=True, help="Replace existing output.")
_QUIET = Option("--quiet", "-q", is_flag=True, help="No progress, no summary.")
_JSON = Option("--json", is_flag=True, help="Print the results as JSON.")
_PROGRESS_JSON = Option(
    "--progress-json", is_flag=True, rare=True, help="Progress as lines of JSON on standard error."
)

DEMO = [
    Option(
        "--output",
        "-o",
        type=_FILE,
        default=Path("selfdict-demo"),
        help="Output folder; default: selfdict-demo.",
    ),
    _input("--real", is_flag=True, help="Unmix Indian Pines (needs tensorly)."),
    _FORCE,
    _QUIET,
    _JSON,
]
UNMIX = [
    *READING,
    _RANK,
    _model(
        "--method",
        type=click.Choice(["fgnsr", "spa", "snpa", "xray", "vca", "h2nmf"]),
        help="How pure pixels are chosen; default: fgnsr.",
    ),
    _model(
        "--candidates",
        type=Number(int, 1, "all", "auto"),
        help="fgnsr: number of cluster representatives to choose among, or 'all' pixels. 'auto', "
        "the default: all if that is predicted to take at most a minute, or 0.4 of a time limit, "
        "else 500.",
    ),
    _model(
        "--mu",
        type=Number(float, 0, "auto"),
        rare=True,
        help="fgnsr: the penalty on every pixel used; default: chosen automatically.",
    ),
    _model(
        "--smooth",
        type=Number(float, 0),
        rare=True,
        help="fgnsr: spread the weight over similar pixels, by a quadratic term this many times "
        "the penalty; default: 0.",
    ),
    _model(
        "--endmembers",
        type=click.Choice(["auto", "pixels", "average"]),
        help="Pure pixels, or (fgnsr) averages over groups of nearly pure ones; default: averages "
        "where there are groups.",
    ),
    _model(
        "--abundances",
        type=click.Choice(["shares", "unit", "nnls", "fcls"]),
        help="Fractions of each pixel's area (shares, the default); shares relative to spectra of "
        "unit length, as in many published tables (unit); nonnegative coefficients (nnls); or the "
        "same summing to one (fcls).",
    ),
    _model(
        "--library",
        type=_FILE,
        help="fgnsr: choose spectra from this library instead of pure pixels.",
    ),
    Option(
        "--names",
        type=_FILE,
        help="Identify the materials in this library: a USGS, ECOSTRESS or ASTER folder or "
        ".txt, .sli, .npz or .csv.",
    ),
    _model(
        "--prove/--no-prove",
        default=None,
        help="fgnsr: prove how close the groups alone come to the optimum and what leaving one out "
        "costs, however long that takes, or skip the proof; default: prove for two thirds as "
        "long as the fit took, at least 5 s.",
    ),
    _SEED,
    _KEEP_BANDS,
    Option(
        "--compare/--no-compare",
        default=True,
        help="Compare with SPA and VCA in the report; default: compare.",
    ),
    Option(
        "--uncertainty/--no-uncertainty",
        default=None,
        rare=True,
        help="Also map the standard errors of the abundances; default: map them.",
    ),
    Option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of the maps; default: that of the input.",
    ),
    Option(
        "--profile",
        is_flag=True,
        rare=True,
        help="Print how long each stage of the command takes, on standard error.",
    ),
    _TIME_LIMIT,
    _THREADS,
    _limit(
        "--scheduler",
        metavar="ADDRESS",
        rare=True,
        help="A dask scheduler whose workers do the computing, such as tcp://host:8786.",
    ),
    Option(
        "--output",
        "-o",
        type=_FILE,
        help="Output folder; default: the name of the file with '-unmixed', in the current folder.",
    ),
    _FORCE,
    _QUIET,
    _JSON,
    _PROGRESS_JSON,
]
COMPARE = [*READING, _RANK, _KEEP_BANDS, _TIME_LIMIT, _SEED, _THREADS, _QUIET, _JSON]
RANK = [
    *READING,
    _model(
        "--max",
        "maximum",
        type=Number(int, 1),
        default=20,
        help="Largest number of materials to recommend; default: 20.",
    ),
    *(_KEEP_BANDS, _SEED, _THREADS, _QUIET, _JSON, _PROGRESS_JSON),
]
INFO = [*READING, _JSON]
CONVERT = [
    *READING,
    Argument("output", "Output file.", panel="Output"),
    Option("--format", type=click.Choice(FORMATS), help="Default: by the suffix of the output."),
    _FORCE,
    _QUIET,
]
IDENTIFY = [
    Argument(
        "result", "Output folder of 'selfdict unmix', or a file of spectra such as endmembers.csv."
    ),
    _input(
        "--library",
        required=True,
        type=_FILE,
        help="Library: a USGS, ECOSTRESS or ASTER folder or .txt, .sli, .npz or .csv.",
    ),
    Option(
        "--figure",
        type=_FILE,
        help="Draw each spectrum with the nearest one of the library (.png, .pdf, .svg).",
    ),
    _FORCE,
    _JSON,
]


def repeated_command(ctx: click.Context) -> str:
    """Return the command that repeats this run, with a placeholder for its output."""
    # Where to write and how much to print does not change the result.
    left_out = ("output", "force", "quiet", "json", "progress_json", "profile")
    words = ["selfdict", str(ctx.info_name)]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not is_given or name in left_out:
            continue
        value = ctx.params[name]
        if isinstance(parameter, click.Argument):
            text = str(value)
            if text.startswith("-"):  # a file, not an option
                text = f"./{text}"
            words.append(text)
        elif value is True:
            words.append(parameter.opts[0])
        elif value is False:
            words.append(parameter.secondary_opts[0])
        else:
            words += [parameter.opts[0], str(value)]
    return shlex.join([*words, "--output", "OUTPUT"])
