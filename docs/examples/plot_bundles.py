"""
Materials that vary
===================

One spectrum per material is not enough if light, moisture or age change it. The convex model finds
several pixels of each material anyway. Gathered into bundles, they give abundances that are closer
to the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR
from selfdict.datasets import make_scene
from selfdict.metrics import match

truth = make_scene((24, 24), 40, 4, n_outliers=0, border=0, variability=0.05, random_state=1)
X = np.maximum(truth.scene.values.reshape(40, -1).T, 0)
model = FGNSR(4, postprocess="clusters", random_state=0).fit(X)
bundles = model.bundles()

# %%
# The selected pixel of each material (line), and between which values the others of its bundle lie
# (band):

wavelength = truth.scene.wavelength.values
figure, axes = plt.subplots(2, 2, sharex=True, sharey=True, layout="constrained")
for k, ax in enumerate(axes.flat):
    ax.fill_between(wavelength, bundles.lower[:, k], bundles.upper[:, k], alpha=0.3)
    ax.plot(wavelength, model.components_[k])
    ax.set_title(f"{bundles.members[k].size} pixels, angles up to {bundles.angles[k].max():.1f}")
figure.supxlabel("wavelength (nm)")
figure.supylabel("reflectance")
plt.show()

# %%
# How far the abundances are from the truth, with one spectrum per material and with bundles:

found, materials = match(model.components_.T, truth.endmembers.T)
shares = truth.abundances.reshape(4, -1)[materials]
names = {"selected pixels": model.transform(X).T, "bundles": bundles.abundances(X.T)}
figure, axes = plt.subplots(1, 2, sharey=True, layout="constrained")
for ax, (name, H) in zip(axes, names.items(), strict=True):
    H = H[found] / H.sum(axis=0)
    ax.plot(shares.T, H.T, ".", markersize=2)
    ax.set_title(f"{name}: error {np.sqrt(np.mean((H - shares) ** 2)):.3f}")
    ax.set_xlabel("true abundance")
axes[0].set_ylabel("abundance found")
plt.show()
