"""One run of ``unmix``: from a source to a folder of outputs, and the line that says how far."""

import json
import logging
import math
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from selfdict._display import plain
from selfdict._errors import InputError, SceneError
from selfdict.cli.console import CLEAR_LINE, RENAMED, in_command_words, json_value, print_line
from selfdict.cli.outputs import map_format, write_exports, write_maps
from selfdict.cli.record import parameter_table, run_record
from selfdict.cli.source import Source
from selfdict.compute.threads import single_threaded_blas, thread_limit
from selfdict.model.solution import Progress
from selfdict.report.page import write_report
from selfdict.scene.inspection import Preflight, preflight
from selfdict.scene.library import read_library
from selfdict.scene.options import MOST_MATERIALS, UnmixOptions
from selfdict.scene.passes import connected
from selfdict.scene.plan import held_in_memory
from selfdict.scene.result import UnmixResult
from selfdict.scene.unmixing import STEPS, Stages, unmix_scene


class ProgressLine(logging.Handler):
    """The step, its share done and its time, and the log, on a terminal or as lines of JSON."""

    def __init__(self, quiet: bool, *, as_json: bool = False) -> None:
        super().__init__(logging.INFO)
        self._quiet = quiet
        self._as_json = as_json
        self._last_json = ""
        self._is_shown = not quiet and not as_json and sys.stderr.isatty()
        self._step = ""
        self._note = ""
        self._share = 0.0
        self._began = 0.0
        self._drawn = 0.0

    def __enter__(self) -> "ProgressLine":
        self._logger = logging.getLogger("selfdict")
        self._level = self._logger.level
        if self._is_shown:
            self._logger.addHandler(self)
            self._logger.setLevel(logging.INFO)
        return self

    def __exit__(self, *exception: object) -> None:
        self._end_line()
        self._logger.removeHandler(self)
        self._logger.setLevel(self._level)

    def print_notes(self, notes: Sequence[str]) -> None:
        """Write sentences about the input to standard output, one line each."""
        if self._quiet:
            return
        self._end_line()
        for note in notes:
            print_line(f"note: {in_command_words(note)}")

    def step(self, step: str, share: float) -> None:
        """Show a step of :func:`selfdict.scene.unmix` and the share of it that is done."""
        if step != self._step:
            self._end_line()
            self._step = step
            self._note = ""
            self._began = time.monotonic()
        self._share = share
        self._draw(force=share in (0.0, 1.0))
        self._print_json(step=step, share=round(share, 2))

    def solver(self, snapshot: Progress) -> bool:
        """Show the certified gap; the callback of a solver."""
        self._note = f"{snapshot.n_active} pixels"
        # The first bound on the optimum takes a while.
        if math.isfinite(snapshot.gap):
            self._note = f"certified gap {100 * snapshot.gap:.3g} %, {self._note}"
        self._draw()
        self._print_json(step="select", gap=snapshot.gap, pixels=snapshot.n_active)
        return False  # the solver goes on

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line of the log."""
        self._end_line()
        print(plain(record.getMessage()), file=sys.stderr)

    def _print_json(self, **values: Any) -> None:
        """Write one line of JSON, unless it repeats the last one."""
        line = json.dumps(json_value(values))
        if self._as_json and line != self._last_json:
            print(line, file=sys.stderr, flush=True)
        self._last_json = line

    def _draw(self, force: bool = False) -> None:
        now = time.monotonic()
        # At most ten times a second.
        if not self._is_shown or not self._step or (now - self._drawn < 0.1 and not force):
            return
        self._drawn = now
        name = STEPS[self._step].capitalize()
        # The duration of the selection is not known before it ends.
        share = f"{100 * self._share:3.0f} %"
        if self._step == "select" and self._share < 1:
            share = "     "
        line = f"{name:<31} {share} {now - self._began:6.1f} s  {self._note}"
        width = shutil.get_terminal_size().columns - 1
        print(f"{CLEAR_LINE}{line[:width]}", end="", file=sys.stderr, flush=True)

    def _end_line(self) -> None:
        if self._is_shown and self._step:
            self._draw(force=True)
            print(file=sys.stderr)
        self._step = ""


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
