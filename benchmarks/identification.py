"""Which measure finds the mineral of an endmember in a library, and what its thresholds accept.

The spectra of ``usgs1995_lib.npz`` (in the folder given as ``data``, 498 spectra at the bands of
AVIRIS) are resampled to a sensor of 203 bands of 12 nm, with noise. Each is then looked up in the
library three times: with all spectra; without its own, so that another sample of the mineral must
be found; and without all samples of its mineral, so that there is nothing to find. At the end,
scenes of five minerals are unmixed and their endmembers identified, and the reference spectra of
Jasper Ridge (``jasper_ridge.npz``) are looked up.
"""

from pathlib import Path

import numpy as np
import xarray as xr

from benchmarks.measuring import Table
from selfdict.scene import build_library, build_scene, identify, read_library, unmix
from selfdict.scene.identification import MAX_ANGLE, MAX_RATIO, angles_between, slopes_of
from selfdict.scene.library import resample_library

NOISES = (60.0, 40.0, 30.0)  # signal-to-noise ratios in dB


def run(quick: bool = False, data: str | None = None) -> None:
    """Print the tables; ``quick`` takes fewer scenes. Without ``data`` there is nothing to do."""
    if data is None:
        print("identification: needs --data DIR with usgs1995_lib.npz")
        return
    library = read_library(Path(data) / "usgs1995_lib.npz")
    sensor = another_sensor()
    resampled, is_covered = resample_library(library, sensor)
    bands = sensor["wavelength"].values[is_covered]
    materials = resampled["material"].values
    print(
        f"{len(materials)} spectra of {len(set(materials))} materials, {len(bands)} bands; "
        "found: the material of the nearest spectrum is the right one"
    )
    table = Table("measure:<28|dB:4.0f|in library:11.1%|another sample:15.1%")
    for name, measure in measures(bands).items():
        for noise in NOISES:
            angles = look_up(resampled.values, measure, noise)
            present = found_rate(angles, materials, "in library")
            another = found_rate(angles, materials, "another sample")
            table.row(name, noise, present, another)
    print(f"accepted by the rule: angle ≤ {MAX_ANGLE:g}° and ≤ {MAX_RATIO:g} of the next")
    table = Table("look-up:<16|dB:4.0f|right:7.1%|wrong:7.1%")
    for kind in look_ups(materials):
        for noise in NOISES:
            angles = look_up(resampled.values, measures(bands)["slopes, 30 nm"], noise)
            table.row(kind, noise, *accepted_rates(angles, materials, kind))
    scenes(library, sensor, 3 if quick else 20)
    jasper_ridge(library, Path(data))


def jasper_ridge(library, folder):
    """Print what the reference spectra of Jasper Ridge are, which are no minerals."""
    with np.load(folder / "usgs1995_lib.npz") as arrays:
        channels = arrays["channel_order_1based"]
    with np.load(folder / "jasper_ridge.npz") as arrays:
        spectra = arrays["M"].T
        names = [str(name) for name in arrays["names"]]
        # The scene and the library are both of AVIRIS, and have the same channels.
        positions = [int(np.flatnonzero(channels == k)[0]) for k in arrays["band_sel_1based"]]
    bands = {key: library[key].values[positions] for key in ("wavelength", "fwhm")}
    found = identify(build_library(spectra, names, **bands), library)
    for name, match in zip(names, found.matches):
        print(f"Jasper Ridge, {name}: {match.sentence}")


def another_sensor() -> xr.DataArray:
    """Return bands 9.1 nm apart and 12 nm wide, without those of water vapour."""
    wavelength = np.linspace(402, 2490, 230)
    is_dark = ((wavelength > 1340) & (wavelength < 1430)) | (
        (wavelength > 1800) & (wavelength < 1960)
    )
    coords = {
        "wavelength": ("band", wavelength[~is_dark]),
        "fwhm": ("band", np.full((~is_dark).sum(), 12.0)),
    }
    return xr.DataArray(np.zeros((~is_dark).sum()), dims="band", coords=coords)


def measures(wavelength):
    """Return functions that turn spectra into vectors, between which angles are measured."""
    return {
        "spectra": lambda spectra: spectra,
        "without mean": lambda spectra: spectra - spectra.mean(axis=1, keepdims=True),
        "without continuum": lambda spectra: continuum_removed(spectra, wavelength),
        "smoothed, without continuum": lambda spectra: continuum_removed(
            smoothed(spectra, wavelength), wavelength
        ),
        "slopes, 30 nm": lambda spectra: slopes_of(spectra, wavelength),
    }


def smoothed(spectra, wavelength, width=15.0):
    """Return averages with Gaussian weights."""
    weights = np.exp(-0.5 * ((wavelength[None] - wavelength[:, None]) / width) ** 2)
    return spectra @ (weights / weights.sum(axis=1, keepdims=True)).T


