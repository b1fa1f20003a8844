"""What a command found: the records in ``run.json`` and of ``--json``, and what is printed."""

import platform
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import xarray as xr

from selfdict import __version__
from selfdict.cli.console import (
    RENAMED,
    in_command_words,
    in_words,
    print_json,
    print_line,
    print_table,
)
from selfdict.cli.source import Source, fingerprint, parse_roi
from selfdict.model.solution import Solution
from selfdict.readout import RankAdvice
from selfdict.scene.facts import candidates_in_words, facts, figures
from selfdict.scene.identification import Identification
from selfdict.scene.plan import fits_in_memory
from selfdict.scene.result import Comparison, UnmixResult

# What a result says beside its settings.
_FACTS = {"n_bands": "bands_used", "n_valid": "pixels_with_data", "n_fitted": "pixels_chosen_from"}


def run_record(
    source: Source, result: UnmixResult, library: Path | None, names: Path | None
) -> dict[str, Any]:
    """Return what is needed to judge and to repeat the run."""
    record: dict[str, Any] = {
        "selfdict": __version__,
        "versions": _versions(),
        # In UTC, so that records of several machines can be put in order.
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "input": _input(source, result.scene),
        "library": _library(library),
        "names_library": _library(names),
        "parameters": _parameters(source, result),
        # What the report shows at its top, and the summary of the command.
        "figures": {fact.key: fact.value for fact in figures(result)},
        "crs": result.crs,
        "pure_pixels": _pure_pixels(result),
        "relative_error": result.relative_error,
        "pixel_error": result.pixel_error,
        "unexplained": _unexplained(result),
        "groups": _groups(result),
        **_solution(result.solution),
        "proof": _proof(result),
        "seconds": dict(result.seconds),
        "comparison": [method_record(other) for other in result.comparison],
        "skipped": _in_command_words(result.skipped),
        "fit": _fields(result.fit, "headline", "is_sound", "noise")
        | {"sentences": _in_command_words(result.fit.sentences)},
        "preflight": _in_command_words(result.preflight.sentences),
        "bands_left_out": result.preflight.left_out,
        **dict.fromkeys(("names", "check", "rank_advice")),
    }
    if result.identification is not None:
        record["names"] = match_records(result.identification, result.labels)
    if result.check is not None:
        record["check"] = asdict(result.check)
    if result.rank_advice is not None:
        record["rank_advice"] = rank_record(result.rank_advice)
    return record


