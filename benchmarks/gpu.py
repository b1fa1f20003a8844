"""The GPU code: equal results, an iteration over its bare products, the screening pass, a whole scene, its dense model.

Times are medians of device events after a warm-up, as ``triton.testing.do_bench`` takes them; those of whole solves
are wall-clock times. The scene is the mixed one of the benchmark ``working_set`` and needs ``data``.
"""

import time
from collections.abc import Callable

import numpy as np

from selfdict import certify, fast_gradient, mu_heuristic, nnls, spa, working_set
from selfdict.datasets import make_mixtures
from selfdict.solvers.problem import Problem, jitter

BANDS, DENSE, SCENE = 162, 20_000, 94_249


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

    def milliseconds(task: Callable[[], object]) -> float:
        return float(do_bench(task, warmup=20, rep=100, return_mode="median"))

    size = 1 << (24 if quick else 30)
    bandwidth = ceiling(milliseconds, size)
    equal_results(torch)
    iteration(torch, milliseconds, 2000 if quick else DENSE, bandwidth)
    screening(torch, milliseconds, 4000 if quick else SCENE)
    if data is None:
        print("for the scene name the folder that holds it: --data DIR")
        return
    scene(torch, data, 10_000 if quick else SCENE)
    dense_scene(torch, data, 10_000 if quick else SCENE, bandwidth)


def ceiling(milliseconds: Callable, size: int) -> float:
    """Print what this GPU can do, and return the bytes it copies in a second, read and written."""
    import torch

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    a, b = torch.empty(size, device="cuda"), torch.empty(size, device="cuda")
    bandwidth = 8e3 * size / milliseconds(lambda: b.copy_(a))
    print(f"{'copy':24} {bandwidth / 1e12:6.2f} TB/s")
    side = 8192 if size > 1 << 24 else 1024
    for name in ("float64", "float32", "float16"):
        A = torch.randn((side, side), device="cuda", dtype=getattr(torch, name))
        print(f"{'product in ' + name:24} {2e-9 * side**3 / milliseconds(lambda A=A: A @ A):6.1f} TFLOP/s")
    return bandwidth


def equal_results(torch) -> None:
    """Compare with the CPU on float32 mixtures."""
    for n in (500, 2000):
        M = np.maximum(make_mixtures(BANDS, n, 6, noise=0.02, random_state=0)[0], 0.0).astype(np.float32)
        p = jitter(n, 0)
        mu = mu_heuristic(M, 6, p)
        for name, solve in (
            ("fast_gradient", lambda device, M=M, mu=mu, p=p: fast_gradient(M, mu, p=p, max_iter=300, device=device)),
            ("working_set", lambda device, M=M, mu=mu, p=p: working_set(M, mu, p=p, tol=1e-5, device=device)),
        ):
            here, there = solve("cpu"), solve("cuda")
            K = np.sort(np.argsort(-here.diagonal)[:6])
            same = np.array_equal(K, np.sort(np.argsort(-there.diagonal)[:6]))
            print(
                f"{name:14} {BANDS}×{n}: objectives differ by {abs(there.objective / here.objective - 1):.1e}, "
                f"bounds by {abs(there.dual_bound / here.dual_bound - 1):.1e}, gap {there.gap:.1e}, "
                f"{'the same' if same else 'NOT the same'} six largest gates"
            )
        tensor = torch.from_numpy(M).cuda()
        K = spa(M, 6)
        off = float(np.abs(nnls(M[:, K], tensor).cpu().numpy() - nnls(M[:, K], M)).max())
        bounds = certify(tensor, here).dual_bound, certify(M, here).dual_bound
        print(
            f"{'on tensors':14} {BANDS}×{n}: spa {'equal' if np.array_equal(spa(tensor, 6), K) else 'NOT equal'}, "
            f"nnls differs by {off:.1e}, certified bounds by {abs(bounds[0] / bounds[1] - 1):.1e}"
        )


