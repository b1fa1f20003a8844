"""One run of ``unmix``: from a source to a folder of outputs, complete or without a record."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from selfdict._errors import InputError, SceneError
from selfdict.cli.console import RENAMED, ProgressLine, in_command_words, json_value
from selfdict.cli.record import parameter_table, run_record
from selfdict.cli.source import Source
from selfdict.compute.threads import single_threaded_blas, thread_limit
from selfdict.files.grid import map_fields
from selfdict.report.page import write_report
from selfdict.scene import write_dominant, write_pixels, write_scene, write_spectra
from selfdict.scene.exports import has_positions
from selfdict.scene.inspection import Preflight, preflight
from selfdict.scene.library import read_library
from selfdict.scene.metadata import crs_of, transform_of
from selfdict.scene.options import MOST_MATERIALS, UnmixOptions
from selfdict.scene.passes import connected
from selfdict.scene.plan import held_in_memory
from selfdict.scene.result import UnmixResult
from selfdict.scene.unmixing import Stages, unmix_scene
from selfdict.scene.write import check_free, publish, temporary_folder

_MAPS = ("abundances", "uncertainty", "brightness", "residual")
# The formats that maps can be written in.
_SUFFIXES = {"envi": ".hdr", "geotiff": ".tif", "netcdf": ".nc", "zarr": ".zarr"}
# Lies in a folder while its files are replaced, and says that they are outputs: a process that is
# killed meanwhile leaves them without the ``run.json`` that lists them.
_UNFINISHED = ".selfdict-unfinished.json"
# What ``unmix`` and ``demo`` write. Nothing of another name is ever replaced or removed.
_OUTPUT_NAMES = {
    *(_UNFINISHED, "run.json", "report.html", "scene.hdr", "scene.img"),
    *("endmembers.csv", "endmembers.sli", "endmembers.hdr"),
    *("pixels.geojson", "dominant.tif", "dominant.tif.aux.xml"),
    *(name + suffix for name in _MAPS for suffix in (*_SUFFIXES.values(), ".img")),
}


@dataclass(frozen=True)
class Run:
    """What ``unmix`` was asked for: the file, the settings of Python, and those of the command."""

    source: Source
    options: UnmixOptions
    title: str
    command: str  # that repeats the run
    format: str | None = None
    library: Path | None = None
    names: Path | None = None
    threads: int | None = None
    scheduler: str | None = None

    @classmethod
    def of(cls, source: Source, given: dict[str, Any], command: str) -> "Run":
        """Return the run that the options of ``unmix`` describe."""
        # The workers of a cluster may have another working directory; an address is the same there.
        if given["scheduler"] is not None and source.address is None:
            source = Source(source.file.absolute(), name=str(source.file), **source.options)
        own = {each.name: given[each.name] for each in fields(cls) if each.name in given}
        return cls(source, _options(given), title=source.file.name, command=command, **own)


def _options(given: dict[str, Any]) -> UnmixOptions:
    """Return the settings of Python that options of the command stand for."""
    settings = {}
    for each in fields(UnmixOptions):
        value = given.get(RENAMED.get(each.name, each.name))
        if value is not None:
            settings[each.name] = value
    for name in ("library", "names"):
        if given[name] is not None:
            settings[name] = read_library(given[name])
    if given["candidates"] == "all":
        settings["candidates"] = None
    if given["prove"] is None:
        settings["prove"] = "auto"
    settings["compare"] = ()
    # Pure pixels cannot be compared with the spectra of a library.
    if given["compare"] and given["library"] is None:
        settings["compare"] = tuple(name for name in ("spa", "vca") if name != given["method"])
    return UnmixOptions(**settings)


@contextmanager
def threads_for(scene: xr.DataArray, limit: int | None) -> Iterator[None]:
    """Limit the threads for a scene."""
    with ExitStack() as stack:
        stack.enter_context(thread_limit(limit))
        # Products with a small scene are done before other threads of BLAS are awake.
        if scene.nbytes <= 2**25:
            stack.enter_context(single_threaded_blas())
        yield


def look_at(
    scene: xr.DataArray, keep_bands: bool, line: ProgressLine, client: Any = None
) -> tuple[xr.DataArray, Preflight]:
    """Read the scene, keep it if it fits in memory, and print what there is to know about it."""
    scene = held_in_memory(scene, client)
    progress = partial(line.step, "preflight")
    look = preflight(scene, keep_bands=keep_bands, client=client, progress=progress)
    line.print_notes(look.sentences)
    return scene, look


def run_unmix(
    source: Source,
    scene: xr.DataArray,
    options: UnmixOptions,
    look: Preflight,
    line: ProgressLine,
    client: Any = None,
) -> UnmixResult:
    """Unmix the scene that was read from a source."""
    if options.is_fgnsr:
        options = replace(options, estimator={"callback": line.solver})
    with naming_the_file(source):
        return unmix_scene(scene, options, look, client, line.step)


@contextmanager
def naming_the_file(source: Source) -> Iterator[None]:
    """Let errors about the matrix, such as more materials than pixels, name the file."""
    try:
        yield
    except SceneError:
        # It names its file already: the scene, its mask or the library.
        raise
    except InputError as error:
        raise SceneError(source.label, str(error)) from error


def unmix_into(
    folder: Path, run: Run, scene: xr.DataArray, line: ProgressLine, stages: Stages
) -> tuple[UnmixResult, dict[str, Any]]:
    """Unmix a scene, write all outputs into ``folder``, and return the result and its record."""
    # Before the work, since not every format has room for every grid.
    format, format_notes = map_format(run.format, run.source, scene)
    line.print_notes(format_notes)
    maps = None
    if run.scheduler is not None or _map_bytes(scene, run.options) > 2**28:
        # Block by block, as zarr stores. The workers of a cluster always write them, so that they
        # need not be sent to this process.
        maps = folder / "maps"
    with ExitStack() as stack:
        client = None
        if run.scheduler is not None:
            client = stack.enter_context(connected(run.scheduler))
        scene, look = look_at(scene, run.options.keep_bands, line, client)
        options = replace(run.options, maps=maps)
        stages.end("look")
        result = run_unmix(run.source, scene, options, look, line, client)
    stages.end("unmix")
    rest = stages.seconds.pop("unmix") - result.seconds["total"]
    stages.seconds |= {name: value for name, value in result.seconds.items() if name != "total"}
    stages.seconds["unmix, the rest"] = rest

    notes = [*format_notes, *result.notes, *write_exports(result, folder)]
    # Maps that are streamed are zarr stores already: they move once the report has read them.
    already_written = maps is not None and format == "zarr"
    if not already_written:
        write_maps(result, folder, format)
    stages.end("maps and exports")
    record = run_record(run.source, result, run.library, run.names)
    record |= {
        "command": run.command,
        "threads": run.threads,
        "notes": [in_command_words(note) for note in notes],
    }
    write_report(
        result,
        folder / "report.html",
        title=run.title,
        parameters=parameter_table(record),
        command=run.command,
        translate=in_command_words,
    )
    stages.end("report")
    if maps is not None:
        if already_written:
            for path in maps.iterdir():
                path.rename(folder / path.name)
        shutil.rmtree(maps, ignore_errors=True)
    record["files"] = sorted(["run.json", *(path.name for path in folder.iterdir())])
    text = json.dumps(json_value(record), indent=2) + "\n"
    (folder / "run.json").write_text(text, encoding="utf-8")
    return result, record


def _map_bytes(scene: xr.DataArray, options: UnmixOptions) -> int:
    """Return how many bytes all maps take in memory."""
    r = MOST_MATERIALS
    if isinstance(options.r, int):
        r = options.r
    # Two float32 maps per endmember, the residual and the brightness.
    n_maps = r + 2
    if options.uncertainty:
        n_maps += r
    return int(4 * n_maps * scene[0].size)


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
        raise SceneError(target, "is a link or no folder; choose another one by --output")
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
