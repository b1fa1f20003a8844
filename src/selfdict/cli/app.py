"""The commands: their names, their options, and what they print."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from selfdict import __version__
from selfdict._display import plain
from selfdict.cli import BEGAN, options
from selfdict.cli.console import (
    Command,
    ProgressLine,
    in_command_words,
    print_json,
    print_line,
)
from selfdict.cli.source import Source, describe, input_files, print_facts

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Identification

# What the commands need is imported inside them: --help and errors in the usage would otherwise
# wait for numpy, xarray and numba.


@click.group(
    name="selfdict",
    context_settings={"max_content_width": 100, "help_option_names": ["--help", "-h"]},
    epilog="Exit codes: 0 fine, 1 a defect of the program, 2 bad input or usage, 130 interrupted.",
)
@click.version_option(__version__, message="selfdict %(version)s")
def app() -> None:
    """Find the pure pixels of a hyperspectral scene, and the share of each in every pixel."""


@app.command(cls=Command, params=options.DEMO)
@click.pass_context
def demo(
    ctx: click.Context, output: Path, real: bool, force: bool, quiet: bool, json: bool
) -> None:
    """Unmix a scene that comes with the program, and write a report."""
    from selfdict.cli.record import print_run
    from selfdict.cli.run import Run, output_folder, unmix_into
    from selfdict.scene.options import UnmixOptions
    from selfdict.scene.unmixing import Stages
    from selfdict.scene.write import write_scene

    with output_folder(output, force=force) as folder, ProgressLine(quiet or json) as line:
        scene, r, title = demo_scene(real)
        path = write_scene(scene, folder / "scene.hdr")
        # The record and the report name the final path, not that of the temporary folder.
        source = Source(path, drop_bad_bands=True, name=str(output / path.name))
        # Fewer candidates than by default, so that the demo takes seconds.
        settings = UnmixOptions(
            r=r, candidates=100, prove="auto", compare=("spa", "vca"), random_state=0
        )
        run = Run(source, settings, title=title, command=options.repeated_command(ctx))
        result, record = unmix_into(folder, run, source.read(), line, Stages())
    print_run(result, record, output, quiet, json)


def demo_scene(real: bool) -> "tuple[xr.DataArray, int, str]":
    """Return a scene, its number of materials, and its title."""
    if real:
        from selfdict.datasets import load_indian_pines

        return load_indian_pines(), 8, "Indian Pines (AVIRIS, 1992)"
    from selfdict.datasets import make_scene

    scene = make_scene(shape=(100, 100), n_endmembers=6, random_state=1).scene
    return scene, 6, "A generated scene"


@app.command(cls=Command, params=options.UNMIX)
@click.pass_context
def unmix(
    ctx: click.Context,
    /,
    output: Path | None,
    force: bool,
    quiet: bool,
    json: bool,
    progress_json: bool,
    profile: bool,
    **given: Any,
) -> None:
    """Find pure pixels and abundances; write maps, spectra and a report."""
    source = Source(**{str(each.name): given.pop(str(each.name)) for each in options.READING})
    source.prepare()
    from selfdict.cli.record import print_run
    from selfdict.cli.run import Run, output_folder, threads_for, unmix_into
    from selfdict.scene.unmixing import Stages

    stages = Stages(BEGAN)
    stages.end("imports")
    run = Run.of(source, given, command=options.repeated_command(ctx))
    if output is None:
        # Absolute, since a path such as "." has no name.
        output = Path(f"{source.file.absolute().stem}-unmixed")
    # Before the output folder is made: a file that cannot be read leaves no trace.
    # The workers of a cluster read for themselves.
    scene = run.source.read(at_once=run.scheduler is None)
    stages.end("open")
    inputs = [*source.files(), *input_files(run.library), *input_files(run.names)]
    outputs = output_folder(output, force=force, inputs=inputs)
    progress = ProgressLine(quiet or json, as_json=progress_json)
    with outputs as folder, progress as line, threads_for(scene, run.threads):
        result, record = unmix_into(folder, run, scene, line, stages)
    stages.end("record")
    print_run(result, record, output, quiet, json)
    if profile:
        for name, seconds in [*stages.seconds.items(), ("total", sum(stages.seconds.values()))]:
            click.echo(f"{seconds:8.2f} s  {name}", err=True)


@app.command(cls=Command, params=options.COMPARE)
def compare(
    rank: int | str,
    keep_bands: bool,
    time_limit: float | None,
    seed: int,
    threads: int | None,
    quiet: bool,
    json: bool,
    **reading: Any,
) -> None:
    """Compare all methods on a scene."""
    source = Source(**reading)
    source.prepare()
    from selfdict.cli.record import method_record, print_comparison
    from selfdict.cli.run import look_at, run_unmix, threads_for
    from selfdict.methods import METHODS
    from selfdict.report.page import own_row
    from selfdict.scene.options import UnmixOptions

    # The paper's two variants of FGNSR, and all other methods. Pure pixels and nonnegative
    # coefficients have the errors that can be compared.
    others = [name for name in METHODS if name != "fgnsr"]
    settings = UnmixOptions(
        r=rank,
        candidates=500,
        endmembers="pixels",
        abundances="nnls",
        keep_bands=keep_bands,
        uncertainty=False,
        compare=(*others, "fgnsr-100"),
        max_seconds=time_limit,
        random_state=seed,
    )
    scene = source.read()
    with ProgressLine(quiet or json) as line, threads_for(scene, threads):
        scene, look = look_at(scene, keep_bands, line)
        result = run_unmix(source, scene, settings, look, line)
        if result.rank_advice is not None:
            line.print_notes([result.rank_advice.reason])
        line.print_notes([*result.notes, *result.skipped])
    results = [*result.comparison, own_row(result)]
    # JSON has all digits, the table is for people.
    if json:
        methods = [method_record(each) for each in results]
        print_json({"input": str(source.file), "r": len(result.pixels), "methods": methods})
        return
    print_comparison(results)


@app.command(cls=Command, params=options.RANK)
def rank(
    maximum: int,
    keep_bands: bool,
    seed: int,
    threads: int | None,
    quiet: bool,
    json: bool,
    progress_json: bool,
    **reading: Any,
) -> None:
    """Recommend a number of materials, and show what each further one explains."""
    source = Source(**reading)
    source.prepare()
    from selfdict.cli.record import print_advice, rank_record
    from selfdict.cli.run import look_at, naming_the_file, threads_for
    from selfdict.scene.unmixing import advise_rank

    scene = source.read()
    progress = ProgressLine(quiet or json, as_json=progress_json)
    with progress as line, threads_for(scene, threads):
        scene, look = look_at(scene, keep_bands, line)
        with naming_the_file(source):
            advice = advise_rank(
                scene,
                maximum,
                keep_bands=keep_bands,
                preflight=look,
                random_state=seed,
                progress=line.step,
            )
    if json:
        sentences = [in_command_words(sentence) for sentence in look.sentences]
        print_json({"file": source.label, "preflight": sentences} | rank_record(advice))
        return
    print_advice(advice)


@app.command(cls=Command, params=options.INFO)
def info(json: bool, **reading: Any) -> None:
    """Describe a file: its contents, what is assumed about it, and what looks wrong."""
    facts = describe(Source(**reading))
    if json:
        print_json(facts)
        return
    print_facts(facts)


@app.command(cls=Command, params=options.CONVERT)
def convert(output: Path, format: str | None, force: bool, quiet: bool, **reading: Any) -> None:
    """Write a scene in another format, given by the suffix of the output."""
    from selfdict.scene.metadata import notes_of
    from selfdict.scene.write import check_free, files_of, write_scene

    source = Source(**reading)
    scene = source.read()
    targets = files_of(output, format)
    check_free(targets, overwrite=force, inputs=source.files())
    write_scene(scene, output, format, overwrite=force)
    if quiet:
        return
    for note in notes_of(scene):
        # Not to standard output: scripts take the name of the file from there.
        click.echo(f"note: {in_command_words(plain(note))}", err=True)
    print_line(str(output))


@app.command(cls=Command, params=options.IDENTIFY)
def identify(result: Path, library: Path, figure: Path | None, force: bool, json: bool) -> None:
    """Identify the materials of a result in a spectral library."""
    from selfdict.cli.record import match_records, print_matches
    from selfdict.scene.identification import identify as identified
    from selfdict.scene.library import read_library
    from selfdict.scene.write import check_free

    if result.is_dir():
        result = result / "endmembers.csv"
    if figure is not None:
        inputs = [*input_files(result), *input_files(library)]
        check_free([figure], overwrite=force, inputs=inputs)
    endmembers = read_library(result)
    found = identified(endmembers, read_library(library))
    if figure is not None:
        _draw_matches(endmembers, found, figure, force)
    names = [str(name) for name in endmembers["name"].values]
    if json:
        print_json(
            {
                "endmembers": str(result),
                "library": str(library),
                "notes": found.notes,
                "matches": match_records(found, names),
            }
        )
        return
    print_matches(names, found)
    if figure is not None:
        print_line(str(figure))


def _draw_matches(
    endmembers: "xr.DataArray", found: "Identification", path: Path, overwrite: bool
) -> None:
    """Draw each endmember beside the nearest spectrum of a library."""
    from selfdict._errors import SceneError, first_line
    from selfdict.report.plots import plot_matches
    from selfdict.scene.write import staged

    figure = plot_matches(endmembers, found.matches)
    with staged(path, overwrite=overwrite) as temporary:
        try:
            figure.savefig(temporary)
        except (OSError, ValueError) as error:
            raise SceneError(path, f"cannot be written: {first_line(error)}") from error
