"""``selfdict rank``: how many materials to look for, and why."""

from typing import TYPE_CHECKING, Annotated

import typer

from selfdict.cli.console import (
    ProgressBars,
    handle_errors,
    print_json,
    print_line,
    print_table,
)
from selfdict.cli.options import (
    Bands,
    DropBad,
    File,
    Json,
    KeepBands,
    KeptDetector,
    Layout,
    Mask,
    MaxBytes,
    NoData,
    Quiet,
    Roi,
    Seed,
    Shape,
    Threads,
    Variable,
)
from selfdict.cli.source import Source
from selfdict.compute.threads import thread_limit

if TYPE_CHECKING:
    from selfdict.scene import RankAdvice


@handle_errors
def rank(
    file: File,
    maximum: Annotated[
        int, typer.Option("--max", min=1, help="Largest number of materials to recommend.")
    ] = 20,
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
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Recommend how many materials to look for, and show what each further one explains."""
    from selfdict.cli.record import rank_record
    from selfdict.cli.run import Request

    source = Source(
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
    )
    request = Request(source, "auto", seed=seed, threads=threads, keep_bands=keep_bands)
    with ProgressBars(quiet or json) as bars, thread_limit(threads):
        scene = source.read()
        look = request.look_at(scene, bars)
        advice = request.advise(scene, look, bars, maximum)
    if json:
        print_json({"file": source.label, "preflight": look.sentences} | rank_record(advice))
        return
    _print_advice(advice)


def _print_advice(advice: "RankAdvice") -> None:
    """Print the recommendation, its reasons, and the errors it rests on."""
    for sentence in advice.sentences:
        print_line(sentence)
    rows = []
    for k, error in enumerate(advice.errors):
        mark = ""
        if k + 1 == advice.r:
            mark = "recommended"
        pixel_error = f"{100 * advice.pixel_errors[k]:.2f}"
        limit = f"{100 * advice.limits[k]:.2f}"
        rows.append((str(k + 1), f"{100 * error:.2f}", pixel_error, limit, mark))
    headings = ("materials", "relative error, %", "of pure pixels", "none is below", "")
    print_table(headings, rows, right=(0, 1, 2, 3))
