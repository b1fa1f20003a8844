"""
How many materials
==================

Each additional material lowers the error. One certified solution gives the errors for all numbers
of materials. No r spectra, whether pixels or not, have a smaller error than the truncated SVD of
rank r.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR
from selfdict.datasets import load_indian_pines
from selfdict.metrics import relative_error

X = load_indian_pines().values.reshape(200, -1).T
ranks = range(1, 9)
model = FGNSR(8, candidates=500, random_state=0).fit(X)

# %%
# ``select`` selects another number of pixels from the same fit.

errors = [relative_error(X.T, model.select(r)) for r in ranks]
singular_values = np.linalg.svd(X, compute_uv=False)
limits = [np.sqrt((singular_values[r:] ** 2).sum() / (singular_values**2).sum()) for r in ranks]

# %%
plt.figure(figsize=(6, 3.5), layout="constrained")
plt.plot(ranks, 100 * np.array(errors), "o-", label="r pixels")
plt.plot(ranks, 100 * np.array(limits), "s--", color="0.5", label="any r spectra, at best")
plt.xlabel("number of materials r")
plt.ylabel("relative error, %")
plt.ylim(bottom=0)
plt.legend(frameon=False)
plt.show()
