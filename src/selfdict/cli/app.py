"""The commands: their names, their options, and what they print."""

from pathlib import Path
from typing import Annotated

import typer

from selfdict import __version__
from selfdict.cli.console import (
    ProgressBars,
    handle_errors,
    print_json,
    print_line,
    print_table,
)
from selfdict.cli.convert import convert
from selfdict.cli.identify import identify
from selfdict.cli.info import info
from selfdict.cli.options import (
    Abundances,
    Bands,
    Candidates,
    DropBad,
    Endmembers,
    File,
    Force,
    Format,
    Json,
    KeepBands,
    KeptDetector,
    Layout,
    Mask,
    MaxBytes,
    Method,
    Names,
    NoData,
    Output,
    OutputOrDefault,
    Quiet,
    Rank,
    Roi,
    Seed,
    Shape,
    Threads,
    TimeLimit,
    Variable,
    default_output,
    format_name,
    parse_candidates,
    parse_mu,
    parse_rank,
)
from selfdict.cli.rank import rank
from selfdict.cli.source import Source
from selfdict.cli.summary import print_run

# What the commands need is imported inside them: --help and errors in the usage would otherwise
# wait for numpy, xarray and numba.

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    # A defect is shown as Python shows it, so that a bug report contains the plain traceback.
    pretty_exceptions_enable=False,
    help="Find the pure pixels of a hyperspectral scene, and how much of each every pixel holds.",
    epilog="Exit codes: 0 fine, 1 a defect of the program, 2 bad input or usage, 130 interrupted.",
)


# Without a command, so that ``selfdict --version`` is complete.
@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        print_line(f"selfdict {__version__}")
        raise typer.Exit


@app.command()
@handle_errors
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
    from selfdict.cli.folder import output_folder
    from selfdict.cli.run import Request, unmix_into
    from selfdict.scene import write_scene

    with output_folder(output, force=force) as folder, ProgressBars(quiet or json) as bars:
        scene, r, title = demo_scene(real)
        path = write_scene(scene, folder / "scene.hdr")
        # The record and the report name the final path, not that of the temporary folder.
        source = Source(path, drop_bad_bands=True, name=str(output / path.name))
        # Fewer candidates than by default, so that the demo takes seconds.
        request = Request(source, r, candidates=100)
        record = unmix_into(folder, source.read(), request, bars, title=title)
    print_run(record, output, quiet, json)


