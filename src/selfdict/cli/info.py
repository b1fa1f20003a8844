"""``selfdict info``: what a file holds, and what seems wrong with it."""

from typing import Any

from selfdict.cli.console import handle_errors, print_json, print_line, print_table
from selfdict.cli.options import (
    File,
    Json,
    KeptDetector,
    Layout,
    MaxBytes,
    NoData,
    Shape,
    Variable,
)
from selfdict.cli.source import Source


@handle_errors
def info(
    file: File,
    no_data: NoData = None,
    variable: Variable = None,
    overlap: KeptDetector = None,
    shape: Shape = None,
    layout: Layout = None,
    max_bytes: MaxBytes = None,
    json: Json = False,
) -> None:
    """Say what a file holds, what is assumed about it, and what seems wrong with it."""
    from selfdict.cli.describe import describe

    source = Source(
        file,
        variable=variable,
        overlap=overlap,
        shape=shape,
        layout=layout,
        max_bytes=max_bytes,
        nodata=no_data,
    )
    facts = describe(source)
    if json:
        print_json(facts)
        return
    findings = facts.pop("findings")
    left_out = facts.pop("bands_left_out")
    rows = [(name.replace("_", " "), _in_words(value)) for name, value in facts.items()]
    rows.append(("bands left out", str(len(left_out))))
    print_table(("", ""), rows)
    for sentence in findings:
        print_line(sentence)


def _in_words(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
