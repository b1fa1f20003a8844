"""What ``run.json`` and the table of parameters in the report say about a run."""

import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict import __version__
from selfdict.cli.console import in_command_words
from selfdict.cli.identify import match_records
from selfdict.cli.options import Settings
from selfdict.cli.source import Source, fingerprint

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import RankAdvice, UnmixResult
    from selfdict.scene.result import Comparison


def run_record(
    source: Source,
    settings: Settings,
    result: "UnmixResult",
    scene: "xr.DataArray",
    command: str,
) -> dict[str, Any]:
    """Return everything needed to judge and to repeat the run."""
    from selfdict.scene.plan import fits_in_memory

    first_row, first_column = source.first_pixel()
    n_bands, n_rows, n_columns = scene.shape
    names = None
    if result.identification is not None:
        names = match_records(result.identification, result.labels)
    check = None
    if result.check is not None:
        check = asdict(result.check)
    advice = None
    if result.rank_advice is not None:
        advice = rank_record(result.rank_advice)
    return {
        "selfdict": __version__,
        "versions": {"python": platform.python_version()} | _versions(),
        # In UTC, so that records of several machines can be put in order.
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "input": {
            "path": source.label,
            # Without hashes if the scene is too large to be kept: they would read it once more.
            "files": source.fingerprints(hashed=fits_in_memory(scene)),
            "bands": n_bands,
            "rows": n_rows,
            "columns": n_columns,
            "first_row": first_row,
            "first_column": first_column,
        },
        "library": _library(settings.library),
        "names_library": _library(settings.names),
        "parameters": _parameters(source, result),
        "seed": settings.seed,
        "threads": settings.threads,
        "crs": result.crs,
        "pure_pixels": _pure_pixels(result, n_columns),
        "names": names,
        "relative_error": result.relative_error,
        "pixel_error": result.pixel_error,
        "negative_values": _negative_values(result),
        "groups": _groups(result),
        **_solution(result),
        "check": check,
        "proof": _proof(result),
        "seconds": dict(result.seconds),
        "comparison": [method_record(other) for other in result.comparison],
        "skipped": list(result.skipped),
        **_preflight(result),
        "rank_advice": advice,
    }


def _preflight(result: "UnmixResult") -> dict[str, Any]:
    """Return what was said about the scene, and the bands that were left out of it."""
    if result.preflight is None:
        return {"preflight": [], "bands_left_out": []}
    return {
        "preflight": result.preflight.sentences,
        "bands_left_out": result.preflight.left_out.tolist(),
    }


def rank_record(advice: "RankAdvice") -> dict[str, Any]:
    """Return a recommended number of materials and what speaks for it."""
    return {
        "r": advice.r,
        "sentences": advice.sentences,
        "hysime": advice.hysime,
        "elbow": advice.elbow,
        "noise": advice.noise,
        "single_pixels": advice.n_alone,
        "candidates": advice.n_candidates,
        "errors": advice.errors.tolist(),
        "pixel_errors": advice.pixel_errors.tolist(),
        # As many as are of use: one for each error, and for the recommendation.
        "limits": advice.limits[: max(advice.errors.size, advice.r)].tolist(),
    }


def _library(path: Path | None) -> dict[str, str] | None:
    """Return the path and the SHA-256 of a library."""
    if path is None:
        return None
    return {"path": str(path), "sha256": fingerprint(path)}


def method_record(result: "Comparison") -> dict[str, Any]:
    """Return one row of a comparison."""
    return {"method": result.method, "relative_error": result.error, "seconds": result.seconds}


def _pure_pixels(result: "UnmixResult", n_columns: int) -> list[dict[str, Any]]:
    """Return index, row, column and map coordinates of each pure pixel.

    With a library the pixel is the one with most of a spectrum, and the name of that spectrum is
    added.
    """
    pixels = []
    for k, (row, column) in enumerate(result.pixels.tolist()):
        pixel = {
            "endmember": k + 1,
            # As in the flattened array of pixels, row by row.
            "index": row * n_columns + column,
            "row": row,
            "column": column,
            "x": None,
            "y": None,
        }
        if result.coordinates is not None:
            pixel["x"], pixel["y"] = result.coordinates[k].tolist()
        if result.atoms is not None:
            pixel["name"] = str(result.endmembers["name"].values[k])
        pixels.append(pixel)
    return pixels


def _negative_values(result: "UnmixResult") -> dict[str, Any] | None:
    """Return how many values are negative, and what is done with them."""
    negative = result.negative
    if negative is None:
        return None
    return {
        "count": negative.count,
        "values": negative.n_values,
        "lowest": negative.lowest,
        "treatment": "used as they are",
    }


def _groups(result: "UnmixResult") -> list[dict[str, Any]] | None:
    """Return size, weight and proof of the group of each material; None for other methods."""
    if result.group_weights is None:
        return None
    groups = []
    for k, weight in enumerate(result.group_weights.tolist()):
        group: dict[str, Any] = {"endmember": k + 1, "weight": weight}
        if result.groups is not None:
            group["pixels"] = len(result.groups[k])
        if result.counts is not None:
            group["averaged"] = int(result.counts[k])
        if result.proof is not None:
            group["needed"] = float(result.proof.needed[k])
        groups.append(group)
    return groups


