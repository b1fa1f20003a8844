"""The certified solver on whole scenes: time in bare passes over MᵀM, certified gap, peak memory.

A *bare pass* is the product MᵀM of the same data in float64, a block of rows at a time, thrown
away: what any look at all rows costs at least. It is timed in the same run. The penalty is the
paper's heuristic times a factor.

The scenes are ``samson.npz``, ``jasper_ridge.npz`` and ``urban_sub4.npz`` (``Y`` bands × pixels,
``scale``), and ``urban_gt_end6.npz`` with ``bundles_mua.npz`` for the mixed ones, in the folder
given as ``data``. ``--smooth RATIO`` adds squares of the gates to the penalty, with this multiple
of it as their weight, and compares the memory with that without them. ``--growth`` measures mixed
scenes of up to a million pixels instead, and draws ``docs/images/growth.png``.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import SCENES, memory_status, quickest, read_matrix
from selfdict import Solution, fast_gradient, mu_heuristic, working_set
from selfdict.datasets import make_mixtures
from selfdict.model import score_bounds
from selfdict.model.problem import jitter
from selfdict.model.score_bounds import ScoreBounds

FIXTURES = Path(__file__).parent.parent / "tests" / "fixtures"
GROWTH = (1_000, 3_000, 10_000, 30_000, 94_249, 250_000, 1_000_000)
GROWTH_PLOT = Path(__file__).parent.parent / "docs" / "images" / "growth.png"
LONGEST_EXHAUSTIVE = 100_000  # points up to which all rows are scored for comparison
LONGEST_FLOAT64 = 300_000  # points beyond which the scene is float32
LONGEST_PASS = 100_000  # points beyond which a part of the bare pass is timed, and scaled
BLOCK = 1024


def run(
    quick: bool = False, data: str | None = None, growth: bool = False, smooth: float = 0.0
) -> None:
    """Print the table; ``quick`` leaves out what takes minutes, no ``data`` the scenes."""
    if growth:
        if data is None:
            raise SystemExit(
                "name the folder that holds urban_gt_end6.npz and bundles_mua.npz: --data DIR"
            )
        measure_growth(data, GROWTH[:2] if quick else GROWTH, None if quick else GROWTH_PLOT)
        return
    print(
        "working_set: certified gap, time in bare passes over MᵀM (one pass in seconds), "
        "peak memory beyond M"
    )
    if smooth == 0:
        cases()
        synthetic(iterations=50 if quick else 1000)
    if data is None:
        print("for the scenes name the folder that holds them: --data DIR")
        return
    for name, r in SCENES.items():
        for factor in (1.0, 0.1):
            M = read_matrix(Path(data) / f"{name}.npz")
            title = f"{name} {M.shape[0]}×{M.shape[1]}, factor {factor:g}"
            line(title, M, r, factor, tol=1e-4, smooth=smooth)
    if not quick:
        M = mixed_scene(data, 94_249)
        title = f"mixed Urban {M.shape[0]}×{M.shape[1]}, factor 1"
        line(title, M, 6, 1.0, tol=1e-3, repeats=1, smooth=smooth)


def cases() -> None:
    """Compare with the optima of the authors' test problems."""
    for path in sorted(FIXTURES.glob("fgnsr_case_*.npz")):
        with np.load(path, allow_pickle=False) as file:
            solution = working_set(
                file["M"], float(file["mu_final"]), p=file["p"], w=file["w"], tol=1e-8
            )
            off = abs(solution.objective / float(file["fopt"]) - 1)
        print(f"{path.stem:34} gap {solution.gap:.1e}  {off:.1e} from fopt")


def synthetic(iterations: int) -> None:
    """Compare with Algorithm 1 on mixtures of 162×1000."""
    M = np.maximum(make_mixtures(162, 1000, 6, noise=0.02, random_state=0)[0], 0.0)
    p = jitter(1000, 0)
    mu = mu_heuristic(M, 6, p)
    ours, solution = quickest(lambda: working_set(M, mu, p=p, tol=1e-6), 10)
    theirs, other = quickest(lambda: fast_gradient(M, mu, p=p, tol=0, max_iter=iterations), 2)
    print(
        f"{'synthetic 162×1000, factor 1':34} gap {solution.gap:.1e}  "
        f"1/{theirs / ours:.0f} of the {theirs:.1f} s of "
        f"{iterations} iterations of fast_gradient (gap {other.gap:.1e})"
    )


