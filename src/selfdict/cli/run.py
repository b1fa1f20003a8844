"""One run of ``unmix``: from a source to a folder of outputs."""

import json
import shlex
import shutil
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict._errors import InputError
from selfdict.cli.console import ProgressBars, json_value
from selfdict.cli.options import Settings
from selfdict.cli.outputs import map_format, write_exports, write_maps
from selfdict.cli.record import parameter_table, run_record
from selfdict.cli.source import Source
from selfdict.compute.threads import thread_limit

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Preflight, UnmixResult
    from selfdict.scene.options import UnmixOptions

_MAX_MAP_BYTES = 2**28  # of maps that are held in memory


def look_at(
    scene: "xr.DataArray", keep_bands: bool, bars: ProgressBars, client: Any = None
) -> "tuple[xr.DataArray, Preflight]":
    """Read the scene, keep it if it fits in memory, and print what there is to know about it."""
    from selfdict.scene import preflight
    from selfdict.scene.plan import held_in_memory

    scene = held_in_memory(scene, client)
    progress = partial(bars.steps(), "preflight")
    look = preflight(scene, keep_bands=keep_bands, client=client, progress=progress)
    bars.print_notes(look.sentences)
    return scene, look


def run_unmix(
    source: Source,
    scene: "xr.DataArray",
    options: "UnmixOptions",
    look: "Preflight",
    bars: ProgressBars,
    client: Any = None,
) -> "UnmixResult":
    """Unmix the scene that was read from a source."""
    from sklearn.exceptions import ConvergenceWarning

    from selfdict.scene.unmix import unmix_scene

    if options.is_fgnsr:
        options = replace(options, estimator={"callback": bars.solver()})
    with naming_the_file(source), warnings.catch_warnings():
        # Record, report and summary say how the solver ended and how large the gap is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return unmix_scene(scene, options, look, client, bars.steps())


@contextmanager
def naming_the_file(source: Source) -> Iterator[None]:
    """Let errors about the matrix, such as more materials than pixels, name the file."""
    from selfdict.scene import SceneError

    try:
        yield
    except SceneError:
        # It names its file already: the scene, its mask or the library.
        raise
    except InputError as error:
        raise SceneError(source.label, str(error)) from error


def unmix_into(
    folder: Path,
    source: Source,
    scene: "xr.DataArray",
    settings: Settings,
    options: "UnmixOptions",
    bars: ProgressBars,
    *,
    title: str,
) -> dict[str, Any]:
    """Unmix a scene, write all outputs into ``folder``, and return the contents of ``run.json``."""
    from selfdict.report import write_report
    from selfdict.scene import write_spectra

    # Before the work, since not every format has room for every grid.
    format = map_format(settings.format, source, scene)
    bars.print_notes(format.notes)
    maps = None
    if _stream_maps(scene, settings, options):
        maps = folder / "maps"
    with thread_limit(settings.threads), _cluster(settings.scheduler) as client:
        scene, look = look_at(scene, settings.keep_bands, bars, client)
        result = run_unmix(source, scene, replace(options, maps=maps), look, bars, client)

    # Maps that are streamed are zarr stores already: they move once the report has read them.
    already_written = maps is not None and format.name == "zarr"
    write_spectra(result.endmembers, folder / "endmembers.csv", spread=result.spread)
    notes = [*format.notes, *result.notes, *write_exports(result, folder)]
    if not already_written:
        write_maps(result, folder, format)
    command = command_line(source, replace(settings, rank=str(result.parameters["r"])))
    record = run_record(source, settings, result, scene, command) | {"notes": notes}
    write_report(
        result,
        scene,
        folder / "report.html",
        title=title,
        parameters=parameter_table(source, settings, result, record),
        command=command,
    )
    if maps is not None:
        if already_written:
            for path in maps.iterdir():
                path.rename(folder / path.name)
        shutil.rmtree(maps, ignore_errors=True)
    record["files"] = sorted(["run.json", *(path.name for path in folder.iterdir())])
    text = json.dumps(json_value(record), indent=2) + "\n"
    (folder / "run.json").write_text(text, encoding="utf-8")
    return record


def command_line(source: Source, settings: Settings) -> str:
    """Return the command that repeats a run."""
    # A placeholder: the output of this run exists already.
    words = ["selfdict", "unmix", *source.words(), *settings.words(), "--output", "OUTPUT"]
    return shlex.join(words)


def _cluster(scheduler: str | None) -> AbstractContextManager[Any]:
    """Return the client of a scheduler as a context manager; without one, None."""
    if scheduler is None:
        return nullcontext()
    from selfdict.backends.dask_ import connected

    return connected(scheduler)


def _stream_maps(scene: "xr.DataArray", settings: Settings, options: "UnmixOptions") -> bool:
    """Whether the maps are written block by block, as zarr stores, instead of held in memory.

    The workers of a cluster always write them, so that they need not be sent to this process.
    """
    from selfdict.scene.options import MOST_MATERIALS

    r = MOST_MATERIALS
    if isinstance(options.r, int):
        r = options.r
    # Two float32 maps per endmember, the residual and the brightness.
    n_maps = r + 2
    if options.uncertainty:
        n_maps += r
    n_bytes = 4 * n_maps * scene[0].size
    return settings.scheduler is not None or n_bytes > _MAX_MAP_BYTES
