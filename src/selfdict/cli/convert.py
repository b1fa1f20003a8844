"""``selfdict convert``: a scene in another format."""

from pathlib import Path
from typing import Annotated

import typer

from selfdict._display import plain
from selfdict.cli.console import handle_errors, print_line
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
    from selfdict.scene.files import files_of
    from selfdict.scene.notes import notes_of
    from selfdict.scene.staging import check_free

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
    targets = files_of(output, format_name(format))
    check_free(targets, overwrite=force, inputs=source.files(), option="--force")
    write_scene(scene, output, format_name(format), overwrite=force)
    if quiet:
        return
    for note in notes_of(scene):
        # Not to standard output: scripts take the name of the file from there.
        typer.echo(f"note: {plain(note)}", err=True)
    print_line(str(output))
