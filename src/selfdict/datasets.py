"""Data: the middle points of the paper, mixtures, scenes with their truth, and a real scene."""

from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from selfdict._errors import InputError
from selfdict._imports import optional
from selfdict._validation import Array, as_generator, as_rank, as_scalar

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SceneTruth", "load_indian_pines", "make_midpoints", "make_mixtures", "make_scene"]

FILL_VALUE = -9999.0  # fill value of pixels without data
# Ranges in nm in which water vapour absorbs nearly all light; their bands are marked as bad.
_WATER_VAPOUR = ((1340.0, 1430.0), (1800.0, 1960.0))


def make_midpoints(
    m: int = 50,
    r: int = 10,
    noise: float = 0.0,
    alpha: float | None = None,
    random_state: Any = None,
) -> tuple[Array, Array, Array]:
    """Generate the middle point data of section 4.1 of the paper.

    The entries of W are uniform, scaled so that its r columns sum to one. The other r(r−1)/2
    columns of M are the middle points of all pairs of columns of W, moved away from the mean of W
    such that ‖N‖_F = ``noise``. The columns of M are permuted.

    Parameters
    ----------
    m, r : int
        Number of features and of columns of W. M has n = r + r(r−1)/2 columns (50, 10 and 55 in
        the paper).
    noise : float
        The noise level ε = ‖N‖_F.
    alpha : float, optional
        If given, at least 1: each middle point is scaled by a uniform draw from
        [1/alpha, alpha] (4 in the paper). The direction of the noise is that of the unscaled
        middle point.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    M : (m, n) ndarray
    W : (m, r) ndarray
    indices : (r,) ndarray of int
        ``M[:, indices]`` is ``W``.

    Examples
    --------
    >>> from selfdict.datasets import make_midpoints
    >>> M, W, indices = make_midpoints(noise=0.1, random_state=0)
    >>> M.shape, bool((M[:, indices] == W).all())
    ((50, 55), True)
    """
    if m < 1 or r < 2:
        raise InputError(f"middle points need m ≥ 1 and r ≥ 2, got m={m} and r={r}")
    noise = as_scalar(noise, "noise")
    rng = as_generator(random_state)
    W = rng.random((m, r))
    W /= W.sum(axis=0)
    pairs = np.array(list(combinations(range(r), 2)))
    middle = (W[:, pairs[:, 0]] + W[:, pairs[:, 1]]) / 2
    # Adversarial noise: it moves the middle points towards the boundary of the hull of W, where
    # they become hard to tell from the columns of W. The columns of W themselves get no noise.
    N = middle - W.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(N)
    # With r = 2 the only middle point is the mean of W: there is no direction to move it in.
    if noise > 0 and norm > 0:
        N *= noise / norm
    else:
        N[...] = 0.0
    if alpha is not None:
        alpha = as_scalar(alpha, "alpha", minimum=1.0)
        middle = middle * rng.uniform(1 / alpha, alpha, size=len(pairs))
    M = np.hstack([W, middle + N])
    # Permuted, so that a method that prefers the first columns in a tie gains nothing by it.
    order = rng.permutation(M.shape[1])
    # argsort inverts the permutation: entry k is the new position of column k of W.
    return M[:, order], W, np.argsort(order)[:r]


def make_mixtures(
    m: int,
    n: int,
    r: int,
    *,
    noise: float = 0.0,
    concentration: float = 0.5,
    random_state: Any = None,
) -> tuple[Array, Array, Array]:
    """Generate n mixtures of r smooth positive spectra, among them the r spectra themselves.

    Parameters
    ----------
    m, n, r : int
        Number of features, of points and of pure points, r ≤ n.
    noise : float
        Frobenius norm of the Gaussian noise, divided by that of the clean data.
    concentration : float
        Parameter of the Dirichlet distribution of the abundances. Small values give purer points.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    M : (m, n) ndarray
        The data. With noise, negative entries are set to zero.
    H : (r, n) ndarray
        The abundances; columns sum to one.
    indices : (r,) ndarray of int
        Columns of the pure points.

    Examples
    --------
    >>> from selfdict.datasets import make_mixtures
    >>> M, H, indices = make_mixtures(30, 100, 4, noise=0.01, random_state=0)
    >>> M.shape, indices.shape
    ((30, 100), (4,))
    """
    if not 1 <= r <= n or m < 1:
        raise InputError(f"mixtures need m ≥ 1 and 1 ≤ r ≤ n, got m={m}, n={n} and r={r}")
    noise = as_scalar(noise, "noise")
    rng = as_generator(random_state)
    bands = np.linspace(0, 1, m)[:, None]
    # Five Gaussian peaks per spectrum; the offset keeps every entry positive.
    centres, widths, heights = rng.random((3, 5, r))
    W = 0.1 + sum(
        height * np.exp(-(((bands - centre) / (0.05 + 0.3 * width)) ** 2))
        for centre, width, height in zip(centres, widths, heights, strict=True)
    )
    H = rng.dirichlet(np.full(r, concentration), size=n).T
    indices = rng.choice(n, size=r, replace=False)
    H[:, indices] = np.eye(r)
    M = W @ H
    if noise > 0:
        E = rng.standard_normal(M.shape)
        # Reflectances and counts are not negative, and some of the methods require that.
        M = np.maximum(M + E * (noise * np.linalg.norm(M) / np.linalg.norm(E)), 0.0)
    return M, H, indices


