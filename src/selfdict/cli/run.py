"""One run of ``unmix``: from a source to a folder of outputs."""

import json
import platform
import shlex
import shutil
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict import __version__
from selfdict.cli.console import Bars, check_interrupted, finite, on_purpose
from selfdict.cli.source import Source, sha256
from selfdict.compute.threads import thread_limit

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.report import MethodResult
    from selfdict.scene import UnmixResult

SUFFIXES = {"envi": ".hdr", "geotiff": ".tif", "netcdf": ".nc", "zarr": ".zarr"}
_MAP_BYTES = 2**28  # maps larger than this never lie in memory as a whole
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "xarray", "rasterio")


@dataclass(frozen=True)
class Request:
    """What to compute and how."""

    source: Source
    r: int
    method: str = "fgnsr"
    candidates: int | None = 500
    mu: float | str = "auto"
    library: Path | None = None
    abundances: str = "nnls"
    format: str | None = None
    time_limit: float | None = None
    seed: int = 0
    threads: int | None = None
    compare: bool = True
    check: bool = False
    scheduler: str | None = None

    def run(
        self,
        scene: "xr.DataArray",
        method: str,
        progress: Callable[[str, float], Any],
        callback: Any,
        client: Any = None,
        maps: Path | None = None,
    ) -> "UnmixResult":
        """Unmix the scene that was read from the source, with ``method``."""
        from selfdict.scene import SceneError, read_library, unmix

        options: dict[str, Any] = {}
        if method == "fgnsr":
            options = {
                "candidates": self.candidates,
                "mu": self.mu,
                "check": self.check,
                "callback": callback,
            }
            if self.library is not None:
                options["library"] = read_library(self.library)
            if self.time_limit is not None:
                options["max_seconds"] = self.time_limit
        from sklearn.exceptions import ConvergenceWarning

        try:
            with warnings.catch_warnings():
                # Record, report and summary say how the solver ended, and how large the gap is.
                warnings.simplefilter("ignore", ConvergenceWarning)
                return unmix(
                    scene,
                    self.r,
                    method=method,
                    abundances=self.abundances,
                    random_state=self.seed,
                    progress=progress,
                    client=client,
                    maps=maps,
                    **options,
                )
        except ValueError as error:
            if isinstance(error, SceneError) or not on_purpose(error):
                raise
            # such as more materials than pixels: say in which file
            raise SceneError(self.source.label, str(error)) from error

    def cluster(self) -> AbstractContextManager[Any]:
        """Connect to the scheduler; without one, the ``with`` block gets None and this process does everything."""
        if self.scheduler is None:
            return nullcontext()
        from selfdict.backends.dask_ import connected

        return connected(self.scheduler)

    def command(self) -> str:
        """Return the command that repeats this run."""
        words = [
            "selfdict",
            "unmix",
            *self.source.arguments(),
            "-r",
            str(self.r),
            "--method",
            self.method,
        ]
        if self.method == "fgnsr":
            candidates = "all" if self.candidates is None else str(self.candidates)
            words += ["--candidates", candidates, "--mu", str(self.mu)]
            words += [] if self.library is None else ["--library", str(self.library)]
        words += ["--abundances", self.abundances, "--seed", str(self.seed)]
        for option, value in (
            ("--format", self.format),
            ("--time-limit", self.time_limit),
            ("--scheduler", self.scheduler),
        ):
            words += [] if value is None else [option, f"{value}"]
        words += ["--check"] if self.check else []
        return shlex.join([*words, "-o", "OUTPUT"])


def unmix_into(
    folder: Path, scene: "xr.DataArray", request: Request, bars: Bars, *, title: str
) -> dict[str, Any]:
    """Unmix a scene, write all outputs into ``folder``, and return what ``run.json`` holds."""
    from selfdict.report import method_result, report_data, write_report
    from selfdict.scene import SceneError, write_scene, write_spectra
    from selfdict.scene.formats import format_of

    maps = folder / "maps"
    large = request.scheduler is not None or 4 * (request.r + 1) * scene[0].size > _MAP_BYTES
    with thread_limit(request.threads), request.cluster() as client:
        where = {"client": client, "maps": maps if large else None}
        result = request.run(scene, request.method, bars.steps(), bars.solver(), **where)
        comparison = []
        for method in ("spa", "vca") if request.compare and request.library is None else ():
            if method != request.method:
                where["maps"] = folder / method if large else None
                try:
                    other = request.run(
                        scene, method, bars.steps(f"{method.upper()}: "), None, **where
                    )
                except (
                    SceneError
                ):  # neither finds more pixels than there are bands, which the method asked for can
                    continue
                comparison.append(method_result(other))
                del other  # its maps may be large
                shutil.rmtree(folder / method, ignore_errors=True)

    output = request.format or format_of(request.source.path)
    output = output if output in SUFFIXES else "envi"
    write_spectra(result.endmembers, folder / "endmembers.csv")
    for name, values in (("abundances", result.abundances), ("residual", result.residual)):
        if not (large and output == "zarr"):
            write_scene(values, folder / f"{name}{SUFFIXES[output]}", output)
    record = _record(request, result, comparison, scene.shape)
    data = report_data(
        scene,
        result,
        title=title,
        comparison=comparison,
        parameters=_parameters(request, result, record),
        command=request.command(),
    )
    write_report(data, folder / "report.html")
    if large and output == "zarr":  # written there block by block; nothing reads them any more
        for path in maps.iterdir():
            path.rename(folder / path.name)
    shutil.rmtree(maps, ignore_errors=True)
    text = json.dumps(finite(record), indent=2) + "\n"
    (folder / "run.json").write_text(text, encoding="utf-8")
    check_interrupted()
    return record


