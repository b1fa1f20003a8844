"""Endmembers and abundances against the references that come with three scenes.

The references were computed, each by a convention of its own: whoever computes abundances in the
same way comes nearest. So the convention comes first, with the error of each kind of abundances
on the reference's own spectra T. Then, for each method: mean-removed spectral angle (MRSA, 0 to
100), spectral angle in degrees, root mean square error of each kind of abundances in percent,
endmembers matched by MRSA. For the shares of FGNSR: the median standard error, and how many
references are within two of them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.methods import KINDS, Found, abundances, find, known, rmse, stored
from selfdict import FGNSR, shares
from selfdict.metrics import match, mrsa, spectral_angle


@dataclass(frozen=True)
class Reference:
    """The number of endmembers of a scene, and how its abundances were computed."""

    r: int
    convention: str


SCENES = {
    "samson": Reference(3, "nnls / sum on T, with T rescaled to like brightness"),
    "jasper_ridge": Reference(4, "near shares of unit length on T"),
    "urban_sub4": Reference(6, "nnls / sum on T"),
}


def run_references(folder: Path, quick: bool) -> None:
    """Print the tables of the scenes that are in a folder."""
    for name, reference in SCENES.items():
        path = folder / f"{name}.npz"
        if path.exists():
            scene(path, reference, quick)


def scene(path: Path, reference: Reference, quick: bool) -> None:
    """Print the convention of a scene, and one line per method."""
    with np.load(path, allow_pickle=False) as file:
        M = file["Y"].astype(np.float64) / float(file["scale"])
        T = file["M"].astype(np.float64)
        A = file["A"].astype(np.float64)
        shape = (int(file["nCol"]), int(file["nRow"]))  # pixels are stored column by column
    seeds = 20
    if quick:
        seeds = 2
    print(f"{path.stem}, r = {reference.r}")
    convention(reference, M, T, A)
    kinds = " ".join(f"{kind:>11}" for kind in KINDS)
    print(f"  {'':18} {'MRSA':>6} {'angle °':>8} {kinds}")
    for name, runs in find(M, shape, reference.r, seeds):
        show(name, runs, M, T, A)
    for name, runs in stored(path, M, reference.r):
        show(name, runs, M, T, A)
    for kind in ("pixels", "average"):
        calibration(M, reference.r, kind, T, A)


def convention(reference: Reference, M: np.ndarray, T: np.ndarray, A: np.ndarray) -> None:
    """Print how a reference was made, and what shows it."""
    lengths = np.linalg.norm(M, axis=0)
    typical = [f"{np.median(lengths[row > 0.95]):.1f}" for row in A]
    print(f"  the reference is: {reference.convention}")
    print(
        f"  lengths of T: {', '.join(f'{x:.1f}' for x in np.linalg.norm(T, axis=0))}; "
        f"of pixels with a share above 0.95: {', '.join(typical)}"
    )
    errors = [f"{kind} {rmse(found, A):.1f}" for kind, found in abundances(known(T, M), M).items()]
    print(f"  RMSE of abundances on T itself (%): {', '.join(errors)}", flush=True)


def show(name: str, runs: list[Found], M: np.ndarray, T: np.ndarray, A: np.ndarray) -> None:
    """Print the means over the runs of a method."""
    rows = []
    for found in runs:
        E = found.endmembers
        ours, theirs = match(E, T)
        errors = [rmse(H[ours], A[theirs]) for H in abundances(found, M).values()]
        rows.append([mrsa(E, T), spectral_angle(E, T, degrees=True), *errors])
    means = np.mean(rows, axis=0)
    errors = " ".join(f"{error:11.2f}" for error in means[2:])
    print(f"  {name:18} {means[0]:6.2f} {means[1]:8.2f} {errors}", flush=True)


def calibration(M: np.ndarray, r: int, kind: str, T: np.ndarray, A: np.ndarray) -> None:
    """Print how the standard errors of shares compare with their distance from a reference."""
    model = FGNSR(r, endmembers=kind, random_state=0).fit(M.T)
    parts, std = model.shares(M.T, return_std=True)
    blind = shares(model.components_.T, M, illumination=model.illumination_, return_std=True)[1].T
    ours, theirs = match(model.components_.T, T)
    distance = np.abs(parts[:, ours] - A[theirs].T)
    for label, errors in ((f"FGNSR, {kind}", std), ("  residual alone", blind)):
        within = float((distance <= 2 * errors[:, ours]).mean())
        print(
            f"  {label:18} standard error {100 * np.median(errors):.1f} points (median), "
            f"{100 * within:.0f} % of the references within two",
            flush=True,
        )
