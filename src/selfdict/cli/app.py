"""The commands: what they are called, their options, and what they print."""

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from selfdict import __version__
from selfdict.cli.console import Bars, ends_well, say, say_json, say_table
from selfdict.cli.reproduce import reproduce
from selfdict.cli.source import Source
from selfdict.compute.threads import thread_limit

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find the pure pixels of a hyperspectral scene, and how much of each every pixel holds.",
    epilog="Exit codes: 0 fine, 1 a defect of the program, 2 bad input or usage, 130 interrupted.",
)


class Method(StrEnum):
    """How pure pixels are chosen."""

    FGNSR = "fgnsr"
    SPA = "spa"
    SNPA = "snpa"
    XRAY = "xray"
    VCA = "vca"
    H2NMF = "h2nmf"


class Abundances(StrEnum):
    """How shares are computed."""

    NNLS = "nnls"
    FCLS = "fcls"


class Format(StrEnum):
    """What maps are written as."""

    ENVI = "envi"
    GEOTIFF = "geotiff"
    NETCDF = "netcdf"
    ZARR = "zarr"


File = Annotated[
    Path,
    typer.Argument(help="ENVI, GeoTIFF, MATLAB, NetCDF, zarr or NumPy file.", show_default=False),
]
Rank = Annotated[
    int, typer.Option("--rank", "-r", min=1, help="Number of materials.", show_default=False)
]
Bands = Annotated[
    str | None,
    typer.Option(help="Bands to use, such as 1-103,109-149 (counted from 1).", show_default=False),
]
DropBad = Annotated[
    bool, typer.Option("--drop-bad-bands", help="Leave out bands the file marks as bad.")
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
Variable = Annotated[
    str | None,
    typer.Option(help="Which array of a .mat, .npz, NetCDF or zarr file.", show_default=False),
]
Candidates = Annotated[
    str, typer.Option(help="fgnsr: choose among so many cluster representatives, or 'all' pixels.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="At most so many threads; default: all cores.", show_default=False),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(min=0.0, help="fgnsr: stop the solver after so many seconds.", show_default=False),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace older output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        say(f"selfdict {__version__}")
        raise typer.Exit


@app.command()
@ends_well
def demo(
    output: Output = Path("selfdict-demo"),
    real: Annotated[
        bool, typer.Option("--real", help="The real Indian Pines scene (needs tensorly).")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Unmix a scene that comes with the program, and write a report."""
    from selfdict.cli.demo import demo_scene
    from selfdict.cli.folder import whole_folder
    from selfdict.cli.run import Request, unmix_into
    from selfdict.scene import write_scene

    with whole_folder(output, force=force) as folder, Bars(quiet or json) as bars:
        scene, r, title = demo_scene(real)
        path = write_scene(scene, folder / "scene.hdr")
        source = Source(path, drop_bad_bands=True, name=str(output / path.name))
        record = unmix_into(
            folder, source.read(), Request(source, r, candidates=100), bars, title=title
        )
    _say_run(record, output, quiet, json)


@app.command()
@ends_well
def unmix(
    file: File,
    rank: Rank,
    output: Output,
    method: Annotated[Method, typer.Option(help="How pure pixels are chosen.")] = Method.FGNSR,
    candidates: Candidates = "500",
    mu: Annotated[str, typer.Option(help="fgnsr: the penalty, a number or 'auto'.")] = "auto",
    library: Annotated[
        Path | None,
        typer.Option(
            help="fgnsr: find spectra of this library (.sli, .npz, .csv) instead of pure pixels.",
            show_default=False,
        ),
    ] = None,
    abundances: Annotated[
        Abundances, typer.Option(help="Non-negative shares, or shares that also sum to one (fcls).")
    ] = Abundances.NNLS,
    bands: Bands = None,
    drop_bad_bands: DropBad = False,
    mask: Mask = None,
    roi: Roi = None,
    variable: Variable = None,
    format: Annotated[
        Format | None,
        typer.Option(help="Format of the maps; default: that of the input.", show_default=False),
    ] = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    threads: Threads = None,
    compare: Annotated[bool, typer.Option(help="Compare with SPA and VCA in the report.")] = True,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="fgnsr: bound how far the choice is from optimal for all pixels."
        ),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a dask scheduler whose workers do it, such as tcp://host:8786.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find pure pixels and abundances; write maps, spectra and a report."""
    from selfdict.cli.folder import whole_folder
    from selfdict.cli.run import Request, unmix_into

    for option, given in (("--library", library is not None), ("--check", check)):
        if given and method is not Method.FGNSR:
            raise typer.BadParameter(
                f"goes with --method fgnsr, got {method.value}", param_hint=option
            )
    path = file if scheduler is None else file.absolute()  # workers may have started elsewhere
    request = Request(
        source=Source(path, bands, drop_bad_bands, mask, roi, variable, str(file)),
        r=rank,
        method=method.value,
        candidates=_parse_candidates(candidates),
        mu=_parse_mu(mu),
        library=library,
        abundances=abundances.value,
        format=None if format is None else format.value,
        time_limit=time_limit,
        seed=seed,
        threads=threads,
        compare=compare,
        check=check,
        scheduler=scheduler,
    )
    scene = request.source.read()
    with whole_folder(output, force=force) as folder, Bars(quiet or json) as bars:
        record = unmix_into(folder, scene, request, bars, title=file.name)
    _say_run(record, output, quiet, json)


@app.command()
@ends_well
def compare(
    file: File,
    rank: Rank,
    bands: Bands = None,
    drop_bad_bands: DropBad = False,
    mask: Mask = None,
    roi: Roi = None,
    variable: Variable = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run every method on a scene, side by side."""
    from selfdict.cli.run import Request, compare_methods

    request = Request(
        source=Source(file, bands, drop_bad_bands, mask, roi, variable),
        r=rank,
        time_limit=time_limit,
        seed=seed,
        threads=threads,
    )
    with Bars(quiet or json) as bars:
        results = compare_methods(request.source.read(), request, bars)
    lines = [{"method": x.method, "relative_error": x.error, "seconds": x.seconds} for x in results]
    if json:
        say_json({"input": str(file), "r": rank, "methods": lines})
        return
    best = min(x.error for x in results)
    rows = [
        (x.method, f"{100 * x.error:.2f}", "best" if x.error == best else "", f"{x.seconds:.2f}")
        for x in results
    ]
    say_table(("method", "relative error, %", "", "seconds"), rows, right=(1, 3))


@app.command()
@ends_well
def rank(
    file: File,
    maximum: Annotated[
        int, typer.Option("--max", min=1, help="Largest number of materials to suggest.")
    ] = 20,
    bands: Bands = None,
    drop_bad_bands: DropBad = False,
    mask: Mask = None,
    roi: Roi = None,
    variable: Variable = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Suggest how many materials a scene holds, in two ways."""
    from selfdict.cli.describe import suggest_ranks

    with thread_limit(threads):
        ranks = suggest_ranks(Source(file, bands, drop_bad_bands, mask, roi, variable), maximum)
    if json:
        say_json(ranks)
        return
    rows = [
        (
            "noise (HySime)",
            str(ranks["hysime"]),
            "directions in which there is more signal than noise",
        ),
        ("elbow", str(ranks["elbow"]), "where a further pure pixel stops helping much"),
    ]
    say_table(("way", "materials", "what it counts"), rows, right=(1,))
    curve = zip(ranks["errors"], ranks["limits"])
    rows = [
        (str(r), f"{100 * error:.2f}", f"{100 * limit:.2f}")
        for r, (error, limit) in enumerate(curve, start=1)
    ]
    say_table(("pure pixels", "relative error, %", "none is below"), rows, right=(0, 1, 2))


@app.command()
@ends_well
def info(file: File, variable: Variable = None, json: Json = False) -> None:
    """Say what a file holds."""
    from selfdict.cli.describe import describe

    facts = describe(Source(file, variable=variable))
    if json:
        say_json(facts)
    else:
        say_table(
            ("", ""), [(name.replace("_", " "), _in_words(value)) for name, value in facts.items()]
        )


@app.command()
@ends_well
def convert(
    file: File,
    output: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    bands: Bands = None,
    drop_bad_bands: DropBad = False,
    mask: Mask = None,
    roi: Roi = None,
    variable: Variable = None,
    format: Annotated[
        Format | None, typer.Option(help="Default: by the name of the output.", show_default=False)
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a scene in another format; the name of the output says which."""
    from selfdict.scene import write_scene

    scene = Source(file, bands, drop_bad_bands, mask, roi, variable).read()
    path = write_scene(scene, output, None if format is None else format.value, overwrite=force)
    if not quiet:
        say(str(path))


app.command()(reproduce)


def _parse_candidates(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise typer.BadParameter(
            f"must be a positive number or 'all', got {text!r}", param_hint="--candidates"
        )
    return int(text)


def _parse_mu(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        mu = float(text)
    except ValueError:
        mu = math.nan
    if not 0 <= mu < math.inf:
        raise typer.BadParameter(
            f"must be a number that is not negative, or 'auto', got {text!r}", param_hint="--mu"
        )
    return mu


def _say_run(record: dict[str, Any], output: Path, quiet: bool, json: bool) -> None:
    if json:
        say_json(record)
    elif not quiet:
        from selfdict.report.words import percent, seconds

        gap = "" if record["gap"] is None else f", certified gap {percent(record['gap'])}"
        what = "pure pixels" if record["library"] is None else "spectra of the library"
        say(
            f"{len(record['pure_pixels'])} {what} in {seconds(record['seconds']['total'])}, "
            f"relative error {percent(record['relative_error'])}{gap}"
        )
        if record["check"] is not None:
            say(
                f"for all pixels the solution is at most {percent(record['check']['gap'])} above the optimum"
            )
        if record["status"] not in (None, "converged", "exact"):
            say(record["status_in_words"])
        if record["library"] is not None:
            say(", ".join(pixel["name"] for pixel in record["pure_pixels"]))
        say(str(output / "report.html"))


def _in_words(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
