"""What the commands print at their end."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict._display import at_most, percent
from selfdict.cli.console import in_command_words, in_words, print_json, print_line, print_table
from selfdict.cli.source import Source

# For annotations only: ``info`` needs none of it.
if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Identification, RankAdvice
    from selfdict.scene.result import Comparison


def print_run(record: dict[str, Any], output: Path, quiet: bool, json: bool) -> None:
    """Print the record of a run as JSON or as a few sentences."""
    if json:
        print_json(record)
        return
    if quiet:
        return
    from selfdict.report.words import both_errors, seconds

    found = f"{len(record['pure_pixels'])} pure pixels"
    pixel_error = None
    if record["library"] is not None:
        found = f"{len(record['pure_pixels'])} spectra of the library"
    elif record["parameters"]["endmembers"] == "average":
        found += " with their groups"
        pixel_error = record["pixel_error"]
    sentence = (
        f"{found} in {seconds(record['seconds']['total'])}, "
        f"relative error {both_errors(record['relative_error'], pixel_error)}"
    )
    if record["gap"] is not None:
        sentence += f", certified gap {at_most(record['gap'])}"
    # First of all: what follows is worth little if the model does not fit.
    if record["fit"] is not None and not record["fit"]["is_sound"]:
        print_line(record["fit"]["headline"])
        for words in record["fit"]["sentences"]:
            print_line(words)
    if record["rank_advice"] is not None:
        print_line(record["rank_advice"]["sentences"][0])
    print_line(sentence)
    if record["proof"] is not None:
        print_line(f"{record['proof']['sentence']} This is about {record['proof']['about']}.")
    if record["check"] is not None:
        gap = at_most(record["check"]["gap"])
        print_line(f"for all pixels the best possible value is at most {gap} below the one reached")
    if record["unexplained"]:
        n_pixels = sum(patch["pixels"] for patch in record["unexplained"])
        share = percent(sum(patch["share"] for patch in record["unexplained"]))
        print_line(
            f"not explained: {len(record['unexplained'])} patches with {n_pixels:,} pixels and "
            f"{share} of the squared error, see the residual in the report"
        )
    # How the solver ended matters only if it ended before the tolerance was reached.
    if record["status"] not in (None, "converged", "exact"):
        print_line(record["status_in_words"])
    if record["library"] is not None:
        print_line(", ".join(pixel["name"] for pixel in record["pure_pixels"]))
    for k, match in enumerate(record["names"] or []):
        print_line(f"{k + 1}. {match['sentence']}")
    for what in record["skipped"]:
        print_line(f"left out for lack of time: {what}")
    for note in record["notes"]:
        print_line(f"note: {note}")
    print_line(f"in {output}: {', '.join(record['files'])}")
    print_line(str(output / "report.html"))


def print_comparison(results: "list[Comparison]") -> None:
    """Print the error of each method, and which is the smallest."""
    smallest_error = min(result.error for result in results)
    rows = [("method", "relative error, %", "", "seconds")]
    for result in results:
        mark = ""
        if result.error == smallest_error:
            mark = "best"
        rows.append((result.method, f"{100 * result.error:.2f}", mark, f"{result.seconds:.2f}"))
    print_table(rows, right=(1, 3))


def print_advice(advice: "RankAdvice") -> None:
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


def print_matches(names: list[str], found: "Identification") -> None:
    """Print which materials of a library the endmembers are."""
    for note in found.notes:
        print_line(note)
    rows = [
        ("endmember", "material", "nearest spectrum", "angle, °", "next material", "angle, °"),
    ]
    for name, match in zip(names, found.matches):
        first = match.nearest[0]
        second = ("–", "–")
        if len(match.nearest) > 1:
            second = (match.nearest[1].material, f"{match.nearest[1].angle:.1f}")
        material = match.material or "no match"
        rows.append((name, material, first.name, f"{first.angle:.1f}", *second))
    print_table(rows, right=(3, 5))


def describe(source: Source) -> dict[str, Any]:
    """Return the facts about a scene.

    A scene that fits in memory is read once. All pixels of a larger one are read twice, block by
    block: to look at the bands, and to count the pixels that are valid in those that are used.
    """
    scene = source.read()
    from selfdict.scene.blocks import valid_mask
    from selfdict.scene.inspection import preflight
    from selfdict.scene.metadata import crs_of, transform_of

    if scene.chunks is not None:
        from selfdict.scene.plan import held_in_memory

        scene = held_in_memory(scene)
    n_bands, n_rows, n_columns = scene.shape
    look = preflight(scene)
    n_valid = int(valid_mask(scene.isel(band=look.used)).sum())
    facts: dict[str, Any] = {
        "file": source.label,
        "format": source.format,
        "bands": n_bands,
        "rows": n_rows,
        "columns": n_columns,
        "data_type": scene.dtype.name,
        "size_in_memory_mb": round(scene.nbytes / 1e6, 3),
        "first_wavelength_nm": _of_bands(scene, "wavelength")[0],
        "last_wavelength_nm": _of_bands(scene, "wavelength")[-1],
        "first_band_name": _of_bands(scene, "band_name")[0],
        "last_band_name": _of_bands(scene, "band_name")[-1],
        "bad_bands": None,
        "no_data_value": scene.attrs.get("_FillValue"),
        "scale_factor": scene.attrs.get("scale_factor"),
        "add_offset": scene.attrs.get("add_offset"),
        "band_gains": _span(scene, "band_gain"),
        "band_offsets": _span(scene, "band_offset"),
        "crs": None,
        "transform": None,
        "valid_pixels": n_valid,
        "valid_share": n_valid / (n_rows * n_columns),
        "bands_left_out": look.left_out.tolist(),
        "findings": [in_command_words(sentence) for sentence in look.sentences],
    }
    if "good_band" in scene.coords:
        facts["bad_bands"] = int((~scene["good_band"].values.astype(bool)).sum())
    crs = crs_of(scene)
    if crs is not None:
        facts["crs"] = crs.to_string()
    transform = transform_of(scene)
    if transform is not None:
        # The last three of the nine entries are always 0, 0, 1. Adding 0 makes −0 a plain zero.
        facts["transform"] = [entry + 0.0 for entry in list(transform)[:6]]
    return facts


def _of_bands(scene: "xr.DataArray", name: str) -> list[Any]:
    """Return a coordinate of the bands; one None if the scene does not have it."""
    if name not in scene.coords:
        return [None]
    values: list[Any] = scene[name].values.tolist()
    return values


def _span(scene: "xr.DataArray", name: str) -> list[float] | None:
    """Return the lowest and the highest number of a coordinate of the bands."""
    if name not in scene.coords:
        return None
    values = scene[name].values
    return [float(values.min()), float(values.max())]


def print_facts(facts: dict[str, Any]) -> None:
    """Print what ``selfdict info`` says about a file: what is known, and its findings."""
    rows = []
    for name, value in facts.items():
        digits = 6
        if name == "transform":
            digits = 10  # metres of a map have seven before the point
        if value is not None and name not in ("findings", "bands_left_out"):
            rows.append((name.replace("_", " "), in_words(value, digits)))
    print_table(rows)
    for sentence in facts["findings"]:
        print_line(sentence)
