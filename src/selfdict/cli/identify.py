"""``selfdict identify``: what the endmembers of an earlier run are."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from selfdict.cli.console import handle_errors, print_json, print_line, print_table
from selfdict.cli.options import Force, Json
from selfdict.cli.source import library_files

if TYPE_CHECKING:
    from selfdict.scene import Identification, Match


@handle_errors
def identify(
    result: Annotated[
        Path,
        typer.Argument(
            help="Output folder of 'selfdict unmix', or a file of spectra such as endmembers.csv.",
            show_default=False,
        ),
    ],
    library: Annotated[
        Path,
        typer.Option(
            help="Library: a USGS, ECOSTRESS or ASTER folder or .txt, .sli, .npz or .csv.",
            show_default=False,
        ),
    ],
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Draw each spectrum beside the nearest one to this file (.png, .pdf, .svg).",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Look up in a spectral library what the materials of a result are."""
    from selfdict.scene import identify as identify_spectra
    from selfdict.scene import read_library
    from selfdict.scene.staging import check_free

    path = result
    if path.is_dir():
        path = path / "endmembers.csv"
    if figure is not None:
        inputs = [*library_files(path), *library_files(library)]
        check_free([figure], overwrite=force, inputs=inputs, option="--force")
    endmembers = read_library(path)
    names = [str(name) for name in endmembers["name"].values]
    found = identify_spectra(endmembers, read_library(library))
    if figure is not None:
        _draw(endmembers, found, figure, force)
    if json:
        print_json(
            {
                "endmembers": str(path),
                "library": str(library),
                "notes": found.notes,
                "matches": match_records(found, names),
            }
        )
        return
    for note in found.notes:
        print_line(note)
    rows = [_row(name, match) for name, match in zip(names, found.matches)]
    columns = ("endmember", "material", "nearest spectrum", "angle, °", "next material", "angle, °")
    print_table(columns, rows, right=(3, 5))
    if figure is not None:
        print_line(str(figure))


def match_records(found: "Identification", names: list[str]) -> list[dict[str, Any]]:
    """Return what ``run.json`` and ``--json`` say about each endmember."""
    records = []
    for name, match in zip(names, found.matches):
        nearest = []
        for candidate in match.nearest:
            nearest.append(
                {
                    "material": candidate.material,
                    "spectrum": candidate.name,
                    "angle": candidate.angle,
                }
            )
        records.append(
            {
                "endmember": name,
                "material": match.material,
                "angle": match.angle,
                "margin": match.margin,
                "nearest": nearest,
                "sentence": match.sentence,
            }
        )
    return records


def _row(name: str, match: "Match") -> tuple[str, ...]:
    first = match.nearest[0]
    material = match.material or "no match"
    row = (name, material, first.name, f"{first.angle:.1f}")
    if len(match.nearest) == 1:
        return (*row, "–", "–")
    second = match.nearest[1]
    return (*row, second.material, f"{second.angle:.1f}")


def _draw(endmembers: Any, found: "Identification", path: Path, force: bool) -> None:
    """Write the figure; a file that cannot be written is an error of one line."""
    from selfdict.files.errors import first_line
    from selfdict.report import plot_matches
    from selfdict.scene import SceneError
    from selfdict.scene.staging import staged

    figure = plot_matches(endmembers, found.matches)
    try:
        with staged(path, overwrite=force) as temporary, warnings.catch_warnings():
            # Of characters in names that the font does not have.
            warnings.simplefilter("ignore")
            figure.savefig(temporary)
    except SceneError:
        raise
    except (OSError, ValueError) as error:
        raise SceneError(path, f"cannot be written: {first_line(error)}") from error
