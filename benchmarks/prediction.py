"""The predicted time of the solver with all points as candidates, beside what it takes.

Both are processor time of all threads, which other programs do not change.
"""

import numpy as np

from benchmarks.measuring import Table, processor_clock
from selfdict import Problem, WorkingSet, mu_heuristic
from selfdict.compute.threads import n_threads
from selfdict.datasets import make_mixtures, make_scene
from selfdict.reductions.automatic import measured_seconds

# features, points, components, noise, concentration of the abundances
MIXTURES = (
    (80, 20_000, 10, 0.02, 0.5),
    (50, 30_000, 6, 0.03, 0.5),
    (400, 40_000, 4, 0.02, 0.5),
    (200, 50_000, 4, 0.05, 0.5),
    (100, 60_000, 12, 0.01, 0.5),
    (20, 100_000, 3, 0.001, 0.5),
    (60, 120_000, 6, 0.02, 1.0),
    (162, 40_000, 5, 0.005, 0.1),
    (50, 200_000, 8, 0.01, 0.5),
)
BUSY = 0.85  # part of the time of the solver in which its threads are busy


def run(quick: bool = False) -> None:
    """Print a line for each data set."""
    print("prediction: seconds of the solver, by samples and by processor time")
    table = Table("data:<44|predicted:9.2f|taken:7.2f|ratio:5.2f")
    for m, n, r, noise, concentration in MIXTURES[:1] if quick else MIXTURES:
        M = make_mixtures(m, n, r, noise=noise, concentration=concentration, random_state=n)[0]
        name = f"{m}×{n:,}, r = {r}, {100 * noise:g}% noise, α = {concentration}"
        table.row(name, *compared(M.astype(np.float32), r))
    if not quick:
        scene = make_scene((250, 200), 100, 5, noise=0.01, random_state=7).scene
        M = scene.values.reshape(100, -1)
        table.row("make_scene, 100×50,000, r = 5, 1% noise", *compared(M.astype(np.float32), 5))


def compared(M: np.ndarray, r: int) -> tuple[float, float, float]:
    """Return the predicted seconds, those taken, and the quotient of the two."""
    predicted = measured_seconds(Problem(M), r)
    problem = Problem(M, mu_heuristic(M, r), random_state=0)
    taken = processor_clock(lambda: WorkingSet().solve(problem))[0] / (BUSY * n_threads())
    return predicted, taken, predicted / taken
