"""The GPU code: equal results, the screening pass, a whole scene.

Times are medians of device events after a warm-up, as ``triton.testing.do_bench`` takes them; those
of whole solves are wall-clock times. The last table sets each pass beside what the same GPU did in
a plain copy or a large product in the same run. The scene is the mixed one of the benchmark
``working_set`` and needs ``data``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring import clock, quickest
from selfdict import (
    Solution,
    WorkingSet,
    certify,
    mu_heuristic,
    select_indices,
    working_set,
)
from selfdict.datasets import make_mixtures
from selfdict.model.problem import Problem, jitter

BANDS, SCENE, LARGE_SCENE = 162, 94_249, 1_000_000


def run(quick: bool = False, data: str | None = None) -> None:
    """Print the tables; ``quick`` takes small sizes, no ``data`` leaves the scene out."""
    print("gpu: equal results, the screening pass, a whole scene")
    try:
        import torch
        from triton.testing import do_bench
    except ModuleNotFoundError as error:
        print(f"skipped: {error}")
        return
    if not torch.cuda.is_available():
        print("skipped: torch finds no GPU here")
        return
    n = 10_000 if quick else SCENE
    timer = Timer(
        lambda task: 1e-3 * float(do_bench(task, warmup=20, rep=100, return_mode="median"))
    )
    timer.ceilings(torch, 1 << (24 if quick else 30), 1024 if quick else 8192)
    equal_results(torch)
    screening(torch, timer, n)
    crossover((1000, 3000) if quick else (1000, 3000, 10_000, 30_000))
    if data is None:
        print("for the scene name the folder that holds it: --data DIR")
    else:
        scene(torch, timer, data, n)
        large_scene(torch, data, 30_000 if quick else LARGE_SCENE)
    timer.table()


def crossover(sizes: tuple[int, ...]) -> None:
    """Print whole solves on the CPU and the GPU, for growing numbers of points."""
    for n in sizes:
        M = make_mixtures(BANDS, n, 6, noise=0.01, random_state=0)[0].astype(np.float32)
        mu = mu_heuristic(M, 6)
        here = after_first(lambda M=M, mu=mu: working_set(M, mu))
        there = after_first(lambda M=M, mu=mu: working_set(M, mu, device="cuda"))
        print(f"n = {n}: working_set {here:.3f} s on the CPU, {there:.3f} s on the GPU")


def after_first(task: Callable[[], Any]) -> float:
    """Return the seconds of the quickest of three runs after a first one, which compiles."""
    # A task ends with a result on the host: the device has finished by then.
    task()
    return quickest(task, 3)[0]


class Timer:
    """Seconds of device code, beside what the GPU can do."""

    def __init__(self, seconds: Callable[[Callable[[], Any]], float]) -> None:
        self.seconds = seconds
        self.possible: dict[str, float] = {}
        self.rows: list[tuple[str, float, float, str]] = []

    def ceilings(self, torch: Any, entries: int, side: int) -> None:
        """Measure a copy and three products."""
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
        a, b = torch.empty(entries, device="cuda"), torch.empty(entries, device="cuda")
        self.possible["memory"] = 8 * entries / self.seconds(lambda: b.copy_(a))
        for name in ("float64", "float32"):
            A = torch.randn((side, side), device="cuda", dtype=getattr(torch, name))
            self.possible[name] = 2 * side**3 / self.seconds(lambda A=A: A @ A)

    def add(self, what: str, seconds: float, work: float, ceiling: str) -> None:
        """Keep a row of the table: work in bytes for the ceiling "memory", else in operations."""
        self.rows.append((what, seconds, work / seconds, ceiling))

    def table(self) -> None:
        """Print what was achieved against what is possible."""
        print(f"{'pass':46} {'ms':>8} {'achieved':>15} {'possible':>15} {'share':>6}")
        for what, seconds, rate, ceiling in self.rows:
            unit = "TB/s" if ceiling == "memory" else "TFLOP/s"
            most = self.possible[ceiling]
            print(
                f"{what:46} {1e3 * seconds:8.2f} {rate / 1e12:7.2f} {unit:7} "
                f"{most / 1e12:7.2f} {unit:7} {rate / most:5.0%} ({ceiling})"
            )


def equal_results(torch: Any) -> None:
    """Compare with the CPU on float32 mixtures."""
    for n in (500, 2000):
        M = np.maximum(make_mixtures(BANDS, n, 6, noise=0.02, random_state=0)[0], 0.0).astype(
            np.float32
        )
        p = jitter(n, 0)
        mu = mu_heuristic(M, 6, p)
        here = working_set(M, mu, p=p, tol=1e-5)
        there = working_set(M, mu, p=p, tol=1e-5, device="cuda")
        same = np.array_equal(select_indices(here, 6), select_indices(there, 6))
        print(
            f"working_set    {BANDS}×{n}: "
            f"objectives differ by {abs(there.objective / here.objective - 1):.1e}, "
            f"bounds by {abs(there.dual_bound / here.dual_bound - 1):.1e}, "
            f"gap {there.gap:.1e}, {said(same)} indices"
        )
        bounds = certify(here, device="cuda").dual_bound, certify(here).dual_bound
        print(f"certify        {BANDS}×{n}: bounds differ by {abs(bounds[0] / bounds[1] - 1):.1e}")


def screening(torch: Any, timer: Timer, n: int) -> None:
    """Time the pass over all rows and columns, in both precisions, and say how accurate it is."""
    from selfdict.gpu.columns import positive_sums

    M = torch.rand((BANDS, n), device="cuda", dtype=torch.float64)
    left = (M / M.sum(dim=0)).T.contiguous()
    theta = 0.01 * torch.randn((BANDS, n), device="cuda", dtype=torch.float64)
    exact = positive_sums(left, theta, np.float64)
    for dtype in ("float32", "float64"):
        off = float(((positive_sums(left, theta, dtype) - exact).abs() / exact).max())
        one = timer.seconds(lambda dtype=dtype: positive_sums(left, theta, dtype))
        print(f"screening      {BANDS}×{n}, {dtype}: {1e3 * one:.1f} ms, scores off by {off:.1e}")
        timer.add(f"screening, {dtype}, n = {n}", one, 2.0 * BANDS * n * n, dtype)


def scene(torch: Any, timer: Timer, data: str, n: int) -> None:
    """Solve the whole scene to a certified gap of 1e-3, on the GPU and on the CPU."""
    from benchmarks.working_set import mixed_scene

    M = mixed_scene(data, n)
    p = jitter(n, 0)
    mu = mu_heuristic(M, 6, p, offset=0.0)
    problem = Problem(M, mu, p=p)
    solved = {}
    for device in ("cuda", "cuda", "cuda", "cpu"):  # the first compiles what no cache holds
        solved[device] = solve(torch, problem, device)
    off = abs(solved["cuda"].objective / solved["cpu"].objective - 1)
    same = np.array_equal(solved["cuda"].support, solved["cpu"].support)
    print(f"working_set    {BANDS}×{n}: objectives differ by {off:.1e}, rows {said(same)}")
    seconds, checked = clock(lambda: certify(solved["cpu"], device="cuda"))
    print(f"certify        {BANDS}×{n} on cuda: {seconds:6.2f} s, gap {checked.gap:.1e}")
    parts(torch, timer, problem, solved["cuda"])


def said(same: bool) -> str:
    """Return whether two things are the same, in words."""
    if same:
        return "the same"
    return "NOT the same"


def solve(torch: Any, problem: Problem, device: str) -> Solution:
    """Solve to a certified gap of 1e-3 and print a line."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()

    def task() -> Solution:
        # data and penalty are checked as for any user
        fresh = Problem(problem.M, problem.mu, p=problem.p)
        return WorkingSet(tol=1e-3, device=device).solve(fresh)

    seconds, solution = clock(task)
    peak = torch.cuda.max_memory_allocated() / 1e9
    print(
        f"working_set    {BANDS}×{problem.n_points} {problem.M.dtype} on {device:4}: "
        f"{seconds:6.2f} s, certified gap {solution.gap:.1e}, "
        f"objective {solution.objective:.6f}, {len(solution.support)} rows, "
        f"{peak:.1f} GB of the GPU",
        flush=True,
    )
    return solution


