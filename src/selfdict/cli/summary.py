"""What ``unmix`` and ``demo`` print at their end."""

from pathlib import Path
from typing import Any

from selfdict.cli.console import print_json, print_line


def print_run(record: dict[str, Any], output: Path, quiet: bool, json: bool) -> None:
    """Print the record of a run as JSON or as a few sentences."""
    if json:
        print_json(record)
        return
    if quiet:
        return
    from selfdict.report.words import percent, seconds, within

    pixels = record["pure_pixels"]
    library = record["library"] is not None
    sentence = (
        f"{_found(record)} in {seconds(record['seconds']['total'])}, "
        f"relative error {percent(record['relative_error'])}"
    )
    if record["parameters"]["endmembers"] == "average":
        sentence += f" (of the pure pixels themselves {percent(record['pixel_error'])})"
    if record["gap"] is not None:
        sentence += f", certified gap {within(record['gap'])}"
    if record["rank_advice"] is not None:
        print_line(record["rank_advice"]["sentences"][0])
    print_line(sentence)
    if record["proof"] is not None:
        print_line(f"{record['proof']['sentence']} This is about {record['proof']['about']}.")
    if record["check"] is not None:
        gap = within(record["check"]["gap"])
        print_line(f"for all pixels the best possible value is at most {gap} below the one reached")
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
