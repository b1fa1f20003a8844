"""
A real scene, from the file to maps
===================================

Indian Pines is a small image of fields and forest, taken from an aircraft in 1992. This tutorial
reads it, finds its materials, and maps how much of each every pixel holds.
"""

# %%
# The scene
# ---------
# A scene is an ``xarray.DataArray`` with the dimensions band, y and x. Here it comes with the
# package tensorly. A file of your own is read by ``selfdict.read_scene("scene.hdr")``.

import matplotlib.pyplot as plt

from selfdict import unmix
from selfdict.datasets import load_indian_pines

scene = load_indian_pines()
plt.figure(figsize=(4, 4), layout="constrained")
plt.imshow(scene.isel(band=30), cmap="gray")
plt.title("band 31")
plt.axis("off")

# %%
# Unmixing
# --------
# Five materials. The convex model is solved with every pixel as a candidate; the gap says how far
# from optimal its solution can be, at most.

result = unmix(scene, 5, random_state=0, prove=True)
print(f"{result.n_valid} pixels, relative error {result.relative_error:.2%}, gap {result.gap:.1e}")

# %%
# Spectra
# -------
# Each spectrum is the average of a group of nearly pure pixels. The band around it is the standard
# deviation within the group.

figure, axes = plt.subplots(1, 5, figsize=(12, 2.6), sharey=True, layout="constrained")
for k, axis in enumerate(axes):
    spectrum = result.endmembers.values[k]
    spread = result.spread.values[k]
    axis.fill_between(range(len(spectrum)), spectrum - spread, spectrum + spread, alpha=0.3)
    axis.plot(spectrum)
    axis.set(title=f"material {k + 1}, {result.counts[k]} pixels", xlabel="band")
axes[0].set_ylabel("radiance")

# %%
# Maps
# ----
# Shares sum to one in every pixel and do not depend on its brightness.

figure, axes = plt.subplots(1, 5, figsize=(12, 2.8), layout="constrained")
for k, axis in enumerate(axes):
    image = axis.imshow(result.abundances.values[k], vmin=0, vmax=1)
    axis.set(title=f"material {k + 1}", xticks=[], yticks=[])
figure.colorbar(image, ax=axes, shrink=0.8, label="share")

# %%
# What is proven
# --------------
# The groups behind the spectra suffice, and each is needed, within these bounds.

print(result.proof.sentence)

# %%
# ``selfdict demo --real`` does the same on the command line and writes a report;
# ``selfdict unmix scene.hdr -r 5`` does it for a file.

plt.show()
