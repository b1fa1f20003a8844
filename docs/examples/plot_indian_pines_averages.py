"""
Pixels or averages
==================

A single pixel carries noise. An average over a group of nearly pure pixels carries less, and the
spread of the group shows how certain a spectrum is. Both come from the same solution.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR
from selfdict.datasets import load_indian_pines

scene = load_indian_pines()
X = scene.values.reshape(200, -1).T  # pixels × bands
pixels = FGNSR(4, candidates=500, random_state=0).fit(X)
averages = FGNSR(4, candidates=500, endmembers="average", random_state=0).fit(X)
assert np.array_equal(pixels.indices_, averages.indices_)

# %%
# Thin lines are the selected pixels, thick lines the averages of their groups.

figure, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
for k, axis in enumerate(axes.flat):
    axis.plot(pixels.components_[k], lw=0.8, label=f"pixel {pixels.indices_[k]}")
    axis.plot(
        averages.components_[k], lw=1.8, label=f"average of {averages.group_counts_[k]} pixels"
    )
    axis.legend(frameon=False)
axes[1, 0].set(xlabel="band", ylabel="radiance")

# %%
# The locations of the pixels of each group.

figure, axis = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
axis.imshow(scene.isel(band=30), cmap="gray")
for k, group in enumerate(averages.groups_):
    rows, columns = np.unravel_index(group, scene.shape[1:])
    axis.scatter(columns, rows, s=2, label=f"material {k + 1}")
axis.legend(loc="upper left", markerscale=5, fontsize=8)
axis.axis("off")
plt.show()
