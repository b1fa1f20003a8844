"""Arguments and options that several commands share, and the parsers of their values."""

import math
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

# Enumerations, since typer shows their values in --help and refuses any other value.


class Method(StrEnum):
    """The method that selects the pure pixels."""

    FGNSR = "fgnsr"
    SPA = "spa"
    SNPA = "snpa"
    XRAY = "xray"
    VCA = "vca"
    H2NMF = "h2nmf"


class Abundances(StrEnum):
    """How abundances are computed."""

    SHARES = "shares"
    UNIT = "unit"
    NNLS = "nnls"
    FCLS = "fcls"


class Endmembers(StrEnum):
    """What the endmembers are."""

    AUTO = "auto"
    PIXELS = "pixels"
    AVERAGE = "average"


class Overlap(StrEnum):
    """The detector whose bands are kept where two see the same wavelengths."""

    VNIR = "vnir"
    SWIR = "swir"
    BOTH = "both"


class Format(StrEnum):
    """The file format of the maps."""

    ENVI = "envi"
    GEOTIFF = "geotiff"
    NETCDF = "netcdf"
    ZARR = "zarr"


def _check_finite(value: float | None) -> float | None:
    # ``float`` also reads nan and inf, and nan is in every range.
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"must be a finite number, got {value}")
    return value


File = Annotated[
    Path,
    typer.Argument(
        help="ENVI, GeoTIFF, MATLAB, NetCDF, HDF5, zarr or NumPy file.", show_default=False
    ),
]
# Text, since 'auto' is allowed besides a number.
Rank = Annotated[
    str,
    typer.Option(
        "--rank",
        "-r",
        help="Number of materials; 'auto': the number that 'selfdict rank' recommends.",
        show_default=False,
    ),
]
Bands = Annotated[
    str | None,
    typer.Option(help="Bands to use, such as 1-103,109-149 (counted from 1).", show_default=False),
]
# A flag is given by its full name: typer would otherwise add a second one with --no-.
DropBad = Annotated[
    bool, typer.Option("--drop-bad-bands", help="Leave out bands the file marks as bad.")
]
KeepBands = Annotated[
    bool,
    typer.Option(
        "--keep-bands",
        help="Use all bands, also those marked as bad and those with one value in all pixels.",
    ),
]
NoData = Annotated[
    float | None,
    typer.Option(
        "--no-data",
        callback=_check_finite,
        help="The value that marks missing data; default: as the file says.",
        show_default=False,
    ),
]
Mask = Annotated[
    Path | None,
    typer.Option(help="File with one band; pixels not 0 are left out.", show_default=False),
]
Roi = Annotated[
    str | None,
    typer.Option(
        help="Rows and columns to use, such as 10:60,20:80 (counted from 0).", show_default=False
    ),
]
Names = Annotated[
    Path | None,
    typer.Option(
        help="Look up what the materials are in this library: a USGS, ECOSTRESS or ASTER folder or "
        ".txt, .sli, .npz or .csv.",
        show_default=False,
    ),
]
Variable = Annotated[
    str | None,
    typer.Option(
        help="Which array of a .mat, .npz, NetCDF, HDF5 or zarr file.", show_default=False
    ),
]
Layout = Annotated[
    str | None,
    typer.Option(
        help="Axes of a plain array (.mat, .npy, .npz, HDF5): bands-first, bands-last, or their "
        "order, such as 'y band x'; default: by the values.",
        show_default=False,
    ),
]
# More bytes than any machine has; typer refuses a negative number.
MaxBytes = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=2**62,
        help="Most bytes of one block or loaded array; default: what the file's size makes likely.",
        show_default=False,
    ),
]
KeptDetector = Annotated[
    Overlap | None,
    typer.Option(
        "--overlap",
        help="PRISMA, EnMAP: the detector to keep where both see the same; default: vnir.",
        show_default=False,
    ),
]
Shape = Annotated[
    str | None,
    typer.Option(
        help="Rows and columns, such as 100,150, of a matrix of bands and pixels (.mat, .npz).",
        show_default=False,
    ),
]
# Text, since 'all' is allowed besides a number.
Candidates = Annotated[
    str,
    typer.Option(
        help="fgnsr: number of cluster representatives to choose among, or 'all' pixels. 'auto': "
        "all if that is predicted to take at most a minute, or 0.4 of a time limit, else 500."
    ),
]
# numpy's generators take no negative seed.
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
# The maximum is more than any machine has: the threads are really started, up to the limits of the
# operating system.
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, max=4096, help="Largest number of threads; default: all cores.", show_default=False
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        callback=_check_finite,
        help="fgnsr: seconds for choosing, proving and comparing, after which the best choice so "
        "far is taken; reading and mapping are always done.",
        show_default=False,
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")]
# None: see default_output
OutputOrDefault = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Folder to write; default: the name of the file and '-unmixed', in the current "
        "folder.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace older output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def default_output(file: Path) -> Path:
    """Return the folder that the outputs for a file are written to by default.

    Examples
    --------
    >>> default_output(Path("flights/scene.hdr")).name
    'scene-unmixed'
    """
    # Absolute, since a path such as "." has no name.
    return Path(f"{file.absolute().stem}-unmixed")


def format_name(format: Format | None) -> str | None:
    if format is None:
        return None
    return format.value


def parse_rank(text: str) -> int | str:
    """Return the number of materials, or "auto"."""
    if text == "auto":
        return text
    # At most 18 digits: more than there are pixels, and Python refuses to convert thousands.
    if re.fullmatch("[0-9]{1,18}", text) is None or int(text) < 1:
        raise typer.BadParameter(
            f"must be a positive number or 'auto', got {text!r}", param_hint="--rank"
        )
    return int(text)


def parse_candidates(text: str) -> int | str | None:
    """Return the number of candidates; None: all pixels; "auto": as many as take a minute."""
    if text == "auto":
        return text
    if text == "all":
        return None
    # At most 18 digits: more than there are pixels, and Python refuses to convert thousands.
    if re.fullmatch("[0-9]{1,18}", text) is None or int(text) < 1:
        raise typer.BadParameter(
            f"must be a positive number, 'all' or 'auto', got {text!r}", param_hint="--candidates"
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
        raise typer.BadParameter(
            f"must be a number that is not negative, or 'auto', got {text!r}", param_hint="--mu"
        )
    return mu
