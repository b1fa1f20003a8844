"""Areas from shares against areas known beforehand: sheets laid out on grass in DLR's HySU scene.

``DIR/hysu_targets.npz``: airborne HySpex, 135 bands, 42×24 pixels of 0.7 m (Cerra et al., Remote
Sensing 13, 2559, 2021). Squares of five materials have sides of 3, 2, 1 and 0.5 m. The area of a
target is the sum of its material's shares over its pixels, times the area of a pixel. Errors are
relative to the known area and averaged over the materials.

Which endmembers are a material decides much, so there are three counts. One endmember per
material, in the best matching with the spectra measured on the ground, by MRSA or by spectral
angle; endmembers left over count for no material. Or every endmember counts for the ground spectrum
that is nearest to it by spectral angle.

"unmix, added up" follows the notes of ``unmix``: endmembers that differ by less than the pixels of
their groups do are one, with the spectrum that has the larger shares.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.methods import KINDS, Found, abundances, find, known, stored
from selfdict.metrics import mean_removed_angles, mrsa

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
    """What is measured of one method: MRSA, and the error of the area by count, kind and side."""

    mrsa: float
    errors: dict[str, dict[str, np.ndarray]]


def run_targets(folder: Path, quick: bool) -> None:
    """Print a table for each count and number of endmembers, then the largest targets over all."""
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
    given = {
        "ground spectra": measure([known(targets.ground, targets.M)], targets),
        "picked pixels": measure([known(targets.picked, targets.M)], targets),
    }
    tables = {}
    for r in ranks:
        tables[r] = {
            name: measure(runs, targets) for name, runs in every_method(path, targets, r, seeds)
        }
    sides = ", ".join(f"{side:g}" for side in targets.sides)
    print(f"HySU: MRSA to ground spectra; mean error of the area (%), squares of {sides} m")
    for count in COUNTS:
        print(count)
        print(f"  {'':18} {'MRSA':>6} " + " ".join(f"{kind:>19}" for kind in KINDS))
        show(given, count)
        for r, table in tables.items():
            print(f"r = {r}")
            show(table, count)
    for count in COUNTS:
        for kind in KINDS:
            print(f"squares of {targets.sides[0]:g} m (%), {count}, {kind}")
            over_ranks(tables, count, kind)


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
    angles = []
    errors = {count: {kind: [] for kind in KINDS} for count in COUNTS}
    for found in runs:
        kept, adding = added_up(found)
        E = found.endmembers[:, kept]
        angles.append(mrsa(E, targets.ground))
        for kind, A in abundances(found, targets.M).items():
            for count, assign in COUNTS.items():
                materials = assign(E, targets.ground) @ adding @ A
                errors[count][kind].append(area_errors(materials, targets))
    means = {
        count: {kind: np.mean(values, axis=0) for kind, values in kinds.items()}
        for count, kinds in errors.items()
    }
    return Line(float(np.mean(angles)), means)


def added_up(found: Found) -> tuple[list[int], np.ndarray]:
    """Return one endmember of each set of alike ones, and a matrix that adds up their shares."""
    r = len(found.shares)
    adding = np.eye(r)
    kept = list(range(r))
    for alike in found.alike:
        largest = max(alike, key=lambda k: found.shares[k].sum())
        adding[largest, list(alike)] = 1.0
        kept = [k for k in kept if k == largest or k not in alike]
    return kept, adding[kept]


def matched_by_mrsa(E: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Return a matrix (materials, r) of zeros and ones: one endmember per material, by MRSA."""
    return one_each(mean_removed_angles(E, ground))


def matched_by_angle(E: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Return a matrix (materials, r) of zeros and ones: one endmember per material, by angle."""
    return one_each(plain_angles(E, ground))


def nearest(E: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Return a matrix (materials, r) of zeros and ones: each endmember is its nearest material."""
    closest = plain_angles(E, ground).argmin(axis=1)
    return (closest == np.arange(ground.shape[1])[:, None]).astype(float)


COUNTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "one endmember per material, by MRSA": matched_by_mrsa,
    "one endmember per material, by spectral angle": matched_by_angle,
    "every endmember, nearest material": nearest,
}


def one_each(angles: np.ndarray) -> np.ndarray:
    """Return the best matching of endmembers (rows) with materials as zeros and ones."""
    matching = np.zeros(angles.T.shape)
    endmembers, materials = linear_sum_assignment(angles)
    matching[materials, endmembers] = 1.0
    return matching


def plain_angles(E: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Return the spectral angles between all pairs of columns."""
    cosines = (E / np.linalg.norm(E, axis=0)).T @ (ground / np.linalg.norm(ground, axis=0))
    return np.arccos(np.clip(cosines, -1.0, 1.0))


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


def show(table: dict[str, Line], count: str) -> None:
    """Print a line per method, with all kinds of abundances and sides."""
    for name, line in table.items():
        columns = []
        for errors in line.errors[count].values():
            columns.append("    " + "".join(f"{error:4.0f}" for error in errors))
        print(f"  {name:18} {line.mrsa:6.2f} " + "".join(columns), flush=True)


def over_ranks(tables: dict[int, dict[str, Line]], count: str, kind: str) -> None:
    """Print the error for the largest targets over the number of endmembers."""
    print(f"  {'r =':18}" + "".join(f"{r:4}" for r in tables))
    names = dict.fromkeys(name for table in tables.values() for name in table)
    for name in names:
        cells = []
        for table in tables.values():
            cell = "–"  # a file for another number of endmembers
            if name in table:
                cell = f"{table[name].errors[count][kind][0]:.0f}"
            cells.append(f"{cell:>4}")
        print(f"  {name:18}" + "".join(cells), flush=True)
