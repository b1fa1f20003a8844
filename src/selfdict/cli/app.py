"""The commands: their names, their options, and what they print."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfdict import __version__
from selfdict._display import plain
from selfdict.cli.console import ProgressBars, handle_errors, print_json, print_line
from selfdict.cli.identify import identify
from selfdict.cli.options import (
    Force,
    Json,
    KeepBands,
    Output,
    OutputFormat,
    OutputOrDefault,
    ProgressJson,
    Quiet,
    Rank,
    Seed,
    Settings,
    Threads,
    TimeLimit,
    default_output,
    parse_rank,
    with_groups,
)
from selfdict.cli.source import Source, library_files
from selfdict.cli.summary import print_advice, print_comparison, print_facts, print_run
from selfdict.compute.threads import thread_limit

if TYPE_CHECKING:
    import xarray as xr

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


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command, in which groups of options are objects."""
    return app.command()(handle_errors(with_groups(function)))


@_command
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
    from selfdict.cli.folder import output_folder
    from selfdict.cli.run import unmix_into
    from selfdict.scene import write_scene

    with output_folder(output, force=force) as folder, ProgressBars(quiet or json) as bars:
        scene, r, title = demo_scene(real)
        path = write_scene(scene, folder / "scene.hdr")
        # The record and the report name the final path, not that of the temporary folder.
        source = Source(path, drop_bad_bands=True, name=str(output / path.name))
        # Fewer candidates than by default, so that the demo takes seconds.
        settings = Settings(str(r), candidates="100")
        options = settings.unmix_options()
        record = unmix_into(folder, source, source.read(), settings, options, bars, title=title)
    print_run(record, output, quiet, json)


def demo_scene(real: bool) -> "tuple[xr.DataArray, int, str]":
    """Return a scene, its number of materials, and its title."""
    if real:
        from selfdict.datasets import load_indian_pines

        return load_indian_pines(), 8, "Indian Pines (AVIRIS, 1992)"
    from selfdict.datasets import make_scene

    scene = make_scene(shape=(100, 100), n_endmembers=6, random_state=1).scene
    return scene, 6, "A generated scene"


@_command
def unmix(
    settings: Settings,
    source: Source,
    output: OutputOrDefault = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    progress_json: ProgressJson = False,
) -> None:
    """Find pure pixels and abundances; write maps, spectra and a report."""
    from selfdict.cli.folder import output_folder
    from selfdict.cli.run import unmix_into

    options = settings.unmix_options()
    title = source.file.name
    if output is None:
        output = default_output(source.file)
    # The workers of a cluster may have another working directory.
    if settings.scheduler is not None:
        source = replace(source, file=source.file.absolute(), name=str(source.file))
    # Before the output folder is made: a file that cannot be read leaves no trace.
    scene = source.read()
    inputs = [
        *source.files(),
        *library_files(settings.library),
        *library_files(settings.names),
    ]
    outputs = output_folder(output, force=force, inputs=inputs)
    with outputs as folder, ProgressBars(quiet or json, lines=progress_json) as bars:
        record = unmix_into(folder, source, scene, settings, options, bars, title=title)
    print_run(record, output, quiet, json)


@_command
def compare(
    rank: Rank,
    source: Source,
    keep_bands: KeepBands = False,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run every method on a scene, side by side."""
    from selfdict.cli.record import method_record
    from selfdict.cli.run import look_at, run_unmix
    from selfdict.report.comparison import own_row
    from selfdict.scene.options import METHODS, UnmixOptions

    # The paper's two variants of FGNSR, and all other methods. Pure pixels and nonnegative
    # coefficients have the errors that can be compared.
    others = [name for name in METHODS if name != "fgnsr"]
    options = UnmixOptions(
        r=parse_rank(rank),
        candidates=500,
        endmembers="pixels",
        abundances="nnls",
        keep_bands=keep_bands,
        uncertainty=False,
        compare=(*others, "fgnsr-100"),
        max_seconds=time_limit,
        random_state=seed,
    )
    with ProgressBars(quiet or json) as bars, thread_limit(threads):
        scene, look = look_at(source.read(), keep_bands, bars)
        result = run_unmix(source, scene, options, look, bars)
        if result.rank_advice is not None:
            bars.print_notes([result.rank_advice.reason])
        bars.print_notes([*result.notes, *result.skipped])
    results = [*result.comparison, own_row(result)]
    # JSON has all digits, the table is for people.
    if json:
        methods = [method_record(each) for each in results]
        print_json({"input": str(source.file), "r": len(result.pixels), "methods": methods})
        return
    print_comparison(results)


@_command
def rank(
    source: Source,
    maximum: Annotated[
        int, typer.Option("--max", min=1, help="Largest number of materials to recommend.")
    ] = 20,
    keep_bands: KeepBands = False,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
    progress_json: ProgressJson = False,
) -> None:
    """Recommend how many materials to look for, and show what each further one explains."""
    from selfdict.cli.record import rank_record
    from selfdict.cli.run import look_at, naming_the_file
    from selfdict.scene import advise_rank

    bars = ProgressBars(quiet or json, lines=progress_json)
    with bars, thread_limit(threads):
        scene, look = look_at(source.read(), keep_bands, bars)
        with naming_the_file(source):
            advice = advise_rank(
                scene,
                maximum,
                keep_bands=keep_bands,
                preflight=look,
                random_state=seed,
                progress=bars.steps(),
            )
    if json:
        print_json({"file": source.label, "preflight": look.sentences} | rank_record(advice))
        return
    print_advice(advice)


@_command
def info(source: Source, json: Json = False) -> None:
    """Say what a file holds, what is assumed about it, and what seems wrong with it."""
    from selfdict.cli.describe import describe

    facts = describe(source)
    if json:
        print_json(facts)
        return
    print_facts(facts)


@_command
def convert(
    source: Source,
    output: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    format: OutputFormat = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a scene in another format; the name of the output says which."""
    from selfdict.scene import write_scene
    from selfdict.scene.files import files_of
    from selfdict.scene.metadata import notes_of
    from selfdict.scene.staging import check_free

    scene = source.read()
    targets = files_of(output, format)
    check_free(targets, overwrite=force, inputs=source.files(), option="--force")
    write_scene(scene, output, format, overwrite=force)
    if quiet:
        return
    for note in notes_of(scene):
        # Not to standard output: scripts take the name of the file from there.
        typer.echo(f"note: {plain(note)}", err=True)
    print_line(str(output))


app.command()(identify)