@dataclass(frozen=True)
class SceneTruth:
    """A generated scene and what it was made of.

    Attributes
    ----------
    scene : xarray.DataArray (band, y, x)
        float32 reflectance with wavelengths, bad bands, CRS, transform and a no-data value.
    endmembers : (n_endmembers, n_bands) ndarray
        The spectra, without noise; with variability, their means.
    abundances : (n_endmembers, n_rows, n_columns) ndarray
        Abundances; they sum to one in every pixel.
    pixels : (n_endmembers, 2) ndarray of int
        Row and column of one pure pixel per endmember.
    outliers : (n_outliers, 2) ndarray of int
        Row and column of the damaged pixels.
    """

    scene: "xr.DataArray"
    endmembers: Array
    abundances: Array
    pixels: Array
    outliers: Array


def make_scene(
    shape: tuple[int, int] = (64, 64),
    n_bands: int = 120,
    n_endmembers: int = 5,
    noise: float = 0.005,
    *,
    n_outliers: int = 3,
    border: int = 2,
    variability: float = 0.0,
    random_state: Any = None,
) -> SceneTruth:
    """Generate a scene: smooth spectra with absorption features on a map of mixed patches.

    Parameters
    ----------
    shape : (int, int)
        Number of rows and columns, including the border.
    n_bands : int
        Number of bands, from 400 to 2500 nm. Those in the absorption bands of water vapour are
        marked as bad and have five times as much noise.
    n_endmembers : int
        Number of materials; each has one pure pixel.
    noise : float
        Standard deviation of the Gaussian noise, relative to the mean reflectance.
    n_outliers : int
        Number of pixels in which some bands are far too bright, as after a hit on the detector.
    border : int
        Width in pixels of a frame without data.
    variability : float
        Variation of the spectrum of a material over the scene: the standard deviation of its
        smooth changes in brightness and shape, relative to the spectrum.
    random_state : None, int or numpy.random.Generator
        Seed. The same seed gives the same scene.

    Returns
    -------
    SceneTruth

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> truth = make_scene(shape=(20, 30), n_endmembers=3, random_state=0)
    >>> truth.scene.dims, truth.scene.shape
    (('band', 'y', 'x'), (120, 20, 30))
    >>> row, column = truth.pixels[0]
    >>> truth.abundances[:, row, column]
    array([1., 0., 0.])
    """
    rng = as_generator(random_state)
    noise = as_scalar(noise, "noise")
    variability = as_scalar(variability, "variability")
    n_rows = int(shape[0])
    n_columns = int(shape[1])
    inner = (n_rows - 2 * border, n_columns - 2 * border)
    if border < 0 or min(inner) < 1:
        raise InputError(f"shape {shape} leaves no pixel inside a border of {border}")
    if n_bands < 1 or n_outliers < 0:
        raise InputError(
            f"a scene needs n_bands ≥ 1 and n_outliers ≥ 0, got {n_bands} and {n_outliers}"
        )
    # Each endmember needs a pure pixel of its own, and outliers cannot be pure.
    n_endmembers = as_rank(n_endmembers, inner[0] * inner[1] - n_outliers, "n_endmembers")
    wavelength = np.round(np.linspace(400.0, 2500.0, n_bands), 2)
    good = ~np.any([(a <= wavelength) & (wavelength <= b) for a, b in _WATER_VAPOUR], axis=0)

    endmembers = _spectra(wavelength, n_endmembers, rng)
    abundances = _patches((n_rows, n_columns), n_endmembers, rng)
    inside = np.zeros((n_rows, n_columns), dtype=bool)
    inside[border : n_rows - border, border : n_columns - border] = True
    pixels = _make_pure(abundances, inside)

    values = np.einsum("kb,kij->bij", endmembers, abundances)
    if variability > 0:
        for spectrum, share in zip(endmembers, abundances):
            changes = _relative_changes(n_bands, share.shape, rng)
            values += variability * spectrum[:, None, None] * share * changes
    sigma = noise * values.mean() * np.where(good, 1.0, 5.0)
    values += sigma[:, None, None] * rng.standard_normal(values.shape)
    # A damaged pure pixel would leave its endmember without one.
    mixed = inside.copy()
    mixed[tuple(pixels.T)] = False
    outliers = rng.permutation(np.argwhere(mixed))[:n_outliers]
    for row, column in outliers:
        damaged_bands = rng.random(n_bands) < 0.2
        values[damaged_bands, row, column] *= rng.uniform(1.5, 3.0)
    values[:, ~inside] = FILL_VALUE
    return SceneTruth(
        _georeferenced(values, wavelength, good), endmembers, abundances, pixels, outliers
    )


