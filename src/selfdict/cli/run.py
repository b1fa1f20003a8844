"""One run of ``unmix``: from a source to a folder of outputs."""

import json
import shlex
import shutil
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict._errors import InputError
from selfdict.cli.console import ProgressBars, json_value
from selfdict.cli.exports import write_exports
from selfdict.cli.map_format import map_format, write_maps
from selfdict.cli.record import parameter_table, run_record
from selfdict.cli.source import Source, library_files
from selfdict.compute.deadline import Deadline
from selfdict.compute.threads import thread_limit

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.report import MethodResult
    from selfdict.scene import Preflight, RankAdvice, UnmixResult


@dataclass(frozen=True)
class Request:
    """What to compute and how; the attributes are the options of ``selfdict unmix``."""

    source: Source
    r: int | str
    method: str = "fgnsr"
    candidates: int | str | None = "auto"
    mu: float | str = "auto"
    library: Path | None = None
    names: Path | None = None
    endmembers: str = "auto"
    abundances: str = "shares"
    format: str | None = None
    time_limit: float | None = None
    seed: int = 0
    threads: int | None = None
    compare: bool = True
    check: bool = False
    uncertainty: bool = True
    prove: bool | str = "auto"
    scheduler: str | None = None
    keep_bands: bool = False

    def inputs(self) -> list[Path]:
        """Return the files and folders that are read."""
        return [
            *self.source.files(),
            *library_files(self.library),
            *library_files(self.names),
        ]

    def look_at(self, scene: "xr.DataArray", bars: ProgressBars, client: Any = None) -> "Preflight":
        """Look at the scene and print what there is to know about it."""
        from selfdict.scene import preflight

        look = preflight(
            scene,
            keep_bands=self.keep_bands,
            client=client,
            progress=partial(bars.steps(), "preflight"),
        )
        bars.print_notes(look.sentences)
        return look

    def advise(
        self, scene: "xr.DataArray", look: "Preflight", bars: ProgressBars, maximum: int = 20
    ) -> "RankAdvice":
        """Return a recommended number of materials."""
        from selfdict.scene import SceneError, advise_rank

        try:
            return advise_rank(
                scene,
                maximum,
                keep_bands=self.keep_bands,
                preflight=look,
                random_state=self.seed,
                progress=bars.steps(),
            )
        except SceneError:
            raise
        except InputError as error:
            # Such as a scene without a valid pixel.
            raise SceneError(self.source.label, str(error)) from error

    def run(
        self,
        scene: "xr.DataArray",
        method: str,
        look: "Preflight",
        progress: Callable[[str, float], Any],
        callback: Any,
        deadline: Deadline,
        client: Any = None,
        maps: Path | None = None,
    ) -> "UnmixResult":
        """Unmix the scene that was read from the source, with ``method``."""
        from sklearn.exceptions import ConvergenceWarning

        from selfdict.scene import SceneError, read_library, unmix

        options: dict[str, Any] = {}
        if method == "fgnsr":
            options = self._fgnsr_options(callback) | {"max_seconds": deadline.left}
        # Other methods are compared by their errors alone.
        if self.names is not None and method == self.method:
            options["names"] = read_library(self.names)
        try:
            with warnings.catch_warnings():
                # Record, report and summary say how the solver ended and how large the gap is.
                warnings.simplefilter("ignore", ConvergenceWarning)
                return unmix(
                    scene,
                    self.r,
                    method=method,
                    abundances=self.abundances,
                    keep_bands=self.keep_bands,
                    preflight=look,
                    # Other methods are compared by their errors alone.
                    uncertainty=self.uncertainty and method == self.method,
                    random_state=self.seed,
                    progress=progress,
                    client=client,
                    maps=maps,
                    **options,
                )
        except SceneError:
            # It names its file already: the scene, its mask or the library.
            raise
        except InputError as error:
            # An error about the matrix, such as more materials than pixels, does not name the file.
            raise SceneError(self.source.label, str(error)) from error

    def _fgnsr_options(self, callback: Any) -> dict[str, Any]:
        """Return the options of ``unmix`` that only FGNSR has."""
        from selfdict.scene import read_library

        options: dict[str, Any] = {
            "candidates": self.candidates,
            "mu": self.mu,
            "endmembers": self.endmembers,
            "check": self.check,
            "prove": self.prove,
            "callback": callback,
        }
        if self.library is not None:
            options["library"] = read_library(self.library)
        return options

    def cluster(self) -> AbstractContextManager[Any]:
        """Connect to the scheduler and return its client as a context manager.

        Without a scheduler the client is None, and this process does all the work.
        """
        if self.scheduler is None:
            return nullcontext()
        from selfdict.backends.dask_ import connected

        return connected(self.scheduler)

    def command(self) -> str:
        """Return the command that repeats this run."""
        # Method, candidates, penalty, abundances and seed are given even if they are the defaults,
        # so that the command also repeats the run with a later version.
        arguments = ["selfdict", "unmix", *self.source.arguments(), "-r", str(self.r)]
        arguments += ["--method", self.method]
        if self.method == "fgnsr":
            candidates = "all"
            if self.candidates is not None:
                candidates = str(self.candidates)
            arguments += ["--candidates", candidates, "--mu", str(self.mu)]
            endmembers = self.endmembers
            if endmembers == "auto" and self.library is None:
                endmembers = "average"
            arguments += ["--endmembers", endmembers]
            if self.library is not None:
                arguments += ["--library", str(self.library)]
            if self.prove is True:
                arguments.append("--prove")
            if self.prove is False:
                arguments.append("--no-prove")
        arguments += ["--abundances", self.abundances, "--seed", str(self.seed)]
        options = {
            "--names": self.names,
            "--format": self.format,
            "--time-limit": self.time_limit,
            "--scheduler": self.scheduler,
        }
        for option, value in options.items():
            if value is not None:
                arguments += [option, str(value)]
        if self.check:
            arguments.append("--check")
        if not self.uncertainty:
            arguments.append("--no-uncertainty")
        if self.keep_bands:
            arguments.append("--keep-bands")
        # A placeholder: the output of this run exists already.
        return shlex.join([*arguments, "-o", "OUTPUT"])


