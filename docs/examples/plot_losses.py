"""
Outliers and noisy bands
========================

A pixel with a spike, from a detector fault or a cosmic ray, is not a mixture of other pixels. With
the squared loss it is therefore selected, because it explains itself. The Huber loss grows only
linearly beyond δ, so a spike has little influence.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR, Huber, Weighted, fast_gradient, select_indices, working_set
from selfdict.datasets import make_mixtures
from selfdict.metrics import index_recovery

m, n, r = 40, 80, 4


def corrupted_mixtures(sigma, seed):
    """Return noisy mixtures, the pure pixels, and six impure pixels with spikes in two bands."""
    M, _, pure = make_mixtures(m, n, r, random_state=seed)
    rng = np.random.default_rng(seed)
    M += sigma * rng.standard_normal(M.shape)
    bad = rng.choice(np.setdiff1d(np.arange(n), pure), 6, replace=False)
    for j in bad:
        M[rng.choice(m, 2, replace=False), j] += 5 * M.mean()
    return M, pure, bad


def penalty(sigma):
    """Return a penalty so large that noise alone opens no row: three times its energy, over r."""
    return 3 * m * n * sigma**2 / r


# %%
# The diagonal of X shows which pixels are open. With the squared loss these are mainly the
# corrupted ones:


def solve(M, sigma):
    """Return the solutions of both models."""
    mu = penalty(sigma)
    return working_set(M, mu), fast_gradient(M, mu, loss=Huber(2 * sigma), max_iter=500, tol=1e-2)


sigma = 0.02
M, pure, bad = corrupted_mixtures(sigma, seed=0)
squared, huber = solve(M, sigma)
print(
    f"certified gaps: squared {squared.gap:.1e}, Huber {huber.gap:.1e} "
    f"after {huber.n_iter} iterations"
)

fig, axes = plt.subplots(2, 1, sharex=True, sharey=True, figsize=(7, 4))
for ax, solution, title in zip(
    axes, (squared, huber), ("squared loss", "Huber loss, δ = 2σ"), strict=True
):
    ax.vlines(np.arange(n), 0, solution.diagonal, color="0.6")
    ax.plot(pure, solution.diagonal[pure], "o", label="pure")
    ax.plot(bad, solution.diagonal[bad], "x", color="C3", label="corrupted")
    ax.set(title=title, ylabel="diagonal of X")
axes[0].legend()
axes[1].set_xlabel("pixel")
fig.tight_layout()
plt.show()

# %%
# The selection of points from X is as important as the loss. The default for the squared loss is
# the exchange, which lowers the squared error and therefore selects the corrupted pixels again. SPA
# on the rows of X is more robust, because the row of a corrupted pixel explains only that pixel: it
# finds most pure pixels even with the squared loss. For the Huber loss SPA is the default, and the
# largest diagonal entries work as well. The penalty must exceed the cost of the spikes of a pixel
# in the Huber loss, δ times their height.

levels = [0.01, 0.02, 0.04]
seeds = range(2)
selections = [
    ("squared", "exchange"),
    ("squared", "diagonal"),
    ("squared", "spa"),
    ("Huber", "diagonal"),
    ("Huber", "spa"),
]
found = np.zeros((len(selections), len(levels)))
corrupted = np.zeros((len(selections), len(levels)))
for k, sigma in enumerate(levels):
    for seed in seeds:
        M, pure, bad = corrupted_mixtures(sigma, seed)
        solutions = dict(zip(("squared", "Huber"), solve(M, sigma), strict=True))
        for i, (loss, method) in enumerate(selections):
            indices = select_indices(solutions[loss], r, method=method)
            found[i, k] += index_recovery(indices, pure) / len(seeds)
            corrupted[i, k] += np.isin(indices, bad).mean() / len(seeds)
for i, (loss, method) in enumerate(selections):
    print(
        f"{loss:8s}{method:9s} pure found {np.round(found[i], 2)}, "
        f"corrupted among the selected {np.round(corrupted[i], 2)}"
    )
    plt.plot(levels, found[i], marker="o", label=f"{loss}, {method}")
plt.xlabel("noise σ")
plt.ylabel("share of the pure pixels found")
plt.legend()
plt.show()

# %%
# Some bands are noisier than others, often by a known factor. Given their variances, the residual
# is measured in units of the noise. Every solver supports this loss, and the exchange lowers the
# error in the same units.

variance = np.full(m, 1e-4)
variance[::8] = 0.25
found = {"squared": [], "weighted": []}
for seed in range(3):
    M, _, pure = make_mixtures(m, n, r, random_state=seed)
    M += np.sqrt(variance)[:, None] * np.random.default_rng(seed).standard_normal(M.shape)
    for name, loss in {"squared": "squared", "weighted": Weighted(band_variance=variance)}.items():
        found[name].append(
            index_recovery(FGNSR(r, loss=loss, random_state=0).fit(M.T).indices_, pure)
        )
for name, values in found.items():
    print(f"{name:9s} pure found {np.mean(values):.2f}")
