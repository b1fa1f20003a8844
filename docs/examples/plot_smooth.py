"""
Sharing weight among similar pixels
===================================

With a quadratic term in the penalty, nearly identical pixels share their weight: see
:doc:`/smooth`. This example shows the gates of 400 mixtures without and with this term.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import Problem, WorkingSet, mu_heuristic
from selfdict.datasets import make_mixtures

m, n, r = 50, 400, 4
M, H, pure = make_mixtures(m, n, r, noise=0.02, random_state=0)
mu = mu_heuristic(M, r)

# %%
# The share of the purest material of a pixel says how nearly pure the pixel is.

share = H.max(axis=0) / H.sum(axis=0)
figure, axes = plt.subplots(2, sharex=True, layout="constrained", figsize=(6, 4))
for axis, ratio in zip(axes, (0.0, 3.0), strict=True):
    solution = WorkingSet(tol=1e-6).solve(Problem(M, mu, smooth=ratio * mu))
    for material in range(r):
        of_material = np.flatnonzero(H.argmax(axis=0) == material)
        axis.scatter(share[of_material], solution.diagonal[of_material], s=12)
    open_rows = len(solution.support)
    axis.set(ylabel="gate", title=f"ν = {ratio:g} μ: {open_rows} open rows, gap {solution.gap:.0e}")
axes[-1].set_xlabel("share of the purest material")

# %%
# The sum of the gates of a material hardly changes, but it is distributed over more pixels.

plt.show()