def line(
    title: str,
    M: np.ndarray,
    r: int,
    factor: float,
    *,
    tol: float,
    repeats: int = 3,
    smooth: float = 0.0,
) -> None:
    """Solve and print a line."""
    p, mu = penalty(M, r, factor)
    nu = smooth * mu
    memory = ""
    if nu > 0:
        title += f", nu {smooth:g} mu"
        memory = f" ({measure(M, mu, p, tol)[1]:.0f} without squares)"
    _, peak, solution = measure(M, mu, p, tol, nu)
    seconds, bare = np.inf, np.inf
    for _ in range(repeats):  # in turn, so that a busy moment hits both
        bare = min(bare, quickest(lambda: bare_pass(M), 1)[0])
        seconds = min(seconds, quickest(lambda: working_set(M, mu, p=p, tol=tol, smooth=nu), 1)[0])
    print(
        f"{title:34} gap {solution.gap:.1e}  {seconds / bare:5.1f} passes ({bare:.2f} s)  "
        f"{peak:6.0f} MiB{memory}  objective {solution.objective:.6f}, "
        f"{len(solution.support)} rows, {solution.n_iter} steps",
        flush=True,
    )


def penalty(M: np.ndarray, r: int, factor: float) -> tuple[np.ndarray, float]:
    """Return the weights p and the heuristic penalty times a factor."""
    p = jitter(M.shape[1], 0)
    return p, factor * mu_heuristic(M, r, p, offset=0.0)


def measure(
    M: np.ndarray, mu: float, p: np.ndarray, tol: float, smooth: float = 0.0
) -> tuple[float, float, Solution]:
    """Solve once; return the seconds, the peak memory beyond M in MiB, and the solution."""
    working_set(M[:, :500], mu, p=p[:500])  # compiled, if not yet in the cache
    before = resident()
    seconds, solution = quickest(lambda: working_set(M, mu, p=p, tol=tol, smooth=smooth), 1)
    return seconds, peak_resident() - before, solution


