"""Areas from shares against areas known beforehand: sheets laid out on grass in DLR's HySU scene.

``DIR/hysu_targets.npz``: airborne HySpex, 135 bands, 42×24 pixels of 0.7 m (Cerra et al., Remote
Sensing 13, 2559, 2021). Squares of five materials have sides of 3, 2, 1 and 0.5 m. The area of a
target is the sum of its material's shares over its pixels, times the area of a pixel. Errors are
relative to the known area and averaged over the materials. An endmember gets the name of the
spectrum measured on the ground to which the best matching by MRSA assigns it; endmembers left over
count for no material.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.methods import KINDS, Found, abundances, find, known, stored
from selfdict.metrics import match, mrsa

FILE = "hysu_targets.npz"
RANKS = range(6, 13)
SIZES = 4  # squares of 0.25 m, an eighth of a pixel, are left out


@dataclass(frozen=True)
class Targets:
    """Pixels M (bands, n) of an image and the targets in it.

    ``members`` (n, materials) is true for the pixels around a material's targets, ``sizes`` (n,)
    counts the sides from one. ``ground`` and ``picked`` are spectra (bands, materials and grass).
    """

    M: np.ndarray
    shape: tuple[int, int]
    members: np.ndarray
    sizes: np.ndarray
    sides: np.ndarray
    pixel_area: float
    ground: np.ndarray
    picked: np.ndarray


@dataclass(frozen=True)
class Line:
    """What is measured of one method: MRSA, and per kind the error of the area for each side."""

    mrsa: float
    errors: dict[str, np.ndarray]


def run_targets(folder: Path, quick: bool) -> None:
    """Print a table for each number of endmembers, and the largest targets over all of them."""
    path = folder / FILE
    if not path.exists():
        print(f"no {FILE} in {folder}: no areas of targets")
        return
    ranks = RANKS
    seeds = 20
    if quick:
        ranks = range(8, 9)
        seeds = 2
    targets = read(path)
    sides = ", ".join(f"{side:g}" for side in targets.sides)
    print(f"HySU: MRSA to ground spectra; mean error of the area (%), squares of {sides} m")
    header()
    show("ground spectra", measure([known(targets.ground, targets.M)], targets))
    show("picked pixels", measure([known(targets.picked, targets.M)], targets))
    tables = {}
    for r in ranks:
        print(f"r = {r}")
        tables[r] = {}
        for name, runs in every_method(path, targets, r, seeds):
            tables[r][name] = measure(runs, targets)
            show(name, tables[r][name])
    for kind in KINDS:
        over_ranks(kind, tables, targets.sides[0])


def every_method(path: Path, targets: Targets, r: int, seeds: int) -> Iterator[tuple[str, list]]:
    """Yield what each method finds, and what other programs found."""
    yield from find(targets.M, targets.shape, r, seeds)
    yield from stored(path, targets.M, r)


def read(path: Path) -> Targets:
    """Read the scene."""
    with np.load(path, allow_pickle=False) as file:
        cube = file["cube"]
        members = file["materials"] > 0
        return Targets(
            M=np.ascontiguousarray(cube.reshape(len(cube), -1) / float(file["scale"])),
            shape=cube.shape[1:],
            members=members.reshape(-1, members.shape[2]),
            sizes=file["size_class"].ravel(),
            sides=file["side_m"][:SIZES],
            pixel_area=float(file["pixel_area_m2"]),
            ground=file["field_library"],
            picked=file["image_library"],
        )


def measure(runs: list[Found], targets: Targets) -> Line:
    """Return the means over the runs of a method."""
    angles = [mrsa(found.endmembers, targets.ground) for found in runs]
    errors = {kind: [] for kind in KINDS}
    for found in runs:
        order = material_order(found.endmembers, targets.ground)
        for kind, A in abundances(found, targets.M).items():
            errors[kind].append(area_errors(A[order], targets))
    means = {kind: np.mean(values, axis=0) for kind, values in errors.items()}
    return Line(float(np.mean(angles)), means)


def material_order(E: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Return the endmember that stands for each ground spectrum; there are at least as many."""
    ours, theirs = match(E, ground)
    return ours[np.argsort(theirs)]


def area_errors(shares: np.ndarray, targets: Targets) -> np.ndarray:
    """Return the mean error of the area over the materials, in percent, for each side.

    Row q of ``shares`` (materials or more, n) belongs to material q.
    """
    n_materials = targets.members.shape[1]
    errors = []
    for size, side in enumerate(targets.sides, start=1):
        areas = np.zeros(n_materials)
        for q in range(n_materials):
            pixels = (targets.sizes == size) & targets.members[:, q]
            areas[q] = shares[q, pixels].sum() * targets.pixel_area
        errors.append(100 * np.mean(np.abs(areas / side**2 - 1)))
    return np.array(errors)


def header() -> None:
    """Print the names of the columns."""
    print(f"  {'':18} {'MRSA':>6} " + " ".join(f"{kind:>19}" for kind in KINDS))


def show(name: str, line: Line) -> None:
    """Print one method."""
    columns = []
    for kind in KINDS:
        columns.append("    " + "".join(f"{error:4.0f}" for error in line.errors[kind]))
    print(f"  {name:18} {line.mrsa:6.2f} " + "".join(columns), flush=True)


def over_ranks(kind: str, tables: dict[int, dict[str, Line]], side: float) -> None:
    """Print the error for the largest targets over the number of endmembers."""
    print(f"squares of {side:g} m (%), {kind}, r = " + ", ".join(str(r) for r in tables))
    names = dict.fromkeys(name for table in tables.values() for name in table)
    for name in names:
        cells = []
        for table in tables.values():
            cell = "–"  # a file for another number of endmembers
            if name in table:
                cell = f"{table[name].errors[kind][0]:.0f}"
            cells.append(f"{cell:>4}")
        print(f"  {name:18}" + "".join(cells), flush=True)