def _fields(value: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _in_command_words(sentences: Iterable[str]) -> list[str]:
    return [in_command_words(sentence) for sentence in sentences]


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that influence the numbers."""
    versions = {"python": platform.python_version()}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "xarray", "rasterio"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            # Optional packages: not every format needs them.
            continue
    return versions


def _input(source: Source, scene: xr.DataArray) -> dict[str, Any]:
    n_bands, n_rows, n_columns = scene.shape
    rows, columns = parse_roi(source.options.get("roi") or ":,:")
    return {
        "path": source.label,
        # Without hashes if the scene is too large to be kept: they would read it once more.
        "files": source.fingerprints(hashed=fits_in_memory(scene)),
        "bands": n_bands,
        "rows": n_rows,
        "columns": n_columns,
        "first_row": rows.start or 0,
        "first_column": columns.start or 0,
    }


def rank_record(advice: RankAdvice) -> dict[str, Any]:
    """Return a recommended number of materials and what speaks for it."""
    return _fields(advice, "r", "errors", "noise") | {
        "sentences": _in_command_words(advice.sentences),
        "rare_materials": advice.n_rare,
        "rare_pixels": advice.n_rare_pixels,
        "single_pixels": advice.n_alone,
    }


def _library(path: Path | None) -> dict[str, str] | None:
    """Return the path and the SHA-256 of a library."""
    if path is None:
        return None
    return {"path": str(path), "sha256": fingerprint(path)}


def match_records(found: Identification, names: list[str]) -> list[dict[str, Any]]:
    """Return which materials of a library the endmembers are."""
    records = []
    for name, match in zip(names, found.matches):
        record = {"endmember": name} | _fields(match, "material", "angle", "margin", "sentence")
        record["nearest"] = [
            {"material": each.material, "spectrum": each.name, "angle": each.angle}
            for each in match.nearest
        ]
        records.append(record)
    return records


def method_record(result: Comparison) -> dict[str, Any]:
    """Return one row of a comparison."""
    return {"method": result.method, "relative_error": result.error, "seconds": result.seconds}


def _pure_pixels(result: UnmixResult) -> list[dict[str, Any]]:
    """Return index, row, column and map coordinates of each pixel, and its spectrum's name."""
    pixels = []
    for k, (row, column) in enumerate(result.pixels):
        place = {"endmember": k + 1, "index": result.indices[k], "row": row, "column": column}
        pixel: dict[str, Any] = place | {"x": None, "y": None}
        if result.coordinates is not None:
            pixel["x"], pixel["y"] = result.coordinates[k]
        if result.atoms is not None:
            pixel["name"] = str(result.endmembers["name"].values[k])
        pixels.append(pixel)
    return pixels


def _unexplained(result: UnmixResult) -> list[dict[str, Any]]:
    """Return where pixels are not explained, and what their spectrum would gain."""
    patches = []
    for patch in result.unexplained:
        row, column = patch.pixels[0]
        found = {"row": row, "column": column, "pixels": len(patch.pixels)}
        patches.append(found | _fields(patch, "share", "error"))
    return patches


def _groups(result: UnmixResult) -> list[dict[str, Any]] | None:
    """Return size, weight and proof of the group of each material; None for other methods."""
    if result.group_weights is None:
        return None
    groups = []
    for k, weight in enumerate(result.group_weights):
        group: dict[str, Any] = {"endmember": k + 1, "weight": weight}
        if result.groups is not None:
            group["pixels"] = len(result.groups[k])
        if result.counts is not None:
            group["averaged"] = result.counts[k]
        if result.proof is not None:
            group["needed"] = result.proof.needed[k]
        groups.append(group)
    return groups


def _solution(solution: Solution | None) -> dict[str, Any]:
    """Return the facts about the solution of the model; None for methods without one."""
    numbers = ("objective", "dual_bound", "gap", "mu")
    if solution is None:
        return dict.fromkeys((*numbers, "status", "candidates"))
    return _fields(solution, *numbers) | {
        "status": solution.status.name.lower(),
        "status_in_words": in_command_words(str(solution.status)),
        "candidates": len(solution.diagonal),
        "support": len(solution.support),
    }


def _proof(result: UnmixResult) -> dict[str, Any] | None:
    """Return what is proven about the groups, without the solution behind it."""
    proof = result.proof
    if proof is None:
        return None
    record = _fields(proof, "enough", "needed", "limit", "complete", "sentence")
    # a limit of the error of a sample of the pixels is none of the error of all
    problem = proof.solution.problem
    if problem is None or problem.root.n_points < result.n_valid:
        record["limit"] = None
    return record | {
        "closed_share": proof.closed.mean(),
        "gap": proof.solution.gap,
        "about": candidates_in_words(result),
    }


def _parameters(source: Source, result: UnmixResult) -> dict[str, Any]:
    """Return the settings of the method and of the reading, by the names of their options."""
    names = RENAMED | _FACTS
    settings = {names.get(name, name): value for name, value in result.parameters.items()}
    return settings | source.options


def parameter_table(record: dict[str, Any]) -> dict[str, str]:
    """Return the rows of the report's table of parameters: what is known of a record."""
    shape = record["input"]
    versions = (f"{name} {version}" for name, version in record["versions"].items())
    parameters = {name.replace("_", " "): value for name, value in record["parameters"].items()}
    rows = {
        "file": shape["path"],
        "size": f"{shape['rows']} × {shape['columns']} pixels, {shape['bands']} bands",
        **parameters,
        "created": record["created"],
        "versions": ", ".join(versions),
    }
    if record["mu"] is not None:
        rows["mu"] = f"{record['mu']:.4g}"
    for name, key in (("library", "library"), ("names library", "names_library")):
        if record[key] is not None:
            rows[name] = record[key]["path"]
    # A zarr store has thousands of files; run.json has the hashes of all of them, if any.
    for name, file in list(shape["files"].items())[:4]:
        rows[f"SHA-256 of {name}"] = file["sha256"]
    return {name: in_words(value) for name, value in rows.items() if value}


def print_run(
    result: UnmixResult, record: dict[str, Any], output: Path, quiet: bool, json: bool
) -> None:
    """Print the record of a run as JSON, or what was found and where it is."""
    if json:
        print_json(record)
        return
    if quiet:
        return
    # What the preflight found was printed before the work.
    shown = [fact for fact in facts(result) if fact.name not in ("preflight", "notes")]
    print_table([(fact.name, in_command_words(fact.sentence)) for fact in shown])
    for k, match in enumerate(record["names"] or []):
        print_line(f"{k + 1}. {match['sentence']}")
    for note in record["notes"]:
        print_line(f"note: {note}")
    print_line(f"in {output}: {', '.join(record['files'])}")
    print_line(str(output / "report.html"))


def print_comparison(results: list[Comparison]) -> None:
    """Print the error of each method, and which is the smallest."""
    smallest_error = min(result.error for result in results)
    rows = [("method", "relative error, %", "", "seconds")]
    for result in results:
        mark = ""
        if result.error == smallest_error:
            mark = "best"
        rows.append((result.method, f"{100 * result.error:.2f}", mark, f"{result.seconds:.2f}"))
    print_table(rows, right=(1, 3))


def print_advice(advice: RankAdvice) -> None:
    """Print the recommendation, its reasons, and the errors it rests on."""
    for sentence in advice.sentences:
        print_line(sentence)
    rows = [("materials", "relative error, %", "")]
    for k, error in enumerate(advice.errors):
        mark = ""
        if k + 1 == advice.r:
            mark = "recommended"
        rows.append((str(k + 1), f"{100 * error:.2f}", mark))
    print_table(rows, right=(0, 1))


def print_matches(names: list[str], found: Identification) -> None:
    """Print which materials of a library the endmembers are."""
    for note in found.notes:
        print_line(note)
    rows = [("endmember", "material", "nearest spectrum", "angle, °", "next material", "angle, °")]
    for name, match in zip(names, found.matches):
        first = match.nearest[0]
        second = ("–", "–")
        if len(match.nearest) > 1:
            second = (match.nearest[1].material, f"{match.nearest[1].angle:.1f}")
        material = match.material or "no match"
        rows.append((name, material, first.name, f"{first.angle:.1f}", *second))
    print_table(rows, right=(3, 5))