def continuum_removed(spectra, wavelength):
    """Return one minus the quotient of each spectrum and its upper convex hull."""
    depths = []
    for spectrum in np.maximum(spectra, 1e-6):
        hull = []
        for k in range(len(spectrum)):
            while len(hull) >= 2 and not turns_right(wavelength, spectrum, hull[-2], hull[-1], k):
                hull.pop()
            hull.append(k)
        continuum = np.interp(wavelength, wavelength[hull], spectrum[hull])
        depths.append(1 - spectrum / continuum)
    return np.array(depths)


def turns_right(x, y, a, b, c):
    """Whether the way from a over b to c turns right, so that b is on the hull."""
    return (y[b] - y[a]) * (x[c] - x[a]) > (y[c] - y[a]) * (x[b] - x[a])


def look_up(spectra, measure, noise, seed=0):
    """Return the angles from each spectrum, with noise, to all without."""
    rng = np.random.default_rng(seed)
    level = np.linalg.norm(spectra, axis=1, keepdims=True) / np.sqrt(spectra.shape[1])
    noisy = spectra + level * 10 ** (-noise / 20) * rng.normal(size=spectra.shape)
    return angles_between(measure(noisy), measure(spectra))


def nearest(angles, materials, is_allowed):
    """Return the nearest spectrum, its angle, and that of the next material."""
    allowed = np.where(is_allowed, angles, np.inf)
    first = allowed.argmin(axis=1)
    others = np.where(materials[None] != materials[first][:, None], allowed, np.inf)
    return first, allowed.min(axis=1), others.min(axis=1)


def look_ups(materials):
    """Return for each kind of look-up which spectra are allowed, and which are looked up."""
    is_same = materials[None] == materials[:, None]
    is_itself = np.eye(len(materials), dtype=bool)
    all_of_them = np.ones(len(materials), dtype=bool)
    return {
        "in library": (np.ones_like(is_same), all_of_them),
        "another sample": (~is_itself, is_same.sum(axis=1) > 1),
        "absent": (~is_same, all_of_them),
    }


def found_rate(angles, materials, kind):
    """Return how often the nearest spectrum is of the right material."""
    is_allowed, is_counted = look_ups(materials)[kind]
    first, _, _ = nearest(angles, materials, is_allowed)
    return np.mean((materials[first] == materials)[is_counted])


def accepted_rates(angles, materials, kind):
    """Return how often a match is accepted and right, and accepted and wrong."""
    is_allowed, is_counted = look_ups(materials)[kind]
    first, angle, following = nearest(angles, materials, is_allowed)
    is_accepted = (angle <= MAX_ANGLE) & (angle <= MAX_RATIO * following)
    is_right = materials[first] == materials
    right = np.mean((is_accepted & is_right)[is_counted])
    wrong = np.mean((is_accepted & ~is_right)[is_counted])
    return right, wrong


def scenes(library, sensor, n_scenes):
    """Unmix scenes of five minerals at 30 dB and print how their endmembers are identified."""
    first = 0
    decided = 0
    wrong = 0
    for seed in range(n_scenes):
        scene, names = mineral_scene(library, sensor, seed)
        result = unmix(scene, 5, candidates=100, random_state=0)
        found = identify(result.endmembers, library).matches
        nearest_materials = {match.nearest[0].material for match in found}
        first += len(nearest_materials & names)
        decided += sum(match.material in names for match in found)
        wrong += sum(match.material is not None and match.material not in names for match in found)
    print(
        f"{n_scenes} scenes of 5 minerals at 30 dB, {5 * n_scenes} endmembers: the right mineral "
        f"is nearest for {first}, named for {decided}; another is named for {wrong}"
    )


def mineral_scene(library, sensor, seed, shape=(30, 30)):
    """Return a scene of five materials drawn at random, and their names."""
    rng = np.random.default_rng(seed)
    resampled, is_covered = resample_library(library, sensor)
    materials = resampled["material"].values
    chosen = rng.choice(sorted(set(materials)), 5, replace=False)
    rows = [rng.choice(np.flatnonzero(materials == name)) for name in chosen]
    spectra = resampled.values[rows].astype(float)
    abundances = rng.dirichlet(np.full(5, 0.4), shape)
    # Three pure pixels of each material.
    for k in range(5):
        abundances[k, :3] = np.eye(5)[k]
    cube = np.moveaxis(abundances @ spectra, -1, 0)
    sigma = np.sqrt((cube**2).mean()) * 10 ** (-30 / 20)
    cube = cube + sigma * rng.normal(size=cube.shape)
    bands = {key: sensor[key].values[is_covered] for key in ("wavelength", "fwhm")}
    return build_scene(cube.astype(np.float32), **bands), set(chosen.tolist())
