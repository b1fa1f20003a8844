"""What the commands write: a folder that is complete or has no record of a run; maps, figures."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import xarray as xr

from selfdict._errors import InputError, SceneError, first_line
from selfdict.cli.source import Source
from selfdict.files.grid import map_fields
from selfdict.scene import write_dominant, write_pixels, write_scene, write_spectra
from selfdict.scene.exports import has_positions
from selfdict.scene.identification import Identification
from selfdict.scene.metadata import crs_of, transform_of
from selfdict.scene.result import UnmixResult
from selfdict.scene.write import check_free, publish, staged, temporary_folder

# The files of ``write_exports``.
EXPORT_NAMES = (
    "endmembers.sli",
    "endmembers.hdr",
    "pixels.geojson",
    "dominant.tif",
    "dominant.tif.aux.xml",
)
_MAPS = ("abundances", "uncertainty", "brightness", "residual")
# The formats that maps can be written in.
_SUFFIXES = {"envi": ".hdr", "geotiff": ".tif", "netcdf": ".nc", "zarr": ".zarr"}
# Lies in a folder while its files are replaced, and says that they are outputs: a process that is
# killed meanwhile leaves them without the ``run.json`` that lists them.
_UNFINISHED = ".selfdict-unfinished.json"
# What ``unmix`` and ``demo`` write. Nothing of another name is ever replaced or removed.
_OUTPUT_NAMES = {
    _UNFINISHED,
    "endmembers.csv",
    "run.json",
    "report.html",
    "scene.hdr",
    "scene.img",
    *EXPORT_NAMES,
    *(name + suffix for name in _MAPS for suffix in (*_SUFFIXES.values(), ".img")),
}


@contextmanager
def output_folder(
    target: Path, *, force: bool = False, inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """Yield a temporary folder whose files get into ``target`` if all goes well."""
    target = _without_links(target)
    inputs = list(inputs)
    _check_outputs(target, force, inputs)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    with temporary_folder(target) as temporary:
        folder = temporary / "new" / target.name
        folder.mkdir()
        yield folder
        # Again, since the work may have taken hours.
        replaced = _check_outputs(target, force, inputs)
        if target.exists():
            written = list(folder.iterdir())
            replaced = [path for path in replaced if path.name != _UNFINISHED]
            _mark_unfinished(target, [*written, *replaced], temporary)
            try:
                publish(written, target, replaced, temporary / "old")
            finally:
                (target / _UNFINISHED).unlink()
        else:
            os.rename(folder, target)


def _mark_unfinished(target: Path, outputs: Iterable[Path], temporary: Path) -> None:
    """Put a file into the folder that lists its outputs, in one step."""
    names = sorted({_UNFINISHED, *(path.name for path in outputs)})
    mark = temporary / "new" / _UNFINISHED
    mark.write_text(json.dumps({"selfdict": "unfinished", "files": names}), encoding="utf-8")
    os.replace(mark, target / _UNFINISHED)


def _without_links(target: Path) -> Path:
    """Return the path with a name of its own, in a folder that is reached without links."""
    try:
        str(target).encode("utf-8")
    except UnicodeEncodeError:
        # Python keeps the bytes of such a name as surrogates. The libraries that write maps cannot
        # take them.
        raise SceneError(
            target, "the name is not UTF-8: choose another output by --output"
        ) from None
    if target.name in ("", ".."):
        return Path(os.path.realpath(target))
    return Path(os.path.realpath(target.parent), target.name)


def _check_outputs(target: Path, force: bool, inputs: list[Path]) -> list[Path]:
    """Return what is in the output folder, all of which may be replaced; refuse anything else."""
    if not os.path.lexists(target):
        return []
    if target.is_symlink() or not target.is_dir():
        raise SceneError(target, "exists and is not a folder; choose another one by --output")
    found = sorted(target.iterdir())
    if found and not force:
        raise SceneError(target, "exists already; choose another folder, or use --force")
    listed = _listed_outputs(target / "run.json") | _listed_outputs(target / _UNFINISHED)
    for path in found:
        if path.name not in listed:
            raise SceneError(
                target, f"holds {path.name}, which is no output of selfdict; choose another folder"
            )
    check_free(found, overwrite=True, inputs=inputs)
    return found


def _listed_outputs(path: Path) -> set[str]:
    """Return the names of outputs in the record of a run; none if there is no such record."""
    # Nothing else is opened: a pipe would never end.
    if path.is_symlink() or not path.is_file():
        return set()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if "selfdict" not in record:
            return set()
        return {name for name in record["files"] if name in _OUTPUT_NAMES}
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        # The file of another program.
        return set()


def map_format(asked: str | None, source: Source, scene: xr.DataArray) -> tuple[str, list[str]]:
    """Return the format of the maps, by default that of the input, and notes on the choice."""
    name = asked or source.format
    # The images of these products are GeoTIFFs as a rule.
    if name in ("enmap", "desis", "remote"):
        name = "geotiff"
    # MATLAB and NumPy files are only read.
    if name not in _SUFFIXES:
        name = "envi"
    if name != "envi":
        return name, []
    try:
        map_fields(crs_of(scene), transform_of(scene))
    except InputError:
        grid = "an ENVI header cannot hold the grid of this scene, which is mirrored or sheared"
        if asked is not None:
            raise SceneError(source.label, f"{grid}: pass --format geotiff") from None
        return "geotiff", [f"the maps are GeoTIFFs: {grid}"]
    return name, []


def write_maps(result: UnmixResult, folder: Path, format: str) -> None:
    """Write the maps of a result into a folder."""
    for name in _MAPS:
        values = getattr(result, name)
        if values is not None:
            write_scene(values, folder / f"{name}{_SUFFIXES[format]}", format)


def write_exports(result: UnmixResult, folder: Path) -> list[str]:
    """Write spectra and files for other software, and return what is to be said about them."""
    write_spectra(result.endmembers, folder / "endmembers.csv", spread=result.spread)
    named = result.endmembers.assign_coords(name=("endmember", result.labels))
    write_spectra(named, folder / "endmembers.sli")
    write_pixels(result, folder / "pixels.geojson")
    write_dominant(result, folder / "dominant.tif")
    if has_positions(result):
        return []
    return ["pixels.geojson has rows and columns only: the scene has no map coordinates"]


def draw_matches(
    endmembers: xr.DataArray, found: Identification, path: Path, overwrite: bool
) -> None:
    """Draw each endmember beside the nearest spectrum of a library."""
    from selfdict.report.plots import plot_matches

    figure = plot_matches(endmembers, found.matches)
    with staged(path, overwrite=overwrite) as temporary:
        try:
            figure.savefig(temporary)
        except (OSError, ValueError) as error:
            raise SceneError(path, f"cannot be written: {first_line(error)}") from error
