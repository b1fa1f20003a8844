"""The options of the commands, declared once: groups of them, and their way back into words."""

import math
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

if TYPE_CHECKING:
    from selfdict.scene.options import UnmixOptions

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


def check_finite(value: float | None) -> float | None:
    """Refuse nan and inf, which ``float`` also reads: nan is in every range."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"must be a finite number, got {value}")
    return value


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
KeepBands = Annotated[
    bool,
    typer.Option(
        "--keep-bands",
        help="Use all bands, also those marked as bad and those with one value in all pixels.",
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
        callback=check_finite,
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
ProgressJson = Annotated[
    bool,
    typer.Option("--progress-json", help="Progress as lines of JSON on standard error."),
]
OutputFormat = Annotated[
    Format | None,
    typer.Option(help="Default: by the name of the output.", show_default=False),
]

# Settings that the command of a record always names, so that it also repeats the run with a later
# version; the second group only goes with FGNSR.
_ALWAYS = ("method", "abundances", "seed")
_ALWAYS_WITH_FGNSR = ("candidates", "mu", "endmembers")


@dataclass(frozen=True)
class Settings:
    """The options of ``selfdict unmix`` beside those of reading and writing."""

    rank: Rank
    method: Annotated[Method, typer.Option(help="How pure pixels are chosen.")] = Method.FGNSR
    # Text, since 'all' is allowed besides a number.
    candidates: Annotated[
        str,
        typer.Option(
            help="fgnsr: number of cluster representatives to choose among, or 'all' pixels. "
            "'auto': all if that is predicted to take at most a minute, or 0.4 of a time limit, "
            "else 500."
        ),
    ] = "auto"
    mu: Annotated[str, typer.Option(help="fgnsr: the penalty, a number or 'auto'.")] = "auto"
    library: Annotated[
        Path | None,
        typer.Option(
            help="fgnsr: find spectra of this library instead of pure pixels.",
            show_default=False,
        ),
    ] = None
    names: Annotated[
        Path | None,
        typer.Option(
            help="Look up what the materials are in this library: a USGS, ECOSTRESS or ASTER "
            "folder or .txt, .sli, .npz or .csv.",
            show_default=False,
        ),
    ] = None
    endmembers: Annotated[
        Endmembers,
        typer.Option(
            help="Pure pixels, or (fgnsr) averages over groups of nearly pure ones; auto: averages "
            "where there are groups."
        ),
    ] = Endmembers.AUTO
    abundances: Annotated[
        Abundances,
        typer.Option(
            help="Parts of each pixel's area (shares); shares relative to spectra of unit length, "
            "as in many published tables (unit); non-negative coefficients (nnls); or the same "
            "summing to one (fcls)."
        ),
    ] = Abundances.SHARES
    keep_bands: KeepBands = False
    format: Annotated[
        Format | None,
        typer.Option(help="Format of the maps; default: that of the input.", show_default=False),
    ] = None
    time_limit: TimeLimit = None
    seed: Seed = 0
    threads: Threads = None
    compare: Annotated[bool, typer.Option(help="Compare with SPA and VCA in the report.")] = True
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="fgnsr: bound how far the choice is from optimal for all pixels."
        ),
    ] = False
    uncertainty: Annotated[
        bool, typer.Option(help="Map the standard errors of the abundances, too.")
    ] = True
    prove: Annotated[
        bool | None,
        typer.Option(
            help="fgnsr: prove how far the groups suffice and are needed, however long it takes, "
            "or not at all; default: as long as the fit took, at least 5 s.",
            show_default=False,
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a dask scheduler whose workers do it, such as tcp://host:8786.",
            show_default=False,
        ),
    ] = None

    def unmix_options(self) -> "UnmixOptions":
        """Return the same settings as Python has them; libraries are read."""
        from selfdict.scene import read_library
        from selfdict.scene.options import UnmixOptions

        prove: bool | str = "auto"
        if self.prove is not None:
            prove = self.prove
        library = None
        if self.library is not None:
            library = read_library(self.library)
        names = None
        if self.names is not None:
            names = read_library(self.names)
        compare: tuple[str, ...] = ()
        # Pure pixels cannot be compared with the spectra of a library.
        if self.compare and library is None:
            compare = tuple(name for name in ("spa", "vca") if name != self.method)
        return UnmixOptions(
            r=parse_rank(self.rank),
            method=self.method.value,
            candidates=parse_candidates(self.candidates),
            mu=parse_mu(self.mu),
            library=library,
            names=names,
            endmembers=self.endmembers.value,
            abundances=self.abundances.value,
            keep_bands=self.keep_bands,
            check=self.check,
            uncertainty=self.uncertainty,
            prove=prove,
            compare=compare,
            max_seconds=self.time_limit,
            random_state=self.seed,
        )

    def words(self) -> list[str]:
        """Return the words that give these settings on a command line."""
        always: tuple[str, ...] = _ALWAYS
        if self.method is Method.FGNSR:
            always += _ALWAYS_WITH_FGNSR
        return words_of(self, always)


def words_of(group: Any, always: tuple[str, ...] = ()) -> list[str]:
    """Return the words that give a group of options on a command line.

    Options with their default values are left out, unless ``always`` names them.
    """
    words = []
    infos = _infos(type(group))
    for each in fields(group):
        value = getattr(group, each.name)
        info = infos.get(each.name)
        if isinstance(info, ArgumentInfo):
            words.append(str(value))
        if not isinstance(info, OptionInfo):
            continue
        if value is None or (value == each.default and each.name not in always):
            continue
        option = _option_name(each.name, info)
        if value is True:
            words.append(option)
        elif value is False:
            words.append(f"--no-{option[2:]}")
        else:
            words += [option, str(value)]
    return words


def _option_name(name: str, info: OptionInfo) -> str:
    """Return the long name of an option."""
    # typer keeps the first name that an annotation gives as the default.
    for given in (info.default, *(info.param_decls or ())):
        if isinstance(given, str) and given.startswith("--"):
            return given
    return f"--{name.replace('_', '-')}"


def _infos(group: type) -> dict[str, ArgumentInfo | OptionInfo]:
    """Return what typer needs to know of the fields of a group that are options."""
    found = {}
    for name, hint in get_type_hints(group, include_extras=True).items():
        for info in getattr(hint, "__metadata__", ()):
            if isinstance(info, ArgumentInfo | OptionInfo):
                found[name] = info
    return found


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses, whose fields become options of the command."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for parameter in signature(command).parameters.values():
        if parameter.name not in groups:
            kind = Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(kind=kind, annotation=hints[parameter.name]))
            continue
        parameters += _parameters(groups[parameter.name])

    @wraps(command)
    def flat(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each: values.pop(each) for each in _infos(group)})
        command(**values)

    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer looks for it
    flat.__annotations__ = {each.name: each.annotation for each in parameters}
    return flat


def _parameters(group: Any) -> list[Parameter]:
    """Return the fields of a group that are options, as parameters of a function."""
    hints = get_type_hints(group, include_extras=True)
    infos = _infos(group)
    parameters = []
    for each in fields(group):
        if each.name not in infos:
            continue
        default = each.default
        if default is MISSING:
            default = Parameter.empty
        parameters.append(
            Parameter(
                each.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[each.name]
            )
        )
    return parameters


def default_output(file: Path) -> Path:
    """Return the folder that the outputs for a file are written to by default.

    Examples
    --------
    >>> default_output(Path("flights/scene.hdr")).name
    'scene-unmixed'
    """
    # Absolute, since a path such as "." has no name.
    return Path(f"{file.absolute().stem}-unmixed")


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
