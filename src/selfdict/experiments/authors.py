"""Results of the authors' own programs (GNU Octave 7.3, their C projection) on public data.

``midpoint_plain.csv`` and ``midpoint_scaled.csv``: section 4.1, 25 repeats per noise level.
``hsi_table.csv``: section 4.2 on three public scenes, with relative errors in percent (exact NNLS
on the whole scene), MRSA against the community's reference endmembers, and seconds without
clustering.
"""

import csv
from importlib.resources import files

# Number of bands and pixels, which identify the scene whatever its file is called.
_SCENES = {(162, 5929): "urban_sub4", (198, 10000): "jasper_ridge", (156, 9025): "samson"}


def midpoints(scaled: bool) -> list[dict[str, float]]:
    """Return one row per noise level.

    Its columns are the recovery (``rec_…``) and the approximation (``relapp_…``) of each method,
    and their standard errors.
    """
    name = "midpoint_plain.csv"
    if scaled:
        name = "midpoint_scaled.csv"
    return [{key: float(value) for key, value in row.items()} for row in _rows(name)]


def scene_name(shape: tuple[int, int]) -> str | None:
    """Return the name of the scene with these numbers of bands and pixels.

    None if the authors' programs were not run on such a scene.

    Examples
    --------
    >>> from selfdict.experiments.authors import scene_name
    >>> scene_name((156, 9025))
    'samson'
    """
    return _SCENES.get(shape)


def scene_results(shape: tuple[int, int], r: int) -> dict[str, tuple[float, float, float]]:
    """Return relative error in percent, MRSA and seconds of each method on a scene.

    Empty if the authors' programs were not run on a scene of this shape with this rank.
    """
    name = scene_name(shape)
    return {
        row["method"]: (float(row["rel_error"]), float(row["mrsa"]), float(row["seconds"]))
        for row in _rows("hsi_table.csv")
        if row["dataset"] == name and int(row["r"]) == r
    }


def _rows(name: str) -> list[dict[str, str]]:
    # As a resource of the package, which need not be a file on disk.
    text = (files("selfdict.experiments") / "authors" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
