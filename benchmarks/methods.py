"""Endmembers by every method and abundances of every kind: what benchmarks of accuracy share."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from selfdict import FGNSR, fcls, h2nmf, nnls, shares, snpa, spa, unmix, vca, xray
from selfdict.abundances import Illumination, unit_shares

# How abundances follow from endmembers; "package" are the shares the package gives by default.
KINDS = ("fcls", "nnls / sum", "unit length", "package")


@dataclass(frozen=True)
class Found:
    """Endmembers (bands, r) and the package's shares (r, pixels) for them.

    ``alike``: sets of endmembers that count as one material, whose shares are added up.
    """

    endmembers: np.ndarray
    shares: np.ndarray
    alike: tuple[tuple[int, ...], ...] = ()


def find(M: np.ndarray, shape: tuple[int, int], r: int, seeds: int) -> Iterator[tuple[str, list]]:
    """Yield the name of each method with what it found; VCA, which is random, once per seed."""
    yield "FGNSR, pixels", [fitted(FGNSR(r, random_state=0), M)]
    yield "FGNSR, averages", [fitted(FGNSR(r, endmembers="average", random_state=0), M)]
    found, alike = unmixed(M, shape, r)
    yield "unmix, defaults", [found]
    yield "unmix, added up", [replace(found, alike=alike)]
    yield "SPA", [pixels(M, spa(M, r))]
    yield "SNPA", [pixels(M, snpa(M, r))]
    yield "XRAY", [pixels(M, xray(M, r))]
    yield "H2NMF", [pixels(M, h2nmf(M, r).indices)]
    runs = [pixels(M, vca(M, r, random_state=seed)) for seed in range(seeds)]
    yield f"VCA, {seeds} seeds", runs


def stored(path: Path, M: np.ndarray, r: int) -> Iterator[tuple[str, list]]:
    """Yield r endmembers of other programs: ``E`` in ``PROGRAM_SCENE.npz`` beside the scene."""
    for other in sorted(path.parent.glob(f"*_{path.stem}.npz")):
        with np.load(other, allow_pickle=False) as file:
            if "E" in file and file["E"].shape[1] == r:
                program = other.stem.removesuffix(f"_{path.stem}")
                yield f"{program} (file)", [known(file["E"].astype(np.float64), M)]


def fitted(model: FGNSR, M: np.ndarray) -> Found:
    """Return what an estimator finds in the columns of M."""
    model.fit(M.T)
    return Found(model.components_.T, model.shares(M.T).T)


def unmixed(M: np.ndarray, shape: tuple[int, int], r: int) -> tuple[Found, tuple]:
    """Return what ``unmix`` finds with all defaults in an image, and which of it may be alike."""
    result = unmix(M.T.reshape(*shape, -1), r, random_state=0)
    found = Found(result.endmembers.values.T, result.abundances.values.reshape(r, -1))
    return found, result.alike


def pixels(M: np.ndarray, indices: np.ndarray) -> Found:
    """Return chosen pixels with the package's shares: relative to their typical brightness."""
    U = M[:, indices]
    return Found(U, shares(U, M, illumination=Illumination.of(U, M, rescale=True)))


def known(U: np.ndarray, M: np.ndarray) -> Found:
    """Return endmembers of a known brightness with the package's shares."""
    return Found(U, shares(U, M))


def abundances(found: Found, M: np.ndarray) -> dict[str, np.ndarray]:
    """Return the abundances (r, pixels) of each kind."""
    U = found.endmembers
    return {
        "fcls": fcls(U, M),
        "nnls / sum": as_sum_one(nnls(U, M)),
        "unit length": unit_shares(U, M),
        "package": found.shares,
    }


def as_sum_one(H: np.ndarray) -> np.ndarray:
    """Return coefficients divided by their sums; pixels of zeros stay."""
    return H / np.maximum(H.sum(axis=0), 1e-12)


def rmse(A: np.ndarray, B: np.ndarray) -> float:
    """Return the root mean square difference of abundances whose rows correspond, in percent."""
    return 100 * float(np.sqrt(((A - B) ** 2).mean()))
