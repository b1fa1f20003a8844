"""``selfdict convert``: a scene in another format."""

from pathlib import Path
from typing import Annotated

import typer

from selfdict.cli.console import (
    handle_errors,
    ignore_interruptions,
    print_line,
    printable,
)
from selfdict.cli.options import (
    Bands,
    DropBad,
    File,
    Force,
    Format,
    KeptDetector,
    Layout,
    Mask,
    MaxBytes,
    NoData,
    Quiet,
    Roi,
    Shape,
    Variable,
    format_name,
)
from selfdict.cli.source import Source


@handle_errors
def convert(
    file: File,
    output: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    bands: Bands = None,
    drop_bad_bands: DropBad = False,
    mask: Mask = None,
    no_data: NoData = None,
    roi: Roi = None,
    variable: Variable = None,
    overlap: KeptDetector = None,
    shape: Shape = None,
    layout: Layout = None,
    max_bytes: MaxBytes = None,
    format: Annotated[
        Format | None, typer.Option(help="Default: by the name of the output.", show_default=False)
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a scene in another format; the name of the output says which."""
    from selfdict.scene import write_scene
    from selfdict.scene.notes import notes_of
    from selfdict.scene.staging import InterruptedAfterWriting

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
    scene = source.read()
    try:
        write_scene(scene, output, format_name(format), overwrite=force)
    except InterruptedAfterWriting:
        # The output is complete: Ctrl-C came too late.
        ignore_interruptions()
    if quiet:
        return
    for note in notes_of(scene):
        # Not to standard output: scripts take the name of the file from there.
        typer.echo(f"note: {printable(note)}", err=True)
    print_line(str(output))
