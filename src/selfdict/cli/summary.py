"""What the commands print at their end."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict.cli.console import in_command_words, in_words, print_json, print_line, print_table
from selfdict.cli.source import Source

# For annotations only: ``info`` needs none of it.
if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Identification, RankAdvice
    from selfdict.scene.result import Comparison, UnmixResult


def print_run(
    result: "UnmixResult", record: dict[str, Any], output: Path, quiet: bool, json: bool
) -> None:
    """Print the record of a run as JSON, or what was found and where it is."""
    if json:
        print_json(record)
        return
    if quiet:
        return
    from selfdict.scene.facts import facts

    # What the preflight found was printed before the work.
    shown = [fact for fact in facts(result) if fact.name not in ("preflight", "notes")]
    print_table([(fact.name, in_command_words(fact.sentence)) for fact in shown])
    for k, match in enumerate(record["names"] or []):
        print_line(f"{k + 1}. {match['sentence']}")
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
    rows = [("endmember", "material", "nearest spectrum", "angle, °", "next material", "angle, °")]
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
        "variable": None,
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
    if source.format in ("netcdf", "hdf5", "zarr", "mat"):
        facts["variable"] = scene.name
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
    values = _of_bands(scene, name)
    if values == [None]:
        return None
    return [min(values), max(values)]


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
