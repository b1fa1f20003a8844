"""A library of generated minerals with the absorption features that minerals have."""

import numpy as np

from selfdict.scene import build_library, build_scene, resample_library

WAVELENGTH = np.arange(350.0, 2501.0, 2.0)
# Another sensor's bands, without those of water vapour.
BANDS = np.array([w for w in np.arange(410.0, 2450.0, 9.0) if not 1340 < w < 1440])
BANDS = BANDS[(BANDS < 1790) | (BANDS > 1960)]


def mineral_library(n_minerals=40, n_samples=3, seed=0):
    """Return samples of minerals that differ in grain size, brightness and slope."""
    rng = np.random.default_rng(seed)
    spectra = []
    names = []
    for mineral in range(n_minerals):
        features = np.array(_features(rng))
        rise = rng.uniform(60, 500)
        for sample in range(n_samples):
            # Larger grains absorb more in all features.
            grain = rng.uniform(0.7, 1.4)
            depths = 1 - (1 - features[:, 2]) ** grain
            spectrum = 1 - np.exp(-(WAVELENGTH - 250) / rise)
            spectrum *= rng.uniform(0.4, 0.9) * (1 + rng.uniform(-0.1, 0.1) * WAVELENGTH / 2500)
            for (centre, width, _), depth in zip(features, depths):
                spectrum *= 1 - depth * np.exp(-0.5 * ((WAVELENGTH - centre) / width) ** 2)
            spectra.append(spectrum)
            names.append(f"Mineral_{chr(65 + mineral // 26)}{chr(65 + mineral % 26)} GEN{sample}")
    return build_library(spectra, names, WAVELENGTH)


def _features(rng):
    """Return centre, width and depth of each feature of a mineral."""
    features = []
    # Electrons of iron: broad, in the visible and near infrared.
    for _ in range(rng.integers(0, 3)):
        features.append((rng.uniform(450, 1150), rng.uniform(50, 140), rng.uniform(0.05, 0.4)))
    # Water and hydroxyl.
    for centre in (1400, 1910):
        if rng.random() < 0.6:
            features.append(
                (centre + rng.normal(0, 12), rng.uniform(12, 30), rng.uniform(0.1, 0.5))
            )
    # Bonds of aluminium, magnesium and carbonate: narrow, beyond 2,100 nm.
    for _ in range(rng.integers(1, 4)):
        features.append((rng.uniform(2120, 2440), rng.uniform(12, 35), rng.uniform(0.08, 0.45)))
    return features


def mineral_scene(library, rows, noise_db=30.0, shape=(24, 24), seed=0):
    """Return a scene mixed from spectra of a library, three pure pixels of each, at other bands."""
    rng = np.random.default_rng(seed)
    bands = {"wavelength": BANDS, "fwhm": np.full(len(BANDS), 11.0)}
    template = build_scene(np.zeros((len(BANDS), 1, 1)), **bands)
    spectra = resample_library(library.isel(spectrum=rows), template)[0].values
    abundances = rng.dirichlet(np.full(len(rows), 0.4), shape)
    for k in range(len(rows)):
        abundances[k, :3] = np.eye(len(rows))[k]
    cube = np.moveaxis(abundances @ spectra, -1, 0)
    sigma = np.sqrt((cube**2).mean()) * 10 ** (-noise_db / 20)
    return build_scene((cube + sigma * rng.normal(size=cube.shape)).astype(np.float32), **bands)