def _spectra(wavelength: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n smooth reflectance spectra: a sigmoid slope with two to five absorption features."""
    # A scene of one band has a range of zero.
    t = (wavelength - wavelength[0]) / max(np.ptp(wavelength), 1.0)
    spectra = np.empty((n, wavelength.size))
    for spectrum in spectra:
        rise = 1 / (1 + np.exp(-rng.uniform(4, 15) * (t - rng.uniform(0.0, 0.4))))
        spectrum[:] = (
            rng.uniform(0.1, 0.35) + rng.uniform(0.1, 0.5) * rise + rng.uniform(-0.2, 0.1) * t
        )
        for _ in range(rng.integers(2, 6)):
            depth = rng.uniform(0.1, 0.6)
            centre = rng.uniform(0.05, 0.95)
            width = rng.uniform(0.01, 0.06)
            spectrum *= 1 - depth * np.exp(-0.5 * ((t - centre) / width) ** 2)
    # The slope can leave the range of a reflectance; 0.01 keeps every spectrum positive.
    return np.clip(spectra, 0.01, 1.0, out=spectra)


def _patches(shape: tuple[int, int], n: int, rng: np.random.Generator) -> Array:
    """Return n maps that sum to one: a softmax of smooth random fields, coarse and fine."""
    fields = np.zeros((n, *shape))
    for width, weight in ((min(shape) / 16, 5.0), (min(shape) / 64, 1.5)):
        # Below 0.7 pixels the filter smooths hardly at all, as it would in a small scene.
        parts = np.stack(
            [gaussian_filter(rng.standard_normal(shape), max(0.7, width)) for _ in range(n)]
        )
        # Smoothing lowers the variance; the weights are meant for fields of variance one.
        fields += weight / parts.std() * parts
    # The maximum is subtracted so that exp does not overflow; it cancels in the quotient.
    shares: Array = np.exp(fields - fields.max(axis=0))
    shares /= shares.sum(axis=0)
    return shares


def _relative_changes(n_bands: int, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Return smooth relative changes (bands, rows, columns) of mean square about one."""
    # A sum of three products of a spectrum and a map: one changes the brightness of all bands
    # alike, the other two change the shape of the spectrum.
    modes = np.vstack(
        [
            np.ones(n_bands),
            gaussian_filter1d(rng.standard_normal((2, n_bands)), n_bands / 10, axis=1),
        ]
    )
    maps = np.stack(
        [gaussian_filter(rng.standard_normal(shape), max(0.7, min(shape) / 16)) for _ in modes]
    )
    modes /= np.sqrt(np.mean(modes**2, axis=1, keepdims=True))
    maps /= np.sqrt(np.mean(maps**2, axis=(1, 2), keepdims=True))
    changes: Array = np.einsum("kb,kij->bij", modes, maps) / np.sqrt(len(modes))
    return changes


def _make_pure(abundances: Array, inside: Array) -> Array:
    """Make one pixel per endmember pure, in place, and return the rows and columns."""
    # The pixel with the largest abundance of the endmember, so that the map stays coherent.
    # A pixel can be pure in one endmember only, also where two maps have their maximum.
    free = inside.copy()
    pixels = np.empty((len(abundances), 2), dtype=int)
    for k, share in enumerate(abundances):
        row, column = np.unravel_index(np.argmax(np.where(free, share, -1.0)), free.shape)
        abundances[:, row, column] = 0.0
        abundances[k, row, column] = 1.0
        free[row, column] = False
        pixels[k] = row, column
    return pixels


def _georeferenced(values: Array, wavelength: Array, good: Array) -> "xr.DataArray":
    affine = optional("affine")
    from selfdict.scene import build_scene

    return build_scene(
        values.astype(np.float32),
        wavelength=wavelength,
        good_band=good,
        # Pixels of 30 m somewhere in UTM zone 33 north.
        crs="EPSG:32633",
        transform=affine.Affine(30.0, 0.0, 500_000.0, 0.0, -30.0, 5_200_000.0),
        nodata=FILL_VALUE,
    )


def load_indian_pines() -> "xr.DataArray":
    """Return the Indian Pines scene: AVIRIS, June 1992, fields and forest in Indiana.

    145 × 145 pixels and 200 bands of radiance; the bands of water vapour are removed. The file
    comes with the package tensorly, which must be installed.

    Returns
    -------
    xarray.DataArray (band, y, x)

    Raises
    ------
    ModuleNotFoundError
        If tensorly is not installed.
    FileNotFoundError
        If the installed version has no such file.
    """
    xarray = optional("xarray")
    # Found without importing tensorly, which takes seconds.
    spec = find_spec("tensorly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "the Indian Pines scene needs tensorly, which contains it: pip install tensorly"
        )
    path = Path(spec.origin).parent / "datasets" / "data" / "Indian_pines_corrected.npy"
    values = np.load(path, allow_pickle=False)
    # The providers multiplied the radiance by 500 and added 1000.
    radiance = (values.transpose(2, 0, 1).astype(np.float32) - 1000) / 500
    scene: xr.DataArray = xarray.DataArray(radiance, dims=("band", "y", "x"), name="radiance")
    return scene
