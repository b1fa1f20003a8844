"""
Which spectra of a library are in a scene
=========================================

With a dictionary, the components are chosen from its atoms instead of the pixels, so no pixel needs
to be pure. This example has a library of 80 smooth spectra, in pairs that look alike, and 500
pixels mixed from four of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from selfdict import FGNSR, mu_heuristic, working_set

rng = np.random.default_rng(0)
wavelength = np.linspace(400, 2500, 120)
bands = rng.uniform(400, 2500, (3, 40, 1))
widths, depths = rng.uniform(60, 300, (3, 40, 1)), rng.uniform(0, 0.3, (3, 40, 1))
library = 0.9 - (depths * np.exp(-(((wavelength - bands) / widths) ** 2))).sum(axis=0)
library = np.vstack(
    [library, library + 0.02 * np.sin(wavelength / 200 + rng.uniform(0, 6, (40, 1)))]
)
names = [f"mineral {k % 40}{'ab'[k // 40]}" for k in range(80)]

truth = [3, 14, 25, 36]
H = rng.dirichlet(np.ones(4), 500)
X = H @ library[truth]
noise = rng.standard_normal(X.shape)
X += noise * np.linalg.norm(X) / np.linalg.norm(noise) * 10 ** (-30 / 20)  # 30 dB

model = FGNSR(4, dictionary=library, random_state=0).fit(X)
print("in the scene:", ", ".join(names[k] for k in truth))
print("found:       ", ", ".join(names[k] for k in sorted(model.indices_)))
print(f"certified gap {model.gap_:.1e}, relative error {model.reconstruction_err_:.3f}")

# %%
# Each atom has a gate between 0 (not used) and 1 (some pixel consists of it alone). The model is
# solved for denoised pixels (:class:`selfdict.Denoising`), and atoms are then selected by exchange.

gates = model.solution_.diagonal
order = np.argsort(-gates)[:12]
colours = ["tab:green" if k in truth else "0.7" for k in order]
plt.bar(range(12), gates[order], color=colours)
plt.xticks(range(12), [names[k] for k in order], rotation=60, ha="right")
plt.ylabel("gate")
plt.tight_layout()
plt.show()

# %%
# For the noisy pixels, with points as columns, the weight is distributed among similar spectra:

solution = working_set(X.T, mu_heuristic(X.T, 4, D=library.T), D=library.T)
wrong = np.delete(solution.diagonal, truth).sum()
print(f"gap {solution.gap:.1e}, sum of the gates of wrong spectra {wrong:.2f}")
print(f"without the noise: {np.delete(gates, truth).sum():.2f}")

# %%
# The abundances of these spectra, compared with the truth:

A = model.transform(X)[:, np.argsort(model.indices_)]
plt.plot(H, A, ".", markersize=3)
plt.axline((0, 0), slope=1, color="0.5", linewidth=0.8)
plt.xlabel("true abundance")
plt.ylabel("abundance found")
plt.show()