def measure_growth(data: str, sizes: tuple[int, ...], plot: Path | None) -> None:
    """Print and plot time and memory for scenes of one kind and many sizes."""
    print(
        "| n | seconds | passes | one bare pass, s | without bounds, s | rows scored, % "
        "| MiB beyond M | gap | open rows |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    rows = []
    for n in sizes:
        M = mixed_scene(data, n)
        if n > LONGEST_FLOAT64:
            M = M.astype(np.float32)
        p, mu = penalty(M, 6, 1.0)
        with recorded_bounds() as looks:
            seconds, peak, solution = measure(M, mu, p, 1e-3)
        bare = bare_pass_seconds(M)
        exhaustive = np.nan
        if n <= LONGEST_EXHAUSTIVE:
            with no_bounds():
                exhaustive = quickest(partial(working_set, M, mu, p=p, tol=1e-3), 1)[0]
        scored = 100.0
        if looks:
            left = looks[-1]
            after_bounds = left.get("more directions", left["directions"])
            scored = 100 * after_bounds / left["rows"]
        rows.append((n, seconds, peak, bare, exhaustive, scored))
        print(
            f"| {n:,} | {seconds:.2f} | {seconds / bare:.2f} | {bare:.2f} | {exhaustive:.2f} "
            f"| {scored:.1f} | {peak:.0f} | {solution.gap:.0e} | {len(solution.support)} |",
            flush=True,
        )
    n, seconds, peak, bare, exhaustive, scored = np.array(rows).T
    for name, values in (("time", seconds), ("memory", peak), ("a bare pass", bare)):
        steps = np.diff(np.log(values)) / np.diff(np.log(n))
        exponent = np.polyfit(np.log(n), np.log(values), 1)[0]
        from_size_to_size = ", ".join(f"{step:.2f}" for step in steps)
        print(f"{name} grows like n^{exponent:.2f}, from size to size: {from_size_to_size}")
    if plot is not None:
        draw_growth(n, seconds, bare, exhaustive, scored, plot)


@contextmanager
def recorded_bounds() -> Iterator[list[dict[str, int]]]:
    """Collect how many rows each look at all of them left undecided."""
    looks: list[dict[str, int]] = []
    scores = ScoreBounds.scores

    def recorded(self: ScoreBounds, *arguments: Any) -> np.ndarray:
        found = scores(self, *arguments)
        looks.append(self.undecided)
        return found

    ScoreBounds.scores = recorded
    try:
        yield looks
    finally:
        ScoreBounds.scores = scores


@contextmanager
def no_bounds() -> Iterator[None]:
    """Let every row be scored exactly."""
    fewest = score_bounds.FEWEST_ROWS
    score_bounds.FEWEST_ROWS = 10**12
    try:
        yield
    finally:
        score_bounds.FEWEST_ROWS = fewest


def draw_growth(
    n: np.ndarray,
    seconds: np.ndarray,
    bare: np.ndarray,
    exhaustive: np.ndarray,
    scored: np.ndarray,
    plot: Path,
) -> None:
    """Draw the time, and the share of rows that need a score, over the number of points."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    axes[0].loglog(n, bare, "s:", color="0.6", label="one bare pass over MᵀM")
    axes[0].loglog(n, exhaustive, "^--", label="all rows scored")
    axes[0].loglog(n, seconds, "o-", label="rows bounded")
    axes[0].set(xlabel="points n", ylabel="seconds to a certified gap of 1e-3")
    axes[0].legend(frameon=False)
    axes[1].semilogx(n, 100 - scored, "o-")
    axes[1].set(xlabel="points n", ylabel="rows decided by a bound, %", ylim=(0, 102))
    figure.savefig(plot, dpi=110)


def mixed_scene(data: str, n: int, noise: float = 0.01) -> np.ndarray:
    """Mix n pixels by Urban's reference abundances from its bundles of spectra, with 1% noise."""
    rng = np.random.default_rng(0)
    with np.load(Path(data) / "urban_gt_end6.npz", allow_pickle=False) as truth:
        A, names = truth["A"], [str(name) for name in truth["names"]]
    pixels = np.arange(n) if n == A.shape[1] else rng.choice(A.shape[1], n, replace=n > A.shape[1])
    with np.load(Path(data) / "bundles_mua.npz", allow_pickle=False) as bundles:
        M = np.zeros((162, n))
        for k, short in enumerate(bundles["urban_names"]):
            if str(short) not in names[k]:
                raise ValueError(
                    f"bundle {k + 1} is {short!r}, the reference endmember {names[k]!r}"
                )
            spectra = bundles[f"urban_lib{k + 1}"]
            mixed = spectra[:, rng.integers(spectra.shape[1], size=n)]
            mixed *= A[k, pixels]
            M += mixed
    N = rng.standard_normal(M.shape)
    N *= noise * np.linalg.norm(M) / np.linalg.norm(N)
    M += N
    return np.maximum(M, 0.0, out=M)


def bare_pass(M: np.ndarray, n_rows: int | None = None) -> None:
    """Multiply MᵀM a block of rows at a time, up to a row if one is given."""
    out = np.empty((BLOCK, M.shape[1]))
    for a in range(0, n_rows or M.shape[1], BLOCK):
        block = M[:, a : a + BLOCK]
        np.matmul(block.T, M, out=out[: block.shape[1]])


def bare_pass_seconds(M: np.ndarray) -> float:
    """Return the seconds of a bare pass in float64; of a long one the first rows are timed."""
    n = M.shape[1]
    M = M.astype(np.float64, copy=False)
    if n <= LONGEST_PASS:
        return quickest(partial(bare_pass, M), 1)[0]
    n_rows = BLOCK * (10_000_000 // n)
    return quickest(partial(bare_pass, M, n_rows), 1)[0] * n / n_rows


def resident() -> float:
    """Give freed memory back, start the peak anew, and return what is resident, in MiB (Linux)."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return memory_status("VmRSS") / 1024


def peak_resident() -> float:
    """Return the peak since the last call of :func:`resident`, in MiB."""
    return memory_status("VmHWM") / 1024
