"""Results to compare with: the values printed in the paper, and those of the authors' programs.

The folder ``authors`` holds results of the authors' own programs (GNU Octave 7.3, their C
projection) on public data. ``midpoint_plain.csv`` and ``midpoint_scaled.csv``: section 4.1, 25
repeats per noise level. ``hsi_table.csv``: section 4.2 on three public scenes, with relative errors
in percent (exact NNLS on the whole scene), MRSA against the community's reference endmembers, and
seconds without clustering. ``printed.csv``: tables 2 to 4 as printed in the paper; 0.01 seconds
stand where "<0.01" is printed.
"""

import csv
from dataclasses import dataclass, field
from pathlib import Path

# Number of bands and pixels of the authors' scenes, whatever their files are called.
_AUTHORS_SCENES = {(162, 5929): "urban_sub4", (198, 10000): "jasper_ridge", (156, 9025): "samson"}


def authors_midpoints(scaled: bool) -> list[dict[str, float]]:
    """Return one row per noise level.

    Its columns are the recovery (``rec_…``) and the approximation (``relapp_…``) of each method,
    and their standard errors.
    """
    name = "midpoint_plain.csv"
    if scaled:
        name = "midpoint_scaled.csv"
    return [{key: float(value) for key, value in row.items()} for row in _authors_rows(name)]


def authors_results(shape: tuple[int, int], r: int) -> dict[str, tuple[float, float, float]]:
    """Return relative error in percent, MRSA and seconds of each method on a scene.

    Empty if the authors' programs were not run on a scene of this shape with this rank.
    """
    name = _AUTHORS_SCENES.get(shape)
    return {
        row["method"]: (float(row["rel_error"]), float(row["mrsa"]), float(row["seconds"]))
        for row in _authors_rows("hsi_table.csv")
        if row["dataset"] == name and int(row["r"]) == r
    }


def _authors_rows(name: str) -> list[dict[str, str]]:
    path = Path(__file__).parent / "authors" / name
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class PrintedScene:
    """A scene of section 4.2.

    ``pattern`` is a part of the names of its files. The numbers of bands and pixels decide whether
    a file is that scene. ``interval`` is that of the errors of all methods, for each rank.
    """

    name: str
    pattern: str
    bands: int
    pixels: int
    ranks: tuple[int, ...]
    interval: dict[int, tuple[float, float]] = field(default_factory=dict)

    def printed(self, r: int) -> dict[str, tuple[float, float]]:
        """Return the printed seconds and relative error in percent of each method."""
        return {
            row["method"]: (float(row["seconds"]), float(row["rel_error"]))
            for row in _authors_rows("printed.csv")
            if row["scene"] == self.name and int(row["r"]) == r
        }

    def wanted(self) -> str:
        """Return a description of the file that is needed."""
        return f"the {self.name} scene ({self.bands} bands × {self.pixels:,} pixels)"


# Table 1: cost, memory, parameters, needs columns normalised, seconds on the middle points. "<0.01"
# is printed for SPA.
TABLE1 = {
    "SPA": ("2mnr + O(mr²)", "O(mn)", "r", "yes", "<0.01"),
    "XRAY": ("O(mnr)", "O(mn)", "r", "no", "0.03"),
    "SNPA": ("O(mnr)", "O(mn)", "r", "yes", "0.10"),
    "SOCP": ("O(n⁶)", "O(n⁴)", "‖N‖_F", "no", "2.78"),
    "FGNSR": ("O(mn²)", "O(mn + n²)", "r or ‖N‖_F", "no", "0.09"),
}
URBAN = PrintedScene("Urban", "urban", 162, 307 * 307, (6, 8))
SAN_DIEGO = PrintedScene("San Diego airport", "diego", 158, 400 * 400, (8, 10))
TERRAIN = PrintedScene("Terrain", "terrain", 166, 500 * 307, (5, 6))
# The remark gives no table; the size is that of the usual 188-band cut.
CUPRITE = PrintedScene(
    "Cuprite", "cuprite", 188, 250 * 191, (15, 20), {15: (1.39, 1.99), 20: (1.35, 1.84)}
)
