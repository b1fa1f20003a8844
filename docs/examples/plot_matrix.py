"""
A matrix, from samples to shares
================================

Any table of nonnegative measurements can be unmixed: a row per sample, a column per feature. Here
the samples are mixtures of four dyes, and the features are wavelengths. Some samples contain almost
only one dye. Which ones are they, and how much of each dye is in the others?
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR, advise_rank
from selfdict.metrics import match

# %%
# The data
# --------
# 400 generated samples with known shares, measured at 150 wavelengths with 1 % noise.

rng = np.random.default_rng(0)
wavelength = np.linspace(450, 750, 150)
centres = np.array([[500], [560], [610], [670]])
dyes = np.exp(-(((wavelength - centres) / 30) ** 2))
dyes += 0.4 * np.exp(-(((wavelength - centres - 45) / 40) ** 2))
shares = rng.dirichlet(np.full(4, 0.5), 400)
X = shares @ dyes
X += 0.01 * X.mean() * rng.standard_normal(X.shape)

plt.figure(figsize=(6, 3), layout="constrained")
plt.plot(wavelength, X[:40].T, color="0.5", linewidth=0.7)
plt.xlabel("wavelength (nm)")
plt.ylabel("intensity")
plt.title("40 of the 400 samples")
plt.show()

# %%
# The fit
# -------
# :class:`~selfdict.FGNSR` is a scikit-learn estimator. It selects four samples whose mixtures
# explain all others. The default seed is fixed: the same data give the same result.

model = FGNSR(4).fit(X)
print("purest samples:", model.indices_)
print("their true shares:", shares[model.indices_].max(axis=1).round(3))
print(f"relative error {model.reconstruction_err_:.1%}, certified gap {model.gap_:.1e}")

# %%
# The spectra found, and the true ones (dashed), paired by :func:`~selfdict.metrics.match`. With
# more noise, and several nearly pure samples, ``endmembers="average"`` averages over groups of
# them.

found, true = match(model.components_.T, dyes.T)
plt.figure(figsize=(6, 3), layout="constrained")
for k, dye in zip(found, true, strict=True):
    (line,) = plt.plot(wavelength, model.components_[k], label=f"component {k}")
    plt.plot(wavelength, dyes[dye], "--", color=line.get_color())
plt.xlabel("wavelength (nm)")
plt.ylabel("intensity")
plt.legend(frameon=False)
plt.show()

# %%
# The shares
# ----------
# The share of each dye in every sample, compared with the truth:

estimated = model.shares(X)
plt.figure(figsize=(4, 4), layout="constrained")
plt.plot(shares[:, true], estimated[:, found], ".", markersize=3)
plt.axline((0, 0), slope=1, color="0.5", linewidth=0.8)
plt.xlabel("true share")
plt.ylabel("share found")
plt.show()
print(f"mean error of a share: {np.abs(estimated[:, found] - shares[:, true]).mean():.3f}")

# %%
# What is proven
# --------------

print(fill(model.prove().sentence, 90))

# %%
# How many components
# -------------------
# One, two, … samples are selected to explain all others. With four, only noise is left.

advice = advise_rank(X.T)
print(fill(advice.reason, 90))
plt.figure(figsize=(5, 3), layout="constrained")
plt.plot(np.arange(1, len(advice.errors) + 1), 100 * advice.errors, "o-")
plt.xlabel("number of components")
plt.ylabel("relative error, %")
plt.ylim(bottom=0)
plt.show()
