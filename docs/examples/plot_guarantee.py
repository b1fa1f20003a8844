"""
What is guaranteed, and what happens
====================================

Theorem 3 of the paper guarantees that the convex model finds the pure columns as long as the noise
ε is below κ(1 − β)/20. In practice the model succeeds with much more noise, even if the noise
pushes all other columns outwards.
"""

import warnings
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR, robustness_report
from selfdict.datasets import make_midpoints
from selfdict.metrics import index_recovery

# Where a method fails, it chooses points that do not span all dimensions, and warns of it.
warnings.simplefilter("ignore")

levels = np.geomspace(0.5, 200, 14)
found = np.zeros((5, levels.size))
for seed in range(len(found)):
    M, W, pure = make_midpoints(m=20, r=5, random_state=seed)
    allowed = robustness_report(M, pure).epsilon_guaranteed
    N = M - W.mean(axis=1, keepdims=True)
    N[:, pure] = 0
    N /= np.abs(N).sum(axis=0).max()
    for k, level in enumerate(levels):
        model = FGNSR(5, postprocess="diagonal", random_state=0).fit((M + level * allowed * N).T)
        found[seed, k] = index_recovery(model.indices_, pure)

# %%
# The share of the pure columns that is found, over the noise in units of what is guaranteed:

plt.semilogx(levels, found.mean(axis=0), marker="o")
plt.axvspan(levels[0], 1, alpha=0.2, label="guaranteed")
plt.xlabel("ε / (κ(1 − β)/20)")
plt.ylabel("share of the pure columns found")
plt.legend()
plt.show()

# %%
# The report in words, for the last data without noise and with 20 times what is guaranteed:

for data in (M, M + 20 * allowed * N):
    print(fill(robustness_report(data, pure).sentence, 90), end="\n\n")
