"""
Sources that are sometimes alone
================================

In blind source separation, sensors record nonnegative mixtures of nonnegative sources. If each
source is alone at some instant, these instants are the extreme points of all instants, and the
recordings at these instants are the columns of the mixing matrix.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR, SPA
from selfdict.metrics import mrsa

# %%
# Three sources that emit bursts, recorded by eight sensors with noise.

rng = np.random.default_rng(1)
n_sensors, n_instants, r = 8, 600, 3
time = np.arange(n_instants)
sources = np.zeros((r, n_instants))
for k in range(r):
    for start in rng.choice(n_instants - 60, 5, replace=False):
        burst = np.maximum(time - start, 0.0)
        sources[k] += rng.uniform(0.5, 1.5) * burst * np.exp(-burst / rng.uniform(5, 20)) / 8
mixing = rng.uniform(0.1, 1.0, (n_sensors, r))
recorded = mixing @ sources + 0.02 * rng.standard_normal((n_sensors, n_instants))

# %%
# Instants with almost no signal are noise in every direction, and are left out. The others are
# divided by their sum over the sensors, so that loud instants have no larger weight.

loud = np.flatnonzero(recorded.sum(axis=0) > 0.2 * recorded.sum(axis=0).max())
profiles = (recorded[:, loud] / recorded[:, loud].sum(axis=0)).T
for model in (SPA(r), FGNSR(r, random_state=0)):
    model.fit(profiles)
    angle = mrsa(model.components_.T, mixing)
    print(f"{type(model).__name__}: angle to the true mixing {angle:.2f} of 100")

# %%
# The sources are the abundances, up to scale and order.

found = model.transform(recorded.T).T
match = [int(np.argmax([np.corrcoef(f, s)[0, 1] for f in found])) for s in sources]
figure, axes = plt.subplots(r, 1, figsize=(8, 4.5), sharex=True, layout="constrained")
for k, ax in enumerate(axes):
    estimate = found[match[k]]
    ax.plot(time, sources[k] / sources[k].max(), label="source")
    ax.plot(time, estimate / estimate.max(), linewidth=1, label="found")
    ax.plot(loud[model.indices_[match[k]]], 0, "k^", label="instant chosen")
    ax.set_ylabel(f"source {k}")
axes[0].legend(ncols=3, fontsize="small", frameon=False)
axes[-1].set_xlabel("instant")
plt.show()