def _solution(result: "UnmixResult") -> dict[str, Any]:
    """Return the facts about the solution of the model; None for methods without one."""
    solution = result.solution
    if solution is None:
        names = (
            "objective",
            "dual_bound",
            "gap",
            "mu",
            "status",
            "status_in_words",
            "candidates",
            "support",
        )
        return dict.fromkeys(names)
    return {
        "objective": float(solution.objective),
        "dual_bound": float(solution.dual_bound),
        "gap": result.gap,
        "mu": float(solution.mu),
        "status": solution.status.name.lower(),
        "status_in_words": in_command_words(str(solution.status)),
        "candidates": len(solution.diagonal),
        "support": len(solution.support),
    }


def _proof(result: "UnmixResult") -> dict[str, Any] | None:
    """Return what is proven about the groups, without the solution behind it."""
    if result.proof is None:
        return None
    proof = result.proof
    about = f"all {result.n_valid:,} pixels"
    if result.atoms is not None:
        about = f"all {proof.closed.size:,} spectra of the library"
    elif proof.closed.size < result.n_valid:
        about = f"{proof.closed.size:,} candidates that stand for {result.n_valid:,} pixels"
        if result.parameters.get("candidates") is None:
            about = f"{proof.closed.size:,} of {result.n_valid:,} pixels"
    # a limit of the error of a sample of the pixels is none of the error of all
    limit: float | None = proof.limit
    problem = proof.solution.problem
    if problem is None or problem.root.n_points < result.n_valid:
        limit = None
    return {
        "enough": proof.enough,
        "needed": proof.needed.tolist(),
        "limit": limit,
        "closed_share": float(proof.closed.mean()),
        "gap": proof.solution.gap,
        "complete": proof.complete,
        "about": about,
        "sentence": proof.sentence,
    }


def _parameters(source: Source, result: "UnmixResult") -> dict[str, Any]:
    """Return the settings of the method and of the reading."""
    reading = source.record()
    # If the scene was read without its bad bands, the settings of the method do not know whether
    # there were any.
    reading["drop_bad_bands"] = source.drop_bad_bands or result.parameters["drop_bad_bands"]
    return {**result.parameters, **reading}


def _versions() -> dict[str, str]:
    """Return the versions of the packages that influence the numbers."""
    versions = {}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "xarray", "rasterio"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            # Optional packages: not every format needs them.
            continue
    return versions


def parameter_table(
    source: Source, settings: Settings, result: "UnmixResult", record: dict[str, Any]
) -> dict[str, str]:
    """Return the rows of the report's table of parameters."""
    shape = record["input"]
    left_out = "none"
    if record["bands_left_out"]:
        left_out = f"{len(record['bands_left_out'])} (the findings say which)"
    abundances = {
        "shares": "parts of each pixel's area (shares)",
        "unit": "shares relative to spectra of unit length (unit)",
        "nnls": "non-negative coefficients (nnls)",
        "fcls": "non-negative coefficients that sum to one (fcls)",
    }[settings.abundances]
    endmembers = "pure pixels"
    if settings.library is not None:
        endmembers = "spectra of the library"
    elif result.parameters["endmembers"] == "average":
        endmembers = "averages over groups of nearly pure pixels"
    versions = (f"{name} {version}" for name, version in record["versions"].items())
    time_limit = None
    if settings.time_limit is not None:
        time_limit = f"{settings.time_limit:g} s"
        if record["skipped"]:
            time_limit += f"; left out: {'; '.join(record['skipped'])}"
    rows = {
        "File": source.label,
        "Size": f"{shape['rows']} × {shape['columns']} pixels, {shape['bands']} bands",
        "Region": source.roi,
        "Bands": source.bands,
        "Mask": source.mask,
        "Bands left out": left_out,
        "Method": settings.method,
        "Number of materials": result.parameters["r"],
        **_model_rows(settings, result),
        "Spectra": endmembers,
        "Abundances": abundances,
        "Time limit": time_limit,
        "Seed": settings.seed,
        "Made": record["created"],
        "Versions": ", ".join(versions),
    }
    # A zarr store has thousands of files; run.json has the hashes of all of them, if any.
    for name, file in list(record["input"]["files"].items())[:4]:
        rows[f"SHA-256 of {name}"] = file["sha256"]
    return {name: str(value) for name, value in rows.items() if value is not None}


def _model_rows(settings: Settings, result: "UnmixResult") -> dict[str, str]:
    """Return the rows about the convex model, for methods that solve one."""
    solution = result.solution
    if solution is None:
        return {}
    rows = {}
    n_candidates = len(solution.diagonal)
    if settings.library is not None:
        rows["Library"] = f"{settings.library}, {n_candidates} spectra"
        # Then the diagonal belongs to the spectra, and the columns of the solution to the pixels.
        n_candidates = solution.coef.shape[1]
    asked = result.parameters.get("candidates")
    rows["Candidates"] = result.parameters.get("candidates_reason", "all pixels")
    if asked:
        rows["Candidates"] = f"{n_candidates} cluster representatives ({asked} asked for)"
    rows["Penalty μ"] = f"{solution.mu:.4g}"
    if settings.mu == "auto":
        rows["Penalty μ"] += " (chosen by the program)"
    return rows
