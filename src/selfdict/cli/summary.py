"""What the commands print at their end."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict._display import at_most, percent
from selfdict.cli.console import in_words, print_json, print_line, print_table

if TYPE_CHECKING:
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

    pixels = record["pure_pixels"]
    library = record["library"] is not None
    pixel_error = None
    if record["parameters"]["endmembers"] == "average":
        pixel_error = record["pixel_error"]
    sentence = (
        f"{_found(record)} in {seconds(record['seconds']['total'])}, "
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
    if library:
        print_line(", ".join(pixel["name"] for pixel in pixels))
    for k, match in enumerate(record["names"] or []):
        print_line(f"{k + 1}. {match['sentence']}")
    for what in record["skipped"]:
        print_line(f"left out for lack of time: {what}")
    for note in record["notes"]:
        print_line(f"note: {note}")
    print_line(f"in {output}: {', '.join(record['files'])}")
    print_line(str(output / "report.html"))


def _found(record: dict[str, Any]) -> str:
    """Return what was found: spectra of a library, averages or pixels."""
    count = len(record["pure_pixels"])
    if record["library"] is not None:
        return f"{count} spectra of the library"
    if record["parameters"]["endmembers"] == "average":
        return f"{count} pure pixels with their groups"
    return f"{count} pure pixels"


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