def parts(torch: Any, timer: Timer, problem: Problem, solution: Solution) -> None:
    """Time the parts of a step of working_set on all columns, at a solution."""
    from selfdict.model.score_bounds import ScoreBounds
    from selfdict.solvers.gates import Gates
    from selfdict.solvers.search import SearchData

    columns = SearchData.of(problem, torch.device("cuda")).columns
    t = solution.diagonal[solution.support].astype(np.float64)
    gates = Gates(columns, solution.support, t)
    theta = gates.fitted.multiplier()
    bounds = ScoreBounds(columns.rows)
    penalty = problem.require_mu() * problem.p
    nothing = np.zeros(1)
    for words, task in (
        ("all columns fitted, from zero", lambda: Gates(columns, solution.support, t)),
        ("all columns fitted, from the solution", lambda: gates.evaluate(t)),
        ("second derivatives", gates.fitted.hessian),
        ("residual and its sums", lambda: gates.fitted.multiplier()),
        (
            "all rows bounded or scored",
            lambda: bounds.scores(theta.sums, penalty, nothing, False),
        ),
        ("all rows scored", lambda: theta.scores(None, rough=False)),
    ):
        print(f"step           {words}: {1e3 * timer.seconds(task):.1f} ms")
    print(f"step           rows that bounds leave: {bounds.undecided['clusters']}")


def large_scene(torch: Any, data: str, n: int) -> None:
    """Solve a scene of many pixels in float32 on the GPU, twice."""
    from benchmarks.working_set import mixed_scene

    M = mixed_scene(data, n).astype(np.float32)
    p = jitter(n, 0)
    problem = Problem(M, mu_heuristic(M, 6, p, offset=0.0), p=p)
    for _ in range(2):
        solve(torch, problem, "cuda")
