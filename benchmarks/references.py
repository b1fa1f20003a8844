"""Endmembers and abundances against the references that come with three scenes.

The references were computed, each by a convention of its own: whoever computes abundances in the
same way comes nearest. So the convention comes first, with the error of each kind of abundances
on the reference's own spectra T. Then, for each method: mean-removed spectral angle (MRSA, 0 to
100), spectral angle in degrees, root mean square error of each kind of abundances in percent,
endmembers matched by MRSA. For the shares of FGNSR: the median standard error, and how many
references are within two of them.
"""

from pathlib import Path

import numpy as np

from benchmarks.measuring import SCENES, read_reference
from benchmarks.methods import KINDS, Found, abundances, find, known, rmse, stored
from selfdict import FGNSR, shares
from selfdict.metrics import match, mrsa, spectral_angle

# How the reference abundances of the scenes were computed.
CONVENTIONS = {
    "samson": "nnls / sum on T, with T rescaled to like brightness",
    "jasper_ridge": "near shares of unit length on T",
    "urban_sub4": "nnls / sum on T",
}


def run_references(folder: Path, quick: bool) -> None:
    """Print the tables of the scenes that are in a folder."""
    for name, r in SCENES.items():
        path = folder / f"{name}.npz"
        if path.exists():
            scene(path, r, 2 if quick else 20)


def scene(path: Path, r: int, seeds: int) -> None:
    """Print the convention of a scene, and one line per method."""
    M, T, A, shape = read_reference(path)
    print(f"{path.stem}, r = {r}")
    convention(CONVENTIONS[path.stem], M, T, A)
    kinds = " ".join(f"{kind:>11}" for kind in KINDS)
    print(f"  {'':18} {'MRSA':>6} {'angle °':>8} {kinds}")
    for name, runs in find(M, shape, r, seeds):
        show(name, runs, M, T, A)
    for name, runs in stored(path, M, r):
        show(name, runs, M, T, A)
    for kind in ("pixels", "average"):
        calibration(M, r, kind, T, A)


def convention(words: str, M: np.ndarray, T: np.ndarray, A: np.ndarray) -> None:
    """Print how a reference was made, and what shows it."""
    lengths = np.linalg.norm(M, axis=0)
    typical = [f"{np.median(lengths[row > 0.95]):.1f}" for row in A]
    print(f"  the reference is: {words}")
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
