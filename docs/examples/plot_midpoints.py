"""
Robustness against noise
========================

On the middle points of section 4.1 of the paper, every method fails at some noise level. SPA
considers one column at a time and fails earlier than the convex model, which considers all of them.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR, SPA
from selfdict.datasets import make_midpoints
from selfdict.metrics import index_recovery

# A method that fails warns: its points do not span all dimensions, or no penalty meets ε.
warnings.simplefilter("ignore")

levels = np.linspace(0, 0.4, 5)
methods = {
    "SPA": lambda noise: SPA(6),
    "FGNSR, heuristic μ": lambda noise: FGNSR(6, postprocess="diagonal", random_state=0),
    "FGNSR, residual = ε": lambda noise: FGNSR(
        6, target=("residual", max(noise, 1e-3)), postprocess="diagonal", random_state=0
    ),
}
for name, method in methods.items():
    recovery = []
    for noise in levels:
        scores = []
        for seed in range(5):
            M, _, pure = make_midpoints(m=30, r=6, noise=noise, random_state=seed)
            scores.append(index_recovery(method(noise).fit(M.T).indices_, pure))
        recovery.append(np.mean(scores))
    plt.plot(levels, recovery, marker="o", label=name)
plt.xlabel("noise level ε")
plt.ylabel("share of the pure columns found")
plt.legend()
plt.show()
