"""What the authors' own programs gave (GNU Octave 7.3, their C projection) on data anybody can make or get.

``midpoint_plain.csv`` and ``midpoint_scaled.csv``: section 4.1, 25 repeats a noise level.
``hsi_table.csv``: section 4.2 on three public scenes; relative errors in percent (exact NNLS on the
whole scene), MRSA against the reference endmembers of the community, seconds without clustering.
"""

import csv
from importlib.resources import files

# bands, pixels
_SCENES = {(162, 5929): "urban_sub4", (198, 10000): "jasper_ridge", (156, 9025): "samson"}


def midpoints(scaled: bool) -> list[dict[str, float]]:
    """Return recovery (``rec_…``), approximation (``relapp_…``) and their standard errors for each noise level."""
    name = "midpoint_scaled.csv" if scaled else "midpoint_plain.csv"
    return [{key: float(value) for key, value in row.items()} for row in _rows(name)]


def scene_name(shape: tuple[int, int]) -> str | None:
    """Return the name of the scene with that many bands and pixels, if the authors' programs were run on it.

    Examples
    --------
    >>> from selfdict.experiments.authors import scene_name
    >>> scene_name((156, 9025))
    'samson'
    """
    return _SCENES.get(shape)


def scene_results(shape: tuple[int, int], r: int) -> dict[str, tuple[float, float, float]]:
    """Return relative error in percent, MRSA and seconds of each method, for one of these scenes; else nothing."""
    name = scene_name(shape)
    return {
        row["method"]: (float(row["rel_error"]), float(row["mrsa"]), float(row["seconds"]))
        for row in _rows("hsi_table.csv")
        if row["dataset"] == name and int(row["r"]) == r
    }


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("selfdict.experiments") / "authors" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
