"""The options of the commands: each is declared once, with its panel in the help."""

import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

FORMATS = ("envi", "geotiff", "netcdf", "zarr")
# Where to write and how much to print does not change the result.
_NOT_REPEATED = ("output", "force", "quiet", "json", "progress_json", "profile")
_FILE = click.Path(path_type=Path)


class Argument(click.Argument):
    """An argument that the help describes as it describes an option."""

    panel = "Input"
    rare = False

    def __init__(self, names: list[str], help: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self._help = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the row of the help."""
        return self.make_metavar(ctx), self._help


class Option(click.Option):
    """An option with its panel in the help; only ``--help-all`` shows the rare ones."""

    def __init__(
        self, names: list[str], panel: str = "Output", rare: bool = False, **settings: Any
    ) -> None:
        super().__init__(names, **settings)
        self.panel = panel
        self.rare = rare


def argument(name: str, help: str) -> Callable[..., Any]:
    """Return the decorator for a path that has to be given."""
    return click.argument(name, cls=Argument, type=_FILE, help=help)


def option(*names: str, **settings: Any) -> Callable[..., Any]:
    """Return the decorator for an option."""
    return click.option(*names, cls=Option, **settings)


def options(*decorators: Callable[..., Any]) -> Callable[..., Any]:
    """Return one decorator for several options, which the help shows in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _finite(ctx: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse nan and inf, which ``float`` also reads: nan is in every range."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"must be a finite number, got {value}")
    return value


reading = options(
    argument("file", "ENVI, GeoTIFF, MATLAB, NetCDF, HDF5, zarr or NumPy file."),
    option(
        "--bands",
        panel="Input",
        metavar="LIST",
        help="Bands to use, such as 1-103,109-149 (counted from 1).",
    ),
    option(
        "--roi",
        panel="Input",
        metavar="ROWS,COLUMNS",
        help="Rows and columns to use, such as 10:60,20:80 (counted from 0).",
    ),
    option(
        "--mask", panel="Input", type=_FILE, help="File with one band; pixels not 0 are left out."
    ),
    option(
        "--no-data",
        panel="Input",
        metavar="VALUE",
        type=float,
        callback=_finite,
        help="The value that marks missing data; default: as the file says.",
    ),
    option(
        "--variable",
        panel="Input",
        metavar="NAME",
        help="Which array of a .mat, .npz, NetCDF, HDF5 or zarr file.",
    ),
    option(
        "--wavelengths",
        panel="Input",
        metavar="FILE|A:B",
        help="Wavelengths of a file that has none: a text file or ENVI header, or 400:2500 (nm).",
    ),
    option(
        "--quality",
        panel="Input",
        is_flag=True,
        help="Leave out pixels that the product marks: clouds (EMIT, EnMAP), errors (PRISMA).",
    ),
    option(
        "--drop-bad-bands",
        panel="Input",
        is_flag=True,
        rare=True,
        help="Leave out bands the file marks as bad.",
    ),
    option(
        "--overlap",
        panel="Input",
        type=click.Choice(["vnir", "swir", "both"]),
        rare=True,
        help="PRISMA, EnMAP: the detector to keep where both see the same; default: vnir.",
    ),
    option(
        "--shape",
        panel="Input",
        metavar="ROWS,COLUMNS",
        rare=True,
        help="Size of the image, such as 100,150, for a matrix of bands and pixels (.mat, .npz).",
    ),
    option(
        "--layout",
        panel="Input",
        metavar="AXES",
        rare=True,
        help="Axes of a plain array (.mat, .npy, .npz, HDF5): bands-first, bands-last, or their "
        "order, such as 'y band x'; default: by the values.",
    ),
    # The maximum is more bytes than any machine has.
    option(
        "--max-bytes",
        panel="Limits",
        metavar="NUMBER",
        type=click.IntRange(0, 2**62),
        rare=True,
        help="Most bytes of one block or loaded array; default: what the file's size makes likely.",
    ),
)

# Text, since 'auto' is allowed besides a number.
rank = option(
    "--rank",
    "-r",
    panel="Model",
    required=True,
    metavar="NUMBER",
    help="Number of materials; 'auto': the number that 'selfdict rank' recommends.",
)
keep_bands = option(
    "--keep-bands",
    panel="Input",
    is_flag=True,
    rare=True,
    help="Use all bands, also bad, constant and noisy ones (water vapour).",
)
# numpy's generators take no negative seed.
seed = option(
    "--seed",
    panel="Model",
    metavar="NUMBER",
    type=click.IntRange(0),
    default=0,
    rare=True,
    help="Seed of everything random; default: 0.",
)
# The threads are really started, up to the limits of the operating system.
threads = option(
    "--threads",
    panel="Limits",
    metavar="NUMBER",
    type=click.IntRange(1, 4096),
    help="Largest number of threads; default: all cores.",
)
time_limit = option(
    "--time-limit",
    panel="Limits",
    metavar="SECONDS",
    type=click.FloatRange(0),
    callback=_finite,
    help="fgnsr: for choosing, proving and comparing, after which the best choice so far is taken; "
    "reading and mapping are always done.",
)
force = option("--force", is_flag=True, help="Replace older output.")
quiet = option("--quiet", "-q", is_flag=True, help="No progress, no summary.")
progress_json = option(
    "--progress-json",
    is_flag=True,
    rare=True,
    help="Progress as lines of JSON on standard error.",
)
json = option("--json", is_flag=True, help="Print the results as JSON.")

model = options(
    rank,
    option(
        "--method",
        panel="Model",
        type=click.Choice(["fgnsr", "spa", "snpa", "xray", "vca", "h2nmf"]),
        default="fgnsr",
        help="How pure pixels are chosen; default: fgnsr.",
    ),
    option(
        "--candidates",
        panel="Model",
        metavar="NUMBER",
        default="auto",
        help="fgnsr: number of cluster representatives to choose among, or 'all' pixels. 'auto', "
        "the default: all if that is predicted to take at most a minute, or 0.4 of a time limit, "
        "else 500.",
    ),
    option(
        "--mu",
        panel="Model",
        metavar="NUMBER",
        default="auto",
        rare=True,
        help="fgnsr: the penalty; default: chosen by the program.",
    ),
    option(
        "--smooth",
        panel="Model",
        type=click.FloatRange(min=0),
        metavar="NUMBER",
        default=0.0,
        rare=True,
        help="fgnsr: let pixels that are nearly alike share their weight: the more, the larger "
        "this multiple of the penalty; default: 0.",
    ),
    option(
        "--endmembers",
        panel="Model",
        type=click.Choice(["auto", "pixels", "average"]),
        default="auto",
        help="Pure pixels, or (fgnsr) averages over groups of nearly pure ones; default: averages "
        "where there are groups.",
    ),
    option(
        "--abundances",
        panel="Model",
        type=click.Choice(["shares", "unit", "nnls", "fcls"]),
        default="shares",
        help="Parts of each pixel's area (shares, the default); shares relative to spectra of unit "
        "length, as in many published tables (unit); nonnegative coefficients (nnls); or the same "
        "summing to one (fcls).",
    ),
    option(
        "--library",
        panel="Model",
        type=_FILE,
        help="fgnsr: find spectra of this library instead of pure pixels.",
    ),
    option(
        "--names",
        panel="Output",
        type=_FILE,
        help="Look up what the materials are in this library: a USGS, ECOSTRESS or ASTER folder or "
        ".txt, .sli, .npz or .csv.",
    ),
    option(
        "--prove/--no-prove",
        panel="Model",
        default=None,
        help="fgnsr: prove how close the groups alone come to the optimum and what leaving one out "
        "costs, however long it takes, or not at all; default: for half the time of the fit, "
        "at least 3 s.",
    ),
    seed,
    keep_bands,
    option(
        "--compare/--no-compare",
        default=True,
        help="Compare with SPA and VCA in the report; default: compare.",
    ),
    option(
        "--uncertainty/--no-uncertainty",
        default=True,
        rare=True,
        help="Map the standard errors of the abundances, too; default: map them.",
    ),
    option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of the maps; default: that of the input.",
    ),
    option(
        "--profile",
        is_flag=True,
        rare=True,
        help="Print how long each stage of the command takes, on standard error.",
    ),
    time_limit,
    threads,
    option(
        "--scheduler",
        panel="Limits",
        metavar="ADDRESS",
        rare=True,
        help="A dask scheduler whose workers do it, such as tcp://host:8786.",
    ),
)


def repeated_command(ctx: click.Context) -> str:
    """Return the command that repeats this run, with a placeholder for its output."""
    words = ["selfdict", str(ctx.info_name)]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not is_given or name in _NOT_REPEATED:
            continue
        value = ctx.params[name]
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif value is True:
            words.append(parameter.opts[0])
        elif value is False:
            words.append(parameter.secondary_opts[0])
        else:
            words += [parameter.opts[0], str(value)]
    return shlex.join([*words, "--output", "OUTPUT"])


def parse_rank(text: str) -> int | str:
    """Return the number of materials, or "auto"."""
    return _number_or_word(text, "--rank", ("auto",))


def parse_candidates(text: str) -> int | str | None:
    """Return the number of candidates; None: all pixels; "auto": as many as take a minute."""
    value = _number_or_word(text, "--candidates", ("all", "auto"))
    if value == "all":
        return None
    return value


def _number_or_word(text: str, name: str, words: tuple[str, ...]) -> int | str:
    if text in words:
        return text
    # At most 18 digits: more than there are pixels, and Python refuses to convert thousands.
    if re.fullmatch("[0-9]{1,18}", text) is None or int(text) < 1:
        choices = " or ".join(repr(word) for word in words)
        raise click.BadParameter(
            f"must be a positive number or {choices}, got {text!r}", param_hint=name
        )
    return int(text)


def parse_mu(text: str) -> float | str:
    """Return the penalty, or "auto"."""
    if text == "auto":
        return text
    try:
        mu = float(text)
    except ValueError:
        mu = math.nan
    # False for NaN, too, which ``float`` also reads from a text.
    if not 0 <= mu < math.inf:
        raise click.BadParameter(
            f"must be a number that is not negative, or 'auto', got {text!r}", param_hint="--mu"
        )
    return mu
