"""How a fit of FGNSR grows with the number of components, up to more of them than features.

Mixtures of random spectra with 1 % noise. A *fit* is one ``nnls`` of all points by the chosen
columns: what each choice that is tried would cost without representatives and warm starts. Seconds
are processor time of all threads.
"""

import numpy as np

from benchmarks.measuring import processor_clock
from selfdict import Problem, WorkingSet, mu_heuristic, nnls, select_indices, spa
from selfdict.datasets import make_mixtures
from selfdict.metrics import relative_error

FEATURES, POINTS = 60, 5_000
COMPONENTS = (5, 10, 20, 40, 80, 160)


def run(quick: bool = False) -> None:
    """Print a line for each number of components."""
    print(f"many components: {FEATURES}×{POINTS}, mixtures with 1% noise")
    print(
        f"{'r':>4} {'model, s':>9} {'choice, s':>10} {'a fit, s':>9} {'choice in fits':>15} "
        f"{'error, %':>9} {'true columns':>13} {'SPA':>7}"
    )
    for r in COMPONENTS[:2] if quick else COMPONENTS:
        M, _, pure = make_mixtures(FEATURES, POINTS, r, noise=0.01, random_state=0)
        problem = Problem(M, mu_heuristic(M, r), random_state=0)
        model, solution = processor_clock(lambda problem=problem: WorkingSet().solve(problem))
        choice, K = processor_clock(lambda s=solution, r=r: select_indices(s, r, method="exchange"))
        fit, _ = processor_clock(lambda M=M, K=K: nnls(M[:, K], M))
        errors = [f"{error(M, K):9.2f}", f"{error(M, pure):13.2f}", f"{'–':>7}"]
        if r <= FEATURES:  # SPA finds no more columns than there are features
            errors[2] = f"{error(M, spa(M, r)):7.2f}"
        print(
            f"{r:4} {model:9.2f} {choice:10.2f} {fit:9.3f} {choice / fit:15.0f} {' '.join(errors)}",
            flush=True,
        )


def error(M: np.ndarray, K: np.ndarray) -> float:
    """Return the relative error of columns K, in percent."""
    return 100 * relative_error(M, M[:, K])
