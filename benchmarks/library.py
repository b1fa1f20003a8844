"""Which spectra of a library are in a scene: the certified model against ℓ1 regression (SUnSAL).

Five spectra of the 498 in ``usgs1995_lib.npz`` (in the folder given as ``data``), drawn at random
with each seed, are mixed in 1,000 pixels with abundances uniform on the simplex, at a
signal-to-noise ratio of 30 dB. Hundreds of these spectra have a neighbour with a cosine above
0.999. Without the file, smooth random spectra take their place.

A spectrum counts as found by its *gate*, max_j ‖d_i‖₁ x_ij / ‖m_j‖₁, the largest share it has in
any pixel: the same measure for both models.
"""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measuring import Table, clock, with_noise
from selfdict import FGNSR, Problem, Solution, mu_heuristic, select_indices, working_set
from selfdict.reductions.steps import denoise

N = 1000
SNR = 30.0
THRESHOLD = 0.05  # of a gate
FACTORS = (0.3, 1.0, 10.0)  # of μ
PENALTIES = (1e-6, 1e-4, 1e-2)  # λ of SUnSAL as parts of the one at which X = 0


def run(quick: bool = False, data: str | None = None) -> None:
    """Print the table; ``quick`` takes one seed instead of five, no ``data`` a random library."""
    seeds = 1 if quick else 5
    D, names = read(data)
    print(
        f"library: {D.shape[1]} spectra of {D.shape[0]} bands, 5 of them in {N} pixels "
        f"at {SNR:g} dB, {seeds} seeds"
    )
    print(
        f"largest cosine to another spectrum: median {np.median(coherence(D)):.5f}, "
        f"largest {coherence(D).max():.5f}"
    )
    table = Table(":<34|gap:8.1e|top 5:6.1f|open:6.1f|found:6.1f|precision:9.2f|seconds:8.2f")
    rows: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(seeds):
        M, K = mixtures(D, seed)
        print(f"seed {seed}: {', '.join(names[K])}")
        for name, measured in compare(M, D, K):
            rows.setdefault(name, []).append(measured)
            table.row(name, *measured)
    print("mean of all seeds")
    for name, all_measured in rows.items():
        table.row(name, *np.mean(all_measured, axis=0))
    print(
        f"top 5: true spectra among the five largest; open: gates above {THRESHOLD}; "
        "found: true ones among these"
    )


def compare(M, D, K):
    """Yield one line of the table per method: the certified gap, what was found, and seconds."""
    w, v = np.abs(M).sum(axis=0), np.abs(D).sum(axis=0)
    guess, (clean, _, mu) = clock(lambda: denoise(M, 5))
    for factor in FACTORS:
        seconds, solution = clock(partial(working_set, clean, factor * mu, D=D, tol=1e-4))
        measured = (solution.gap, *judge(solution.diagonal, K), guess + seconds)
        yield f"gates, denoised, {factor:g} × μ", measured
    model = FGNSR(5, dictionary=D.T, tol=1e-4, random_state=0)
    seconds, _ = clock(lambda: model.fit(M.T))
    gates = np.isin(np.arange(len(v)), model.indices_).astype(float)
    yield "FGNSR: the same, then exchange", (model.gap_, *judge(gates, K), seconds)
    seconds, solution = clock(lambda: working_set(M, mu_heuristic(M, 5, D=D), D=D, tol=1e-4))
    yield "gates, noisy", (solution.gap, *judge(solution.diagonal, K), seconds)
    zeros = np.zeros((len(v), len(w)))
    nothing = Solution.from_matrix(zeros, Problem(M, D=D), diagonal=np.zeros(len(v)))
    seconds, chosen = clock(lambda: select_indices(nothing, 5))
    gates = np.isin(np.arange(len(v)), chosen).astype(float)
    yield "exchange without the model", (np.nan, *judge(gates, K), seconds)
    for name, data in (("noisy", M), ("denoised", clean)):
        largest = np.max(D.T @ data)
        for part in PENALTIES:
            seconds, X = clock(partial(sunsal, data, D, part * largest))
            gates = (v[:, None] * X / w).max(axis=1)
            yield f"SUnSAL, {name}, λ = {part:g}", (np.nan, *judge(gates, K), seconds)


def judge(gates, K):
    """Return the number of K among the five largest, of open gates, of K among these, a share.

    The share is that of K among the open gates.
    """
    top = np.isin(np.argsort(-gates)[:5], K).sum()
    is_open = np.flatnonzero(gates > THRESHOLD)
    found = np.isin(K, is_open).sum()
    return top, len(is_open), found, found / max(1, len(is_open))


def sunsal(M, D, penalty, iterations=1000, tol=1e-4):
    """Minimise ½‖M − DX‖_F² + λ Σ X over X ≥ 0 by the alternating direction method of multipliers.

    After Bioucas-Dias and Figueiredo (2010); the step ρ doubles or halves when one residual is ten
    times the other.
    """
    values, Q = np.linalg.eigh(D.T @ D)
    C, rho, change = D.T @ M, float(np.mean(values)), 0.0
    Z = U = np.zeros_like(C)
    stop = tol * np.sqrt(C.size)
    for _ in range(iterations):
        if change != 1.0:
            inverse = (Q / (values + rho)) @ Q.T
        X = inverse @ (C + rho * (Z - U))
        Z, before = np.maximum(X + U - penalty / rho, 0.0), Z
        U = U + X - Z
        primal, dual = np.linalg.norm(X - Z), rho * np.linalg.norm(Z - before)
        if primal <= stop and dual <= stop:
            break
        change = 2.0 if primal > 10 * dual else 0.5 if dual > 10 * primal else 1.0
        rho, U = rho * change, U / change
    return Z


def mixtures(D, seed):
    """Return mixtures of five atoms of D at the signal-to-noise ratio, and which atoms."""
    rng = np.random.default_rng(seed)
    K = rng.choice(D.shape[1], 5, replace=False)
    M = D[:, K] @ rng.dirichlet(np.ones(5), N).T
    return with_noise(M, rng, decibels=SNR), K


def read(data):
    """Return the atoms (bands, spectra) and their names."""
    if data is None:
        rng = np.random.default_rng(0)
        spectra = np.cumsum(np.cumsum(rng.standard_normal((100, 200)), axis=0), axis=0)
        spectra -= spectra.min(axis=0)
        return 0.05 + spectra / spectra.max(axis=0), np.array([f"random {k}" for k in range(200)])
    with np.load(Path(data) / "usgs1995_lib.npz", allow_pickle=False) as file:
        return file["D"].astype(np.float64), file["names"]


def coherence(D):
    """Return the largest cosine of each atom to another."""
    U = D / np.linalg.norm(D, axis=0)
    return np.max(U.T @ U - 2 * np.eye(D.shape[1]), axis=0)
