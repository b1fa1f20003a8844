"""A hyperspectral scene that looks like a place, with its truth."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict._validation import Array, as_generator, as_rank, as_scalar

if TYPE_CHECKING:
    import xarray as xr

NODATA = -9999.0
_WATER_VAPOUR = ((1340.0, 1430.0), (1800.0, 1960.0))  # nm: the air lets hardly any light through


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
        They sum to one in every pixel.
    pixels : (n_endmembers, 2) ndarray of int
        Row and column of a pure pixel of each endmember.
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
    """Make a scene: smooth spectra with absorption features, mixed where the patches of a map meet.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns, the border included.
    n_bands : int
        Bands from 400 to 2500 nm. Those in the water vapour bands are marked as bad and five times
        as noisy.
    n_endmembers : int
        Number of materials; each has one pure pixel.
    noise : float
        Standard deviation of the Gaussian noise, as a share of the mean reflectance.
    n_outliers : int
        Pixels in which some bands are far too bright, as after a hit on the detector.
    border : int
        Width in pixels of a frame without data.
    variability : float
        How much the spectrum of a material differs from place to place: the standard deviation of
        its smooth changes in brightness and shape, as a share of the spectrum.
    random_state : None, int or numpy.random.Generator
        Same seed, same scene.

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
    noise, variability = as_scalar(noise, "noise"), as_scalar(variability, "variability")
    n_rows, n_columns = (int(size) for size in shape)
    inner = (n_rows - 2 * border, n_columns - 2 * border)
    if border < 0 or min(inner) < 1:
        raise InputError(f"shape {shape} leaves no pixel inside a border of {border}")
    if n_bands < 1 or n_outliers < 0:
        raise InputError(
            f"a scene needs n_bands ≥ 1 and n_outliers ≥ 0, got {n_bands} and {n_outliers}"
        )
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
            values += (
                variability * spectrum[:, None, None] * share * _changes(n_bands, share.shape, rng)
            )
    sigma = noise * values.mean() * np.where(good, 1.0, 5.0)
    values += sigma[:, None, None] * rng.standard_normal(values.shape)
    free = inside.copy()
    free[tuple(pixels.T)] = False
    outliers = rng.permutation(np.argwhere(free))[:n_outliers]
    for row, column in outliers:
        values[rng.random(n_bands) < 0.2, row, column] *= rng.uniform(1.5, 3.0)
    values[:, ~inside] = NODATA
    return SceneTruth(
        _georeferenced(values, wavelength, good), endmembers, abundances, pixels, outliers
    )


def _spectra(wavelength: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n smooth reflectance spectra: a bent slope with two to five absorption features."""
    t = (wavelength - wavelength[0]) / max(np.ptp(wavelength), 1.0)
    spectra = np.empty((n, wavelength.size))
    for spectrum in spectra:
        rise = 1 / (1 + np.exp(-rng.uniform(4, 15) * (t - rng.uniform(0.0, 0.4))))
        spectrum[:] = (
            rng.uniform(0.1, 0.35) + rng.uniform(0.1, 0.5) * rise + rng.uniform(-0.2, 0.1) * t
        )
        for _ in range(rng.integers(2, 6)):
            depth, centre, width = (
                rng.uniform(0.1, 0.6),
                rng.uniform(0.05, 0.95),
                rng.uniform(0.01, 0.06),
            )
            spectrum *= 1 - depth * np.exp(-0.5 * ((t - centre) / width) ** 2)
    return np.clip(spectra, 0.01, 1.0, out=spectra)


def _patches(shape: tuple[int, int], n: int, rng: np.random.Generator) -> Array:
    """Return n maps that sum to one: smooth random fields, coarse and fine, the largest winning softly."""
    fields = np.zeros((n, *shape))
    for width, weight in ((min(shape) / 16, 5.0), (min(shape) / 64, 1.5)):
        parts = np.stack(
            [gaussian_filter(rng.standard_normal(shape), max(0.7, width)) for _ in range(n)]
        )
        fields += weight / parts.std() * parts
    shares: Array = np.exp(fields - fields.max(axis=0))
    shares /= shares.sum(axis=0)
    return shares


def _changes(n_bands: int, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Return relative changes (bands, rows, columns) of variance one: brightness and two shapes, on smooth maps."""
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
    """Make, for each endmember, the pixel with most of it pure; return where they are."""
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
    xarray = optional("xarray")
    optional("rioxarray")
    affine = optional("affine")
    transform = affine.Affine(30.0, 0.0, 500_000.0, 0.0, -30.0, 5_200_000.0)
    scene: xr.DataArray = xarray.DataArray(
        values.astype(np.float32),
        dims=("band", "y", "x"),
        coords={
            "wavelength": ("band", wavelength, {"units": "nm"}),
            "good_band": ("band", good),
            "y": transform.f + transform.e * (np.arange(values.shape[1]) + 0.5),
            "x": transform.c + transform.a * (np.arange(values.shape[2]) + 0.5),
        },
        attrs={"_FillValue": NODATA},
        name="reflectance",
    )
    placed: xr.DataArray = scene.rio.write_transform(transform).rio.write_crs("EPSG:32633")
    return placed
