"""
What the certificate says
=========================

Every solution comes with a lower bound on the optimum. Algorithm 1 of the paper approaches the
optimum slowly; the working-set solver closes the gap in a few steps.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import fast_gradient, mu_heuristic, working_set
from selfdict.datasets import make_mixtures

M = make_mixtures(m=80, n=400, r=5, noise=0.02, random_state=0)[0]
mu = mu_heuristic(M, 5)
first_order = fast_gradient(M, mu, max_iter=300, tol=0)
exact = working_set(M, mu, tol=1e-6)
print(f"working set: gap {exact.gap:.1e}, {exact.support.size} of {M.shape[1]} rows are open")
print(f"300 iterations of Algorithm 1: gap {first_order.gap:.1e}")

# %%
# The distance of the objective of Algorithm 1 from the certified optimum, by iteration:

excess = first_order.history["objective"] / exact.objective - 1
plt.semilogy(excess)
plt.xlabel("iteration")
plt.ylabel("objective above the optimum, relative")
plt.show()

# %%
# The open points and their weights:

plt.bar(np.arange(exact.support.size), exact.diagonal[exact.support])
plt.xticks(np.arange(exact.support.size), exact.support, rotation=90)
plt.ylabel("diagonal of X")
plt.show()
