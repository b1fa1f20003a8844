"""The GPU code: equal results, an iteration over its bare products, screening, a whole scene.

Times are medians of device events after a warm-up, as ``triton.testing.do_bench`` takes them; those
of whole solves are wall-clock times. The last table sets each pass beside what the same GPU did in
a plain copy or a large product in the same run. The scene is the mixed one of the benchmark
``working_set`` and needs ``data``.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from selfdict import (
    Solution,
    WorkingSet,
    certify,
    fast_gradient,
    mu_heuristic,
    nnls,
    select_indices,
    spa,
    working_set,
)
from selfdict.datasets import make_mixtures
from selfdict.model.problem import Problem, jitter

BANDS, DENSE, SCENE, LARGE_SCENE = 162, 20_000, 94_249, 1_000_000


def run(quick: bool = False, data: str | None = None) -> None:
    """Print the tables; ``quick`` takes small sizes, no ``data`` leaves the scene out."""
    print("gpu: equal results, iterations over bare products, the screening pass, a whole scene")
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
    iteration(torch, timer, 2000 if quick else DENSE)
    screening(torch, timer, n)
    crossover((1000, 3000) if quick else (1000, 3000, 10_000, 30_000))
    if data is None:
        print("for the scene name the folder that holds it: --data DIR")
    else:
        scene(torch, timer, data, n)
        large_scene(torch, data, 30_000 if quick else LARGE_SCENE)
        dense_scene(torch, timer, data, n)
    timer.table()


def crossover(sizes: tuple[int, ...]) -> None:
    """Print whole solves and iterations on the CPU and the GPU, for growing numbers of points."""
    for n in sizes:
        M = make_mixtures(BANDS, n, 6, noise=0.01, random_state=0)[0].astype(np.float32)
        mu = mu_heuristic(M, 6)
        lipschitz = float(np.linalg.norm(M, 2)) ** 2
        solve, iterate = [], []
        for device in (None, "cuda"):

            def steps(k: int, M=M, mu=mu, lipschitz=lipschitz, device=device) -> None:
                fast_gradient(M, mu, max_iter=k, tol=0, lipschitz=lipschitz, device=device)

            solve.append(
                quickest(lambda M=M, mu=mu, device=device: working_set(M, mu, device=device))
            )
            if n <= 10_000:
                iterate.append(
                    (
                        quickest(lambda steps=steps: steps(51))
                        - quickest(lambda steps=steps: steps(1))
                    )
                    / 50
                )
        line = f"n = {n}: working_set {solve[0]:.3f} s on the CPU, {solve[1]:.3f} s on the GPU"
        if iterate:
            line += "; an iteration of fast_gradient "
            line += f"{1e3 * iterate[0]:.2f} and {1e3 * iterate[1]:.2f} ms"
        print(line)


def quickest(task: Callable[[], Any], repeats: int = 3) -> float:
    """Return the seconds of the quickest run."""
    # A task ends with a result on the host: the device has finished by then.
    task()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


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
        for name in ("float64", "float32", "float16"):
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
        for name, solve in (
            (
                "fast_gradient",
                lambda device, M=M, mu=mu, p=p: fast_gradient(
                    M, mu, p=p, max_iter=300, device=device
                ),
            ),
            (
                "working_set",
                lambda device, M=M, mu=mu, p=p: working_set(M, mu, p=p, tol=1e-5, device=device),
            ),
        ):
            here, there = solve("cpu"), solve("cuda")
            same = np.array_equal(select_indices(here, 6), select_indices(there, 6))
            print(
                f"{name:14} {BANDS}×{n}: "
                f"objectives differ by {abs(there.objective / here.objective - 1):.1e}, "
                f"bounds by {abs(there.dual_bound / here.dual_bound - 1):.1e}, "
                f"gap {there.gap:.1e}, {'the same' if same else 'NOT the same'} indices"
            )
        tensor = torch.from_numpy(M).cuda()
        K = spa(M, 6)
        off = float(np.abs(nnls(M[:, K], tensor).cpu().numpy() - nnls(M[:, K], M)).max())
        bounds = certify(here, device="cuda").dual_bound, certify(here).dual_bound
        equal = np.array_equal(spa(tensor, 6), K)
        print(
            f"{'on tensors':14} {BANDS}×{n}: spa {'equal' if equal else 'NOT equal'}, "
            f"nnls differs by {off:.1e}, certified bounds by {abs(bounds[0] / bounds[1] - 1):.1e}"
        )


def device_iteration(torch: Any, problem: Problem) -> Any:
    """Return the state of Algorithm 1 with its arrays on the GPU."""
    from selfdict.solvers.gradient_data import GradientData
    from selfdict.solvers.gradient_device import DeviceArrays
    from selfdict.solvers.iteration import Iteration

    device = torch.device("cuda")
    data = GradientData.of(problem, None)
    return Iteration(problem, data, DeviceArrays(data, None, device), device)


def iteration(torch: Any, timer: Timer, n: int) -> None:
    """Time an iteration of Algorithm 1, all rows open, over its two bare products."""
    M = np.maximum(make_mixtures(BANDS, n, 6, noise=0.02, random_state=0)[0], 0.0).astype(
        np.float32
    )
    problem = Problem(M, 1e-6 * mu_heuristic(M, 6))
    for precision, words in (("highest", "IEEE float32"), ("high", "TF32")):
        torch.set_float32_matmul_precision(precision)
        state = device_iteration(torch, problem)
        arrays = state.arrays
        for _ in range(30):
            state.step(False)
        n_open = np.count_nonzero(arrays.diagonal)
        one = timer.seconds(lambda state=state: state.step(False))
        project = timer.seconds(
            lambda arrays=arrays, penalty=state.penalty: arrays.project(penalty, 0.0)
        )
        V = torch.empty_like(arrays.Y)
        R = torch.empty_like(arrays.R)
        T = arrays.M
        Y = arrays.Y
        E = arrays.E
        first = timer.seconds(lambda V=V, T=T, E=E: torch.mm(T.T, E, out=V))
        second = timer.seconds(lambda R=R, T=T, Y=Y: torch.mm(T, Y, out=R))
        print(
            f"fast_gradient  {BANDS}×{n}, {words}, {n_open} rows open: "
            f"an iteration {1e3 * one:.2f} ms, "
            f"its bare products {1e3 * (first + second):.2f} ms, ratio {one / (first + second):.2f}"
        )
        if precision == "highest":
            timer.add(f"product Mᵀ(·), n = {n}", first, 2 * BANDS * n * n, "float32")
            timer.add(f"product M(·), n = {n}", second, 2 * BANDS * n * n, "float32")
            # V written and read, Y and Y_old read, Y_old written
            timer.add(
                f"projection (product with it, less product), n = {n}",
                project - first,
                20 * n * n,
                "memory",
            )
        del state, arrays, V, R, T, Y, E
        torch.cuda.empty_cache()
    torch.set_float32_matmul_precision("highest")


def screening(torch: Any, timer: Timer, n: int) -> None:
    """Time the pass over all rows and columns, in both precisions, and say how accurate it is."""
    from selfdict.gpu.screening import LEFT, fused_sums, plain_sums, split

    M = torch.rand((BANDS, n), device="cuda", dtype=torch.float64)
    left = (M / M.sum(dim=0)).T.contiguous()
    theta = 0.01 * torch.randn((BANDS, n), device="cuda", dtype=torch.float64)
    halves = split(left, LEFT)
    exact = plain_sums(left, theta, np.float64)
    work = 2.0 * BANDS * n * n
    for words, task, flops, ceiling in (
        ("fused, float32 by halves", lambda: fused_sums(halves, theta), 3 * work, "float16"),
        ("float32 in blocks", lambda: plain_sums(left, theta, np.float32), work, "float32"),
        ("float64 in blocks", lambda: plain_sums(left, theta, np.float64), work, "float64"),
    ):
        off = float(((task() - exact).abs() / exact).max())
        one = timer.seconds(task)
        print(f"screening      {BANDS}×{n}, {words}: {1e3 * one:.1f} ms, scores off by {off:.1e}")
        timer.add(f"screening, {words}, n = {n}", one, flops, ceiling)


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
    start = time.perf_counter()
    checked = certify(solved["cpu"], device="cuda")
    seconds = time.perf_counter() - start
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
    start = time.perf_counter()
    # data and penalty are checked as for any user
    fresh = Problem(problem.M, problem.mu, p=problem.p)
    solution = WorkingSet(tol=1e-3, device=device).solve(fresh)
    seconds = time.perf_counter() - start
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
    from selfdict.solvers.newton import Gates
    from selfdict.solvers.search_data import SearchData

    columns = SearchData.of(problem, torch.device("cuda")).columns
    gates = Gates(columns)
    t = solution.diagonal[solution.support].astype(np.float64)
    gates.open(solution.support, t)
    theta = gates.fitted.multiplier()
    bounds = ScoreBounds(columns.rows)
    penalty = problem.require_mu() * problem.p
    nothing = np.zeros(1)
    for words, task in (
        ("all columns fitted, from zero", lambda: gates.open(solution.support, t)),
        ("all columns fitted, from the solution", lambda: gates.evaluate(t)),
        ("second derivatives", gates.hessian),
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


def dense_scene(torch: Any, timer: Timer, data: str, n: int) -> None:
    """Take iterations of Algorithm 1 on the dense model of the whole scene, two n×n arrays."""
    from benchmarks.working_set import mixed_scene

    M = mixed_scene(data, n).astype(np.float32)
    problem = Problem(M, mu_heuristic(M, 6, offset=0.0))
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    state = device_iteration(torch, problem)
    times = []
    for _ in range(8):
        start = time.perf_counter()
        state.step(False)
        times.append(time.perf_counter() - start)
    one, peak = float(np.median(times[2:])), torch.cuda.max_memory_allocated()
    print(
        f"fast_gradient  {BANDS}×{n}, dense, {np.count_nonzero(state.arrays.diagonal)} rows open: "
        f"{one:.3f} s an iteration, "
        f"peak {peak / 1e9:.1f} GB = {peak / (4 * n * n):.2f} n×n arrays, "
        f"objective {state.history['objective'][0]:.1f} → {state.objective:.1f}"
    )
    timer.add(f"whole iteration, n = {n}", one, 4 * BANDS * n * n, "float32")
