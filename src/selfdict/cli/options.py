"""The options of the commands: each is declared once, with its panel in the help."""

import math
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

FORMATS = ("envi", "geotiff", "netcdf", "zarr")
# Arguments of Python, and the options that are called otherwise.
RENAMED = {
    "r": "rank",
    "n_components": "rank",
    "max_seconds": "time_limit",
    "random_state": "seed",
    "nodata": "no_data",
    "overwrite": "force",
}
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


class Number(click.ParamType):  # type: ignore[type-arg]  # older ones take no argument
    """A finite number that is not below ``least``, or one of some words."""

    name = "number"

    def __init__(self, kind: type, least: float | None, *words: str) -> None:
        self._kind = kind
        self._least = least
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
        if is_known and (self._least is None or number >= self._least):
            return number
        wanted = "a finite number"
        if self._kind is int:
            wanted = "a whole number"
        if self._least is not None:
            wanted += f" of at least {self._least:g}"
        choices = "".join(f" or {word!r}" for word in self._words)
        self.fail(f"must be {wanted}{choices}, got {value!r}", param, ctx)


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


_input = partial(option, panel="Input")
_model = partial(option, panel="Model")
_limit = partial(option, panel="Limits")

reading = options(
    argument("file", "ENVI, GeoTIFF, MATLAB, NetCDF, HDF5, zarr or NumPy file."),
    _input("--bands", metavar="LIST", help="Bands to use, such as 1-103,109-149 (counted from 1)."),
    _input(
        "--roi",
        metavar="ROWS,COLUMNS",
        help="Rows and columns to use, such as 10:60,20:80 (counted from 0).",
    ),
    _input("--mask", type=_FILE, help="File with one band; pixels not 0 are left out."),
    _input(
        "--no-data",
        metavar="VALUE",
        type=Number(float, None),
        help="The value that marks missing data; default: as the file says.",
    ),
    _input(
        "--variable", metavar="NAME", help="Which array of a .mat, .npz, NetCDF, HDF5 or zarr file."
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
        help="PRISMA, EnMAP: the detector to keep where both see the same; default: vnir.",
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
        "order, such as 'y band x'; default: by the values.",
    ),
    # The maximum is more bytes than any machine has.
    _limit(
        "--max-bytes",
        metavar="NUMBER",
        type=click.IntRange(0, 2**62),
        rare=True,
        help="Most bytes of one block or loaded array; default: what the file's size makes likely.",
    ),
)

rank = _model(
    "--rank",
    "-r",
    required=True,
    metavar="NUMBER",
    type=Number(int, 1, "auto"),
    help="Number of materials; 'auto': the number that 'selfdict rank' recommends.",
)
keep_bands = _input(
    "--keep-bands",
    is_flag=True,
    rare=True,
    help="Use all bands, also bad, constant and noisy ones (water vapour).",
)
# numpy's generators take no negative seed.
seed = _model(
    "--seed",
    metavar="NUMBER",
    type=Number(int, 0),
    default=0,
    rare=True,
    help="Seed of everything random; default: 0.",
)
# The threads are really started, up to the limits of the operating system.
threads = _limit(
    "--threads",
    metavar="NUMBER",
    type=click.IntRange(1, 4096),
    help="Largest number of threads; default: all cores.",
)
time_limit = _limit(
    "--time-limit",
    metavar="SECONDS",
    type=Number(float, 0),
    help="fgnsr: for choosing, proving and comparing, after which the best choice so far is taken; "
    "reading and mapping are always done.",
)
force = option("--force", is_flag=True, help="Replace older output.")
quiet = option("--quiet", "-q", is_flag=True, help="No progress, no summary.")
json = option("--json", is_flag=True, help="Print the results as JSON.")
progress_json = option(
    "--progress-json", is_flag=True, rare=True, help="Progress as lines of JSON on standard error."
)

model = options(
    rank,
    _model(
        "--method",
        type=click.Choice(["fgnsr", "spa", "snpa", "xray", "vca", "h2nmf"]),
        default="fgnsr",
        help="How pure pixels are chosen; default: fgnsr.",
    ),
    _model(
        "--candidates",
        metavar="NUMBER",
        type=Number(int, 1, "all", "auto"),
        default="auto",
        help="fgnsr: number of cluster representatives to choose among, or 'all' pixels. 'auto', "
        "the default: all if that is predicted to take at most a minute, or 0.4 of a time limit, "
        "else 500.",
    ),
    _model(
        "--mu",
        metavar="NUMBER",
        type=Number(float, 0, "auto"),
        default="auto",
        rare=True,
        help="fgnsr: the penalty; default: chosen by the program.",
    ),
    _model(
        "--smooth",
        metavar="NUMBER",
        type=Number(float, 0),
        default=0.0,
        rare=True,
        help="fgnsr: let pixels that are nearly alike share their weight: the more, the larger "
        "this multiple of the penalty; default: 0.",
    ),
    _model(
        "--endmembers",
        type=click.Choice(["auto", "pixels", "average"]),
        default="auto",
        help="Pure pixels, or (fgnsr) averages over groups of nearly pure ones; default: averages "
        "where there are groups.",
    ),
    _model(
        "--abundances",
        type=click.Choice(["shares", "unit", "nnls", "fcls"]),
        default="shares",
        help="Parts of each pixel's area (shares, the default); shares relative to spectra of unit "
        "length, as in many published tables (unit); nonnegative coefficients (nnls); or the same "
        "summing to one (fcls).",
    ),
    _model(
        "--library",
        type=_FILE,
        help="fgnsr: find spectra of this library instead of pure pixels.",
    ),
    option(
        "--names",
        type=_FILE,
        help="Look up what the materials are in this library: a USGS, ECOSTRESS or ASTER folder or "
        ".txt, .sli, .npz or .csv.",
    ),
    _model(
        "--prove/--no-prove",
        default=None,
        help="fgnsr: prove how close the groups alone come to the optimum and what leaving one out "
        "costs, however long it takes, or not at all; default: for as long as the fit, "
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
    _limit(
        "--scheduler",
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