def unmix_into(
    folder: Path, scene: "xr.DataArray", request: Request, bars: ProgressBars, *, title: str
) -> dict[str, Any]:
    """Unmix a scene, write all outputs into ``folder``, and return the contents of ``run.json``."""
    from selfdict.report import report_data, write_report
    from selfdict.scene import write_spectra

    # Before the work, since not every format has room for every grid.
    format = map_format(request.format, request.source, scene)
    bars.print_notes(format.notes)
    deadline = Deadline(request.time_limit)
    maps = None
    if _stream_maps(scene, request):
        maps = folder / "maps"
    # The comparison needs the cluster, too, but writing does not.
    with thread_limit(request.threads), request.cluster() as client:
        look = request.look_at(scene, bars, client)
        result = request.run(
            scene,
            request.method,
            look,
            bars.steps(),
            bars.solver(),
            deadline,
            client=client,
            maps=maps,
        )
        # The number found, which other methods and a repetition take as given.
        request = replace(request, r=int(result.parameters["r"]))
        comparison = []
        if _may_compare(request, result, deadline):
            comparison = _comparison(
                folder, scene, look, request, bars, client, streamed=maps is not None
            )

    # Maps that are streamed are zarr stores already: they move once the report has read them.
    already_written = maps is not None and format.name == "zarr"
    write_spectra(result.endmembers, folder / "endmembers.csv", spread=result.spread)
    notes = [*format.notes, *result.notes, *write_exports(result, folder)]
    if not already_written:
        write_maps(result, folder, format)
    record = run_record(request, result, comparison, scene.shape)
    record["notes"] = notes
    record["given_up"] = [*result.given_up, *deadline.given_up]
    data = report_data(
        scene,
        result,
        title=title,
        comparison=comparison,
        parameters=parameter_table(request, result, record),
        command=request.command(),
    )
    write_report(data, folder / "report.html")
    if maps is not None:
        if already_written:
            for path in maps.iterdir():
                path.rename(folder / path.name)
        shutil.rmtree(maps, ignore_errors=True)
    record["files"] = sorted(["run.json", *(path.name for path in folder.iterdir())])
    text = json.dumps(json_value(record), indent=2) + "\n"
    (folder / "run.json").write_text(text, encoding="utf-8")
    return record


