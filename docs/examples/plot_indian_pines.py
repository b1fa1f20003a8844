"""
A real scene, from the file to maps
===================================

Indian Pines is a small image of fields and forest, taken from an aircraft in 1992. This tutorial
reads it from a file, inspects it, finds its materials, and maps their shares in every pixel.
"""

# %%
# The file
# --------
# The package tensorly contains the scene. It is saved as an ENVI file first, so that the tutorial
# starts with a file.

from pathlib import Path
from tempfile import mkdtemp
from textwrap import fill

import matplotlib.pyplot as plt

from selfdict import read_scene, unmix
from selfdict.datasets import load_indian_pines
from selfdict.scene import preflight, write_scene

# sphinx_gallery_thumbnail_number = 2
folder = Path(mkdtemp())
path = write_scene(load_indian_pines(), folder / "indian_pines.hdr")

# %%
# The scene
# ---------
# :func:`~selfdict.scene.read_scene` reads files of many :doc:`formats </scenes>`. A scene is an
# ``xarray.DataArray`` with the dimensions band, y and x.

scene = read_scene(path)
print(dict(scene.sizes))
plt.figure(figsize=(4, 4), layout="constrained")
plt.imshow(scene.isel(band=30), cmap="gray")
plt.title("band 31")
plt.axis("off")
plt.show()

# %%
# Before any computation, :doc:`the preflight </scenes>` reports what is assumed about the file and
# what looks wrong.

for sentence in preflight(scene).sentences:
    print(fill(sentence, 90))

# %%
# Unmixing
# --------
# The number of materials is five. The convex model is solved with every pixel as a candidate. The
# gap bounds the distance of the solution from the optimum.

result = unmix(scene, 5, prove=True)
print(f"{result.n_valid} pixels, relative error {result.relative_error:.2%}, gap {result.gap:.1e}")

# %%
# Spectra and maps
# ----------------
# Each spectrum is the average of a group of nearly pure pixels. The maps show shares: the part of
# a pixel's area that a material covers.

result.plot(plt.figure())
plt.show()

# %%
# Each spectrum, with a band of one standard deviation within its group.

figure, axes = plt.subplots(1, 5, figsize=(12, 2.6), sharey=True, layout="constrained")
for k, axis in enumerate(axes):
    spectrum = result.endmembers.values[k]
    spread = result.spread.values[k]
    axis.fill_between(range(len(spectrum)), spectrum - spread, spectrum + spread, alpha=0.3)
    axis.plot(spectrum)
    axis.set(title=f"material {k + 1}, {result.counts[k]} pixels", xlabel="band")
axes[0].set_ylabel("radiance")
plt.show()

# %%
# What is proven
# --------------
# How close the groups alone come to the optimum, and what leaving one out costs.

print(fill(result.proof.sentence, 90))

# %%
# Saving
# ------
# Maps are written to a file that other software can open. A dataset contains everything.

write_scene(result.abundances, folder / "abundances.tif")
print(result.to_dataset().sizes)

# %%
# In a notebook, ``result`` on a line of its own shows this:

result

# %%
# On the command line, ``selfdict unmix indian_pines.hdr -r 5`` does all of this and writes a
# :doc:`report </report>`. ``selfdict demo --real`` needs no file.