def iteration(torch, milliseconds: Callable, n: int, bandwidth: float) -> None:
    """Time an iteration of Algorithm 1 over its two bare products, with all rows open and with few."""
    from selfdict.solvers.device_gradient import DeviceIterate
    from selfdict.solvers.fast_gradient import squared_norm

    M = np.maximum(make_mixtures(BANDS, n, 6, noise=0.02, random_state=0)[0], 0.0).astype(np.float32)
    L = squared_norm(M)
    mu = mu_heuristic(M, 6)
    print(f"Algorithm 1, {BANDS}×{n}, float32; the bare products are M(·) and Mᵀ(·) of the same arrays")
    print(f"{'':38} {'iteration':>10} {'products':>9} {'ratio':>6} {'projection':>11} {'of the bandwidth':>17}")
    for precision, words in (("highest", "IEEE float32"), ("high", "TF32")):
        torch.set_float32_matmul_precision(precision)
        for penalty, rows in ((1e-6 * mu, "all rows open"), (mu, "few rows open")):
            state = DeviceIterate(Problem.check(M, penalty, None, None, None), L, None, None, torch.device("cuda"))
            for _ in range(30 if rows.startswith("all") else 100):
                state.step(False)
            n_open = np.count_nonzero(state.diagonal)
            one = milliseconds(lambda state=state: state.step(False))
            project = milliseconds(state._project)
            V, R = torch.empty((n, n), device="cuda"), torch.empty_like(state.R)
            T, Y, E = state.tensor, state.Y, state.E
            bare_V = milliseconds(lambda V=V, T=T, E=E: torch.mm(T.T, E, out=V))
            bare = bare_V + milliseconds(lambda R=R, T=T, Y=Y: torch.mm(T, Y, out=R))
            inside = project - bare_V
            moved = (8 + 12 * n_open / n) * n * n  # V written and read; Y and Y_old read, Y_old written
            print(
                f"{words:13} {rows} ({n_open:6} now)  {one:7.2f} ms {bare:6.2f} ms {one / bare:6.2f} {inside:8.2f} ms"
                f" {moved / (inside * 1e-3) / bandwidth:16.0%}"
            )
            del state, V, R, T, Y, E
            torch.cuda.empty_cache()
    torch.set_float32_matmul_precision("highest")


def screening(torch, milliseconds: Callable, n: int) -> None:
    """Time the pass over all rows and columns, in both precisions, and say how accurate it is."""
    from selfdict.kernels.device.screening import LEFT, fused_sums, plain_sums, split

    M = torch.rand((BANDS, n), device="cuda", dtype=torch.float64)
    left = (M / M.sum(dim=0)).T.contiguous()
    theta = 0.01 * torch.randn((BANDS, n), device="cuda", dtype=torch.float64)
    halves = split(left, LEFT)
    exact = plain_sums(left, theta, np.float64)
    flops = 2e-9 * BANDS * n * n
    print(f"one screening pass, {BANDS}×{n}")
    for words, task in (
        ("fused, three half-precision products", lambda: fused_sums(halves, theta)),
        ("float32, written out in blocks", lambda: plain_sums(left, theta, np.float32)),
        ("float64, written out in blocks", lambda: plain_sums(left, theta, np.float64)),
    ):
        off = float(((task() - exact).abs() / exact).max())
        one = milliseconds(task)
        print(f"{words:38} {one:7.2f} ms  {flops / one:6.1f} TFLOP/s of the product asked for, scores off by {off:.1e}")


def scene(torch, data: str, n: int) -> None:
    """Solve the whole scene to a certified gap of 1e-3, on the GPU and, with a check of the result, on the CPU."""
    from benchmarks.working_set import mixed_scene

    M = mixed_scene(data, n)
    p = jitter(n, 0)
    mu = mu_heuristic(M, 6, p, offset=0.0)
    working_set(M[:, :9000], mu, p=p[:9000], device="cuda")  # compiled
    for device in ("cuda", "cuda", "cpu"):
        start = time.perf_counter()
        solution = working_set(M, mu, p=p, tol=1e-3, device=device)
        seconds = time.perf_counter() - start
        print(
            f"working_set {BANDS}×{n} on {device:4}: {seconds:6.2f} s, certified gap {solution.gap:.1e}, objective "
            f"{solution.objective:.6f}, {len(solution.support)} rows",
            flush=True,
        )
    start = time.perf_counter()
    checked = certify(M, solution, device="cuda")
    print(f"certify on cuda: {time.perf_counter() - start:.2f} s, gap {checked.gap:.1e}")


def dense_scene(torch, data: str, n: int, bandwidth: float) -> None:
    """Take iterations of Algorithm 1 on the dense model of the whole scene: two n×n arrays on one GPU."""
    from benchmarks.working_set import mixed_scene
    from selfdict.solvers.device_gradient import DeviceIterate
    from selfdict.solvers.fast_gradient import squared_norm

    M = mixed_scene(data, n).astype(np.float32)
    problem = Problem.check(M, mu_heuristic(M, 6, offset=0.0), None, None, None)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    state = DeviceIterate(problem, squared_norm(M), None, None, torch.device("cuda"))
    times = []
    for _ in range(8):
        start = time.perf_counter()
        state.step(False)
        times.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated()
    print(
        f"dense model {BANDS}×{n}: {np.median(times[2:]):.3f} s an iteration "
        f"({np.count_nonzero(state.diagonal)} rows open), "
        f"peak {peak / 1e9:.1f} GB = {peak / (4 * n * n):.2f} n×n arrays, "
        f"objective {state.history['objective'][0]:.1f} → {state.objective:.1f}"
    )