def _stream_maps(scene: "xr.DataArray", request: Request) -> bool:
    """Whether the maps are written block by block, as zarr stores, instead of held in memory.

    They are if they take more than 256 MiB. The workers of a cluster always write them, so that
    they need not be sent to this process.
    """
    from selfdict.scene.options import MOST_MATERIALS

    r = MOST_MATERIALS
    if isinstance(request.r, int):
        r = request.r
    # Two float32 maps per endmember, the residual and the brightness.
    n_maps = r + 2
    if request.uncertainty:
        n_maps += r
    n_bytes = 4 * n_maps * scene[0].size
    return request.scheduler is not None or n_bytes > 2**28


def _may_compare(request: Request, result: "UnmixResult", deadline: Deadline) -> bool:
    """Whether a comparison is asked for, possible, and likely to end in time."""
    # Pure pixels cannot be compared with the spectra of a library.
    if not request.compare or request.library is not None:
        return False
    # Both methods read and map the scene as this one did, and choose quickly.
    seconds = 2 * (result.seconds["read"] + result.seconds["abundances"])
    if deadline.affords(seconds):
        return True
    deadline.give_up("SPA and VCA were not run for comparison")
    return False


def _comparison(
    folder: Path,
    scene: "xr.DataArray",
    look: "Preflight",
    request: Request,
    bars: ProgressBars,
    client: Any,
    *,
    streamed: bool,
) -> "list[MethodResult]":
    """Return the results of SPA and VCA."""
    from selfdict.report import method_result
    from selfdict.scene import SceneError

    results = []
    for method in ("spa", "vca"):
        if method == request.method:
            continue
        maps = None
        if streamed:
            maps = folder / method
        steps = bars.steps(f"{method.upper()}: ")
        try:
            result = request.run(
                scene, method, look, steps, None, Deadline(), client=client, maps=maps
            )
        except SceneError:
            # Neither finds more pixels than there are bands, but FGNSR can.
            continue
        results.append(method_result(result))
        # Its maps are not needed any more, and may be large.
        del result
        shutil.rmtree(folder / method, ignore_errors=True)
    return results


def compare_methods(
    scene: "xr.DataArray", request: Request, bars: ProgressBars
) -> "list[MethodResult]":
    """Run every method of the paper's tables, FGNSR with 100 and with 500 candidates."""
    from selfdict.report import method_result
    from selfdict.scene.unmix import METHODS

    # Pure pixels and nonnegative coefficients: the errors that can be compared.
    request = replace(request, endmembers="pixels", uncertainty=False, prove=False)
    results = []
    with thread_limit(request.threads):
        look = request.look_at(scene, bars)
        if request.r == "auto":
            # One number for all methods.
            advice = request.advise(scene, look, bars)
            bars.print_notes([advice.reason])
            request = replace(request, r=advice.r)
        for method in METHODS:
            if method != "fgnsr":
                steps = bars.steps(f"{method.upper()}: ")
                result = request.run(scene, method, look, steps, None, Deadline())
                results.append(method_result(result))
        # The paper has these two; each solver reports its gap on a bar of its own.
        for candidates in (100, 500):
            prefix = f"FGNSR-{candidates}: "
            variant = replace(request, candidates=candidates)
            steps = bars.steps(prefix)
            deadline = Deadline(request.time_limit)
            result = variant.run(scene, "fgnsr", look, steps, bars.solver(prefix), deadline)
            bars.print_notes([f"{prefix}{what}" for what in result.given_up])
            results.append(method_result(result))
    return results
