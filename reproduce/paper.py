"""Results to compare with: the values printed in the paper, and those of the authors' programs.

The folder ``authors`` holds results of the authors' own programs (GNU Octave 7.3, their C
projection) on public data. ``midpoint_plain.csv`` and ``midpoint_scaled.csv``: section 4.1, 25
repeats per noise level. ``hsi_table.csv``: section 4.2 on three public scenes, with relative errors
in percent (exact NNLS on the whole scene), MRSA against the community's reference endmembers, and
seconds without clustering.
"""

import csv
from dataclasses import dataclass
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
    """A scene of section 4.2 and its table.

    ``patterns`` are parts of the names of its files. The numbers of bands and pixels decide whether
    a file is that scene. ``table`` has seconds and percent for each rank, by method.
    """

    name: str
    patterns: tuple[str, ...]
    bands: int
    pixels: int
    ranks: tuple[int, ...]
    table: dict[str, tuple[float, ...]]
    interval: dict[int, tuple[float, float]] | None = None

    def printed(self, method: str, r: int) -> tuple[float, float] | None:
        """Return the printed seconds and relative error in percent, if there are any."""
        if method not in self.table or r not in self.ranks:
            return None
        k = 2 * self.ranks.index(r)
        return self.table[method][k], self.table[method][k + 1]

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

# Seconds and percent for the smaller rank, then for the larger; 0.01 stands where "<0.01" is
# printed.
URBAN = PrintedScene(
    "Urban",
    ("urban",),
    162,
    307 * 307,
    (6, 8),
    {
        "VCA": (1.02, 18.05, 1.05, 22.68),
        "VCA-100": (0.05, 6.67, 0.07, 4.76),
        "VCA-500": (0.03, 7.19, 0.09, 7.25),
        "SPA": (0.26, 9.58, 0.32, 9.45),
        "SPA-100": (0.01, 9.49, 0.01, 5.01),
        "SPA-500": (0.01, 10.05, 0.01, 8.86),
        "SNPA": (13.60, 9.63, 23.02, 5.64),
        "SNPA-100": (0.10, 11.03, 0.15, 6.17),
        "SNPA-500": (0.15, 10.05, 0.25, 8.86),
        "XRAY": (28.17, 7.50, 95.34, 6.82),
        "XRAY-100": (0.11, 6.78, 0.17, 6.57),
        "XRAY-500": (0.15, 8.07, 0.28, 7.36),
        "H2NMF": (12.20, 5.81, 14.92, 5.47),
        "H2NMF-100": (0.16, 7.11, 0.23, 6.14),
        "H2NMF-500": (0.27, 5.87, 0.37, 5.68),
        "FGNSR-100": (2.73, 5.58, 2.55, 4.62),
        "FGNSR-500": (40.11, 5.07, 39.49, 4.08),
    },
)
SAN_DIEGO = PrintedScene(
    "San Diego airport",
    ("diego",),
    158,
    400 * 400,
    (8, 10),
    {
        "VCA": (1.71, 7.46, 1.79, 9.46),
        "VCA-100": (0.07, 8.49, 0.12, 6.08),
        "VCA-500": (0.06, 9.19, 0.13, 6.29),
        "SPA": (0.53, 12.62, 0.61, 7.01),
        "SPA-100": (0.03, 8.49, 0.01, 5.83),
        "SPA-500": (0.01, 12.64, 0.01, 6.61),
        "SNPA": (38.95, 12.84, 58.45, 7.67),
        "SNPA-100": (0.22, 8.49, 0.20, 6.90),
        "SNPA-500": (0.25, 12.64, 0.48, 6.47),
        "XRAY": (93.29, 13.06, 243.40, 12.62),
        "XRAY-100": (0.14, 8.68, 0.21, 5.12),
        "XRAY-500": (0.19, 13.17, 0.35, 6.82),
        "H2NMF": (21.51, 4.75, 24.42, 4.28),
        "H2NMF-100": (0.30, 6.85, 0.22, 5.61),
        "H2NMF-500": (0.33, 6.78, 0.38, 5.75),
        "FGNSR-100": (2.55, 3.73, 2.47, 3.40),
        "FGNSR-500": (38.70, 4.05, 38.28, 3.40),
    },
)
TERRAIN = PrintedScene(
    "Terrain",
    ("terrain",),
    166,
    500 * 307,
    (5, 6),
    {
        "VCA": (1.65, 10.92, 1.67, 6.22),
        "VCA-100": (0.02, 5.59, 0.03, 7.33),
        "VCA-500": (0.03, 5.77, 0.03, 5.57),
        "SPA": (0.38, 5.89, 0.43, 4.81),
        "SPA-100": (0.01, 4.74, 0.01, 3.95),
        "SPA-500": (0.01, 4.83, 0.01, 4.63),
        "SNPA": (17.54, 5.76, 24.28, 4.60),
        "SNPA-100": (0.10, 5.75, 0.11, 5.65),
        "SNPA-500": (0.10, 4.83, 0.13, 4.78),
        "XRAY": (33.63, 5.39, 73.91, 5.17),
        "XRAY-100": (0.07, 4.15, 0.12, 4.13),
        "XRAY-500": (0.09, 5.21, 0.19, 4.97),
        "H2NMF": (18.23, 5.09, 20.92, 4.85),
        "H2NMF-100": (0.15, 4.72, 0.17, 4.39),
        "H2NMF-500": (0.23, 5.43, 0.29, 5.35),
        "FGNSR-100": (4.23, 3.34, 2.63, 3.21),
        "FGNSR-500": (40.29, 3.68, 40.13, 3.39),
    },
)
# The remark gives the interval in which the errors of all methods lie; its size is that of the
# usual 188-band cut.
CUPRITE = PrintedScene(
    "Cuprite",
    ("cuprite",),
    188,
    250 * 191,
    (15, 20),
    {},
    interval={15: (1.39, 1.99), 20: (1.35, 1.84)},
)
