"""The options of the commands: each is declared once, with its panel in the help.

The lists have the order in which the help shows them.
"""

import shlex
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from selfdict.cli.console import Argument, Number, Option

FORMATS = ("envi", "geotiff", "netcdf", "zarr")
_FILE = click.Path(path_type=Path)
_input = partial(Option, panel="Input")
_model = partial(Option, panel="Model")
_limit = partial(Option, panel="Limits")

READING = [
    Argument("file", "ENVI, GeoTIFF, MATLAB, NetCDF, HDF5, zarr or NumPy file."),
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
    help="Use all bands, also bad, constant and noisy ones (water vapour).",
)
# numpy's generators take no negative seed.
_SEED = _model(
    "--seed",
    type=Number(int, 0),
    default=0,
    rare=True,
    help="Seed of everything random; default: 0.",
)
# The threads are really started, up to the limits of the operating system.
_THREADS = _limit(
    "--threads",
    metavar="NUMBER",
    type=click.IntRange(1, 4096),
    help="Largest number of threads; default: all cores.",
)
_TIME_LIMIT = _limit(
    "--time-limit",
    metavar="SECONDS",
    type=Number(float, 0),
    help="fgnsr: for choosing, proving and comparing, after which the best choice so far is taken; "
    "reading and mapping are always done.",
)
_FORCE = Option("--force", is_flag=True, help="Replace older output.")
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
        help="Folder to write; default: selfdict-demo.",
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
        default="fgnsr",
        help="How pure pixels are chosen; default: fgnsr.",
    ),
    _model(
        "--candidates",
        type=Number(int, 1, "all", "auto"),
        default="auto",
        help="fgnsr: number of cluster representatives to choose among, or 'all' pixels. 'auto', "
        "the default: all if that is predicted to take at most a minute, or 0.4 of a time limit, "
        "else 500.",
    ),
    _model(
        "--mu",
        type=Number(float, 0, "auto"),
        default="auto",
        rare=True,
        help="fgnsr: the penalty; default: chosen by the program.",
    ),
    _model(
        "--smooth",
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
        "--library", type=_FILE, help="fgnsr: find spectra of this library instead of pure pixels."
    ),
    Option(
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
    _SEED,
    _KEEP_BANDS,
    Option(
        "--compare/--no-compare",
        default=True,
        help="Compare with SPA and VCA in the report; default: compare.",
    ),
    Option(
        "--uncertainty/--no-uncertainty",
        default=True,
        rare=True,
        help="Map the standard errors of the abundances, too; default: map them.",
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
        help="A dask scheduler whose workers do it, such as tcp://host:8786.",
    ),
    Option(
        "--output",
        "-o",
        type=_FILE,
        help="Folder to write; default: the name of the file and '-unmixed', in the current "
        "folder.",
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
    Argument("output", "File to write."),
    Option("--format", type=click.Choice(FORMATS), help="Default: by the name of the output."),
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
        help="Draw each spectrum beside the nearest one to this file (.png, .pdf, .svg).",
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
            words.append(str(value))
        elif value is True:
            words.append(parameter.opts[0])
        elif value is False:
            words.append(parameter.secondary_opts[0])
        else:
            words += [parameter.opts[0], str(value)]
    return shlex.join([*words, "--output", "OUTPUT"])