def compare_methods(scene: "xr.DataArray", request: Request, bars: Bars) -> "list[MethodResult]":
    """Run every method of the paper's tables; FGNSR chooses among 100 and among 500 representatives."""
    from selfdict.report import method_result
    from selfdict.scene.unmix import METHODS

    results = []
    with thread_limit(request.threads):
        for method in [name for name in METHODS if name != "fgnsr"]:
            result = request.run(scene, method, bars.steps(f"{method.upper()}: "), None)
            results.append(method_result(result))
        for candidates in (100, 500):
            prefix = f"FGNSR-{candidates}: "
            here = replace(request, candidates=candidates)
            result = here.run(scene, "fgnsr", bars.steps(prefix), bars.solver(prefix))
            results.append(method_result(result))
    return results


def _record(
    request: Request,
    result: "UnmixResult",
    comparison: "list[MethodResult]",
    shape: tuple[int, ...],
) -> dict[str, Any]:
    """Return everything needed to judge and to repeat the run."""
    n_columns = shape[2]
    solution = result.solution
    names = (
        None if result.atoms is None else [str(name) for name in result.endmembers["name"].values]
    )
    first_row, first_column = request.source.first_pixel()
    pixels = []
    for k, (row, column) in enumerate(result.pixels.tolist()):
        x, y = (None, None) if result.coordinates is None else result.coordinates[k].tolist()
        pixels.append(
            {
                "endmember": k + 1,
                "index": row * n_columns + column,
                "row": row,
                "column": column,
                "x": x,
                "y": y,
            }
            | ({} if names is None else {"name": names[k]})
        )
    return {
        "selfdict": __version__,
        "versions": {"python": platform.python_version()} | _versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": request.command(),
        "input": {
            "path": request.source.label,
            "sha256": request.source.hashes(),
            "bands": shape[0],
            "rows": shape[1],
            "columns": shape[2],
            "first_row": first_row,
            "first_column": first_column,
        },
        "library": None
        if request.library is None
        else {"path": str(request.library), "sha256": sha256(request.library)},
        "parameters": _settings(request, result),
        "seed": request.seed,
        "threads": request.threads,
        "crs": result.crs,
        "pure_pixels": pixels,
        "relative_error": result.relative_error,
        "objective": None if solution is None else float(solution.objective),
        "dual_bound": None if solution is None else float(solution.dual_bound),
        "gap": result.gap,
        "guarantee": _guarantee(result),
        "check": None if result.check is None else asdict(result.check),
        "mu": None if solution is None else float(solution.mu),
        "status": None if solution is None else solution.status.name.lower(),
        "status_in_words": None if solution is None else str(solution.status),
        "candidates": None if solution is None else len(solution.diagonal),
        "support": None if solution is None else len(solution.support),
        "seconds": dict(result.seconds),
        "comparison": [
            {"method": other.method, "relative_error": other.error, "seconds": other.seconds}
            for other in comparison
        ],
    }


def _guarantee(result: "UnmixResult") -> dict[str, Any] | None:
    if result.guarantee is None:
        return None
    names = ("kappa", "beta", "epsilon_observed", "epsilon_guaranteed", "applies", "sentence")
    return {name: getattr(result.guarantee, name) for name in names}


def _settings(request: Request, result: "UnmixResult") -> dict[str, Any]:
    """Return the settings of the method and of the reading, which has dropped the bands already."""
    source = request.source
    return {
        **{key: value for key, value in result.parameters.items() if key != "callback"},
        "drop_bad_bands": source.drop_bad_bands,
        "bands": source.bands,
        "roi": source.roi,
        "mask": None if source.mask is None else str(source.mask),
        "variable": source.variable,
        "time_limit": request.time_limit,
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _parameters(request: Request, result: "UnmixResult", record: dict[str, Any]) -> dict[str, str]:
    """Return the table of parameters of the report, in words."""
    shape = record["input"]
    rows = {
        "File": request.source.label,
        "Size": f"{shape['rows']} × {shape['columns']} pixels, {shape['bands']} bands",
        "Region": request.source.roi,
        "Bands": request.source.bands,
        "Mask": request.source.mask,
        "Bad bands": "dropped" if request.source.drop_bad_bands else "used",
        "Method": request.method,
        "Number of materials": request.r,
    }
    if result.solution is not None:
        asked, found = result.parameters.get("candidates"), len(result.solution.diagonal)
        if request.library is not None:
            rows["Library"] = f"{request.library}, {found} spectra"
            found = result.solution.coef.shape[1]
        rows["Candidates"] = (
            f"{found} cluster representatives ({asked} asked for)" if asked else "all pixels"
        )
        rows["Penalty μ"] = f"{result.solution.mu:.4g}" + (
            " (chosen by the program)" if request.mu == "auto" else ""
        )
    fcls = "non-negative and summing to one (fcls)"
    rows |= {
        "Abundances": fcls if request.abundances == "fcls" else "non-negative (nnls)",
        "Seed": request.seed,
        "Made": record["created"],
        "Versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    }
    rows |= {
        f"SHA-256 of {name}": digest for name, digest in list(record["input"]["sha256"].items())[:4]
    }
    return {name: str(value) for name, value in rows.items() if value is not None}