@app.command()
@handle_errors
def unmix(
    file: File,
    rank: Rank,
    output: OutputOrDefault = None,
    method: Annotated[Method, typer.Option(help="How pure pixels are chosen.")] = Method.FGNSR,
    candidates: Candidates = "auto",
    mu: Annotated[str, typer.Option(help="fgnsr: the penalty, a number or 'auto'.")] = "auto",
    library: Annotated[
        Path | None,
        typer.Option(
            help="fgnsr: find spectra of this library instead of pure pixels.",
            show_default=False,
        ),
    ] = None,
    names: Names = None,
    endmembers: Annotated[
        Endmembers,
        typer.Option(
            help="Pure pixels, or (fgnsr) averages over groups of nearly pure ones; auto: averages "
            "where there are groups."
        ),
    ] = Endmembers.AUTO,
    abundances: Annotated[
        Abundances,
        typer.Option(
            help="Parts of each pixel's area (shares); shares relative to spectra of unit length, "
            "as in many published tables (unit); non-negative coefficients (nnls); or the same "
            "summing to one (fcls)."
        ),
    ] = Abundances.SHARES,
    bands: Bands = None,
    drop_bad_bands: DropBad = False,
    keep_bands: KeepBands = False,
    mask: Mask = None,
    no_data: NoData = None,
    roi: Roi = None,
    variable: Variable = None,
    overlap: KeptDetector = None,
    shape: Shape = None,
    layout: Layout = None,
    max_bytes: MaxBytes = None,
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
    uncertainty: Annotated[
        bool, typer.Option(help="Map the standard errors of the abundances, too.")
    ] = True,
    prove: Annotated[
        bool | None,
        typer.Option(
            help="fgnsr: prove how far the groups suffice and are needed, however long it takes, "
            "or not at all; default: as long as the fit took, at least 5 s.",
            show_default=False,
        ),
    ] = None,
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
    from selfdict.cli.folder import output_folder
    from selfdict.cli.run import Request, unmix_into

    if library is not None:
        _require_fgnsr(method, "--library")
    if check:
        _require_fgnsr(method, "--check")
    if prove:
        _require_fgnsr(method, "--prove")
    if endmembers is Endmembers.AVERAGE:
        _require_fgnsr(method, "--endmembers average")
    proof: bool | str = "auto"
    if prove is not None:
        proof = prove
    if output is None:
        output = default_output(file)
    path = file
    # The workers of a cluster may have another working directory.
    if scheduler is not None:
        path = file.absolute()
    request = Request(
        # The record names the file as it was given.
        source=Source(
            path,
            bands=bands,
            drop_bad_bands=drop_bad_bands,
            mask=mask,
            roi=roi,
            variable=variable,
            overlap=overlap,
            shape=shape,
            layout=layout,
            max_bytes=max_bytes,
            name=str(file),
            nodata=no_data,
        ),
        r=parse_rank(rank),
        method=method.value,
        candidates=parse_candidates(candidates),
        mu=parse_mu(mu),
        library=library,
        names=names,
        endmembers=endmembers.value,
        abundances=abundances.value,
        format=format_name(format),
        time_limit=time_limit,
        seed=seed,
        threads=threads,
        compare=compare,
        check=check,
        uncertainty=uncertainty,
        prove=proof,
        scheduler=scheduler,
        keep_bands=keep_bands,
    )
    # Before the output folder is made: a file that cannot be read leaves no trace.
    scene = request.source.read()
    outputs = output_folder(output, force=force, inputs=request.inputs())
    with outputs as folder, ProgressBars(quiet or json) as bars:
        record = unmix_into(folder, scene, request, bars, title=file.name)
    print_run(record, output, quiet, json)


@app.command()
@handle_errors
def compare(
    file: File,
    rank: Rank,
    bands: Bands = None,
    drop_bad_bands: DropBad = False,
    keep_bands: KeepBands = False,
    mask: Mask = None,
    no_data: NoData = None,
    roi: Roi = None,
    variable: Variable = None,
    overlap: KeptDetector = None,
    shape: Shape = None,
    layout: Layout = None,
    max_bytes: MaxBytes = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run every method on a scene, side by side."""
    from selfdict.cli.record import method_record
    from selfdict.cli.run import Request, compare_methods

    request = Request(
        source=Source(
            file,
            bands=bands,
            drop_bad_bands=drop_bad_bands,
            mask=mask,
            roi=roi,
            variable=variable,
            overlap=overlap,
            shape=shape,
            layout=layout,
            max_bytes=max_bytes,
            nodata=no_data,
        ),
        r=parse_rank(rank),
        time_limit=time_limit,
        seed=seed,
        threads=threads,
        keep_bands=keep_bands,
    )
    with ProgressBars(quiet or json) as bars:
        results = compare_methods(request.source.read(), request, bars)
    # JSON has all digits, the table below is for people.
    if json:
        methods = [method_record(result) for result in results]
        r = len(results[0].pixels)
        print_json({"input": str(file), "r": r, "methods": methods})
        return
    smallest_error = min(result.error for result in results)
    rows = []
    for result in results:
        mark = ""
        if result.error == smallest_error:
            mark = "best"
        rows.append((result.method, f"{100 * result.error:.2f}", mark, f"{result.seconds:.2f}"))
    print_table(("method", "relative error, %", "", "seconds"), rows, right=(1, 3))


app.command()(rank)
app.command()(info)
app.command()(convert)
app.command()(identify)


def _require_fgnsr(method: Method, option: str) -> None:
    if method is not Method.FGNSR:
        raise typer.BadParameter(f"goes with --method fgnsr, got {method.value}", param_hint=option)
