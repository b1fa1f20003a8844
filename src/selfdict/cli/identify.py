"""``selfdict identify``: what the endmembers of an earlier run are."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Identification


def identified(path: Path, library: Path) -> "tuple[xr.DataArray, Identification]":
    """Return the spectra of a file, and what they are in a library."""
    from selfdict.scene.identification import identify
    from selfdict.scene.library import read_library

    endmembers = read_library(path)
    return endmembers, identify(endmembers, read_library(library))


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


def draw_matches(
    endmembers: "xr.DataArray", found: "Identification", path: Path, force: bool
) -> None:
    """Write the figure; a file that cannot be written is an error of one line."""
    from selfdict.files.errors import SceneError, first_line
    from selfdict.report.plots import plot_matches
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
