"""From a scene to endmembers and abundance maps, a part at a time."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

import selfdict
from selfdict._validation import Array, as_generator, as_rank
from selfdict.scene.blocks import block_matrix, blocks, flat_indices, float_dtype, map_of, used_bands, with_mask
from selfdict.scene.georef import crs_of, to_map, transform_of
from selfdict.scene.library import match_wavelengths
from selfdict.scene.model import as_scene
from selfdict.scene.result import UnmixResult

METHODS = {"fgnsr": "FGNSR", "spa": "SPA", "snpa": "SNPA", "xray": "XRAY", "vca": "VCA", "h2nmf": "H2NMF"}
_FIT_BYTES = 128 * 2**20  # what the method gets to see at most, unless max_pixels says otherwise
_EXTREME = 3  # of each block, so many times r extreme pixels are kept whatever the sampling


def unmix(
    scene: xr.DataArray,
    r: int,
    *,
    method: str = "fgnsr",
    candidates: int | None = 500,
    mu: float | str = "auto",
    library: xr.DataArray | None = None,
    abundances: str = "nnls",
    mask: ArrayLike | None = None,
    drop_bad_bands: bool = False,
    max_pixels: int | None = None,
    random_state: Any = None,
    progress: Callable[[str, float], Any] | None = None,
    **options: Any,
) -> UnmixResult:
    """Find r pure pixels in a scene and how much of each every pixel holds.

    The scene is read a part at a time, twice: once for the pixels the method chooses from, once
    for the abundances. A scene larger than ``max_pixels`` is thinned for the first: a random share of each
    block, and the extreme pixels of each block (found by SPA) always.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        See :func:`read_scene`; names of dims are recognised as in :func:`as_scene`.
    r : int
        Number of endmembers.
    method : {"fgnsr", "spa", "snpa", "xray", "vca", "h2nmf"}
        How pure pixels are chosen.
    candidates : int or None
        For ``"fgnsr"``: representatives of so many H2NMF clusters are the dictionary; None: all pixels.
    mu : float or "auto"
        For ``"fgnsr"``: the penalty μ of model (6).
    library : xarray.DataArray (spectrum, band), optional
        For ``"fgnsr"``: find r spectra of this library instead of pure pixels; see :func:`read_library`. It is matched
        to the wavelengths of the scene (:func:`match_wavelengths`), which must hold the same quantity in the same unit.
    abundances : {"nnls", "fcls"}
        Nonnegative least squares, or with abundances that sum to one besides.
    mask : (n_rows, n_columns) array-like of bool, optional
        True where a pixel is to be left out.
    drop_bad_bands : bool
        Leave out the bands marked as bad.
    max_pixels : int, optional
        The most pixels the method gets to see; by default as many as fill 128 MiB.
    random_state : None, int or numpy.random.Generator
        Same seed, same result.
    progress : callable, optional
        Called with the step (``"read"``, ``"select"``, ``"abundances"``) and the share of it done.
    **options
        Further parameters of the estimator (``solver``, ``postprocess``, ``max_seconds``, ``callback``, …).

    Returns
    -------
    UnmixResult

    Notes
    -----
    Negative values (noise in dark bands) are raised to zero: the model is one of nonnegative data.

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import unmix
    >>> truth = make_scene(shape=(20, 20), n_endmembers=3, n_outliers=0, random_state=0)
    >>> result = unmix(truth.scene, 3, method="spa")
    >>> result.abundances.dims, result.pixels.shape
    (('endmember', 'y', 'x'), (3, 2))
    """
    started = time.perf_counter()
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if abundances not in ("nnls", "fcls"):
        raise ValueError(f"abundances must be 'nnls' or 'fcls', got {abundances!r}")
    scene = with_mask(as_scene(scene), mask)
    r = as_rank(r, scene.sizes["y"] * scene.sizes["x"] if library is None else library.sizes["spectrum"])
    bands = used_bands(scene, drop_bad_bands)
    if library is not None:
        if method != "fgnsr":
            raise ValueError(f"a library is searched by the method 'fgnsr', got {method!r}")
        library = match_wavelengths(library, scene.isel(band=bands))
    generator = as_generator(random_state)
    report = progress or (lambda step, share: None)

    points, flat, valid = _read(scene, bands, r, max_pixels, generator, report)
    if library is None:
        as_rank(r, len(points))
    read = time.perf_counter()

    report("select", 0.0)
    settings: dict[str, Any] = {"candidates": candidates, "mu": mu} if method == "fgnsr" else {}
    if settings and candidates is not None and candidates >= len(points):
        settings["candidates"] = None
    seed = int(generator.integers(2**31))
    given = {} if library is None else {"dictionary": library.values}
    estimator = getattr(selfdict, METHODS[method])(r, random_state=seed, **settings, **given, **options)
    estimator.fit(points)
    report("select", 1.0)
    chosen = np.asarray(estimator.indices_)
    U = estimator.components_.T
    solution = getattr(estimator, "solution_", None)
    solution_pixels = guarantee = None
    if solution is not None and library is None:
        guarantee = selfdict.robustness_report(points.T, chosen)
        clusters = estimator.clusters_
        solution_pixels = _rows_and_columns(flat if clusters is None else flat[clusters.indices], scene)
    n_fitted = len(points)
    del points, estimator
    selected = time.perf_counter()

    maps, residual, relative_error = _abundances(scene, bands, U, valid, abundances, report)
    ended = time.perf_counter()

    label, names = np.arange(1, r + 1), {}
    if library is None:
        pixels = _rows_and_columns(flat[chosen], scene)
    else:
        pixels = _rows_and_columns(np.nanargmax(maps.reshape(r, -1), axis=1), scene)
        names = {"name": ("endmember", library["name"].values[chosen])}
    crs, coordinates = _coordinates(scene, pixels)
    spectral = {k: v for k, v in scene.coords.items() if v.dims == ("band",)}
    parameters = {
        "r": r,
        "method": method,
        **settings,
        **{key: value for key, value in options.items() if not callable(value)},
        "abundances": abundances,
        "drop_bad_bands": drop_bad_bands,
        "n_bands": int(bands.sum()),
        "n_valid": int(valid.sum()),
        "n_fitted": n_fitted,
        "random_state": random_state if isinstance(random_state, int) else None,
    }
    return UnmixResult(
        endmembers=xr.DataArray(
            U.T,
            dims=("endmember", "band"),
            coords={"endmember": label, **names, **{k: v.isel(band=bands) for k, v in spectral.items()}},
            name="endmembers",
        ),
        pixels=pixels,
        coordinates=coordinates,
        crs=crs,
        abundances=map_of(scene, maps, "abundance", endmember=label).assign_coords(names),
        residual=map_of(scene, residual, "residual"),
        valid=map_of(scene, valid, "valid"),
        relative_error=relative_error,
        solution=solution,
        solution_pixels=solution_pixels,
        guarantee=guarantee,
        parameters=parameters,
        seconds={
            "read": read - started,
            "select": selected - read,
            "abundances": ended - selected,
            "total": ended - started,
        },
        atoms=None if library is None else chosen,
    )


def _read(
    scene: xr.DataArray,
    bands: Array,
    r: int,
    max_pixels: int | None,
    generator: np.random.Generator,
    report: Callable[[str, float], Any],
) -> tuple[Array, Array, Array]:
    """Return the pixels to fit as rows, their flat indices, and which pixels are valid (rows, columns)."""
    n_bands, (n_rows, n_columns) = int(bands.sum()), scene.shape[1:]
    n_pixels = n_rows * n_columns
    if max_pixels is None:
        max_pixels = max(1, _FIT_BYTES // (n_bands * float_dtype(scene).itemsize))
    share = min(1.0, max_pixels / n_pixels)
    parts = blocks(scene)
    n_extreme = 0 if share == 1 else min(_EXTREME * r, n_bands)
    capacity = min(n_pixels, int(share * n_pixels) + n_extreme * len(parts))
    points = np.empty((capacity, n_bands), dtype=float_dtype(scene))
    flat = np.empty(capacity, dtype=np.intp)
    valid = np.empty((n_rows, n_columns), dtype=bool)
    count = 0
    for number, part in enumerate(parts, start=1):
        M, holds_data = block_matrix(scene, *part, bands)
        valid[part] = holds_data.reshape(valid[part].shape)
        keep = np.flatnonzero(holds_data)
        if keep.size:
            M = np.maximum(M[:, keep], 0)
            if share < 1:
                # float64: where only noise is left, SPA must compare many residuals of nearly one size
                extreme = selfdict.spa(M.astype(np.float64), min(n_extreme, keep.size), allow_fewer=True)
                thinned = np.union1d(extreme, generator.choice(keep.size, int(share * keep.size), replace=False))
                M, keep = M[:, thinned], keep[thinned]
            points[count : count + keep.size] = M.T
            flat[count : count + keep.size] = flat_indices(scene, *part)[keep]
            count += keep.size
        report("read", number / len(parts))
    if count == 0:
        raise ValueError("the scene has no valid pixel: all are no-data, not finite, zero or masked")
    points, flat = points[:count], flat[:count]
    if (np.diff(flat) < 0).any():  # parts side by side: the method shall see the same order whatever the file
        order = np.argsort(flat)
        points, flat = points[order], flat[order]
    return points, flat, valid


def _abundances(
    scene: xr.DataArray,
    bands: Array,
    U: Array,
    valid: Array,
    method: str,
    report: Callable[[str, float], Any],
) -> tuple[Array, Array, float]:
    """Return the maps (r, rows, columns), the relative residual of each pixel, and of the whole scene."""
    solve = getattr(selfdict, method)
    maps = np.full((U.shape[1], *valid.shape), np.nan, dtype=U.dtype)
    residual = np.full(valid.shape, np.nan, dtype=U.dtype)
    squared_error = squared_norm = 0.0
    parts = blocks(scene)
    for number, part in enumerate(parts, start=1):
        here = valid[part]
        if here.any():
            M = np.maximum(block_matrix(scene, *part, bands)[0][:, here.ravel()], 0)
            H = solve(U, M)
            norms = np.einsum("ij,ij->j", M, M, dtype=np.float64)
            M -= U @ H
            errors = np.einsum("ij,ij->j", M, M, dtype=np.float64)
            maps[:, *part][:, here] = H
            # a pixel without any positive value is explained perfectly by nothing
            residual[part][here] = np.sqrt(errors / np.where(norms > 0, norms, 1.0))
            squared_error += errors.sum()
            squared_norm += norms.sum()
        report("abundances", number / len(parts))
    relative_error = float(np.sqrt(squared_error / squared_norm)) if squared_norm else 0.0
    return maps, residual, relative_error


def _rows_and_columns(flat: Array, scene: xr.DataArray) -> Array:
    return np.stack(np.unravel_index(flat, scene.shape[1:]), axis=1)


def _coordinates(scene: xr.DataArray, pixels: Array) -> tuple[str | None, Array | None]:
    """Return the CRS as text and the map coordinates x, y of the centres of pixels, or None for either."""
    rows, columns = pixels.T
    crs = crs_of(scene)
    transform = transform_of(scene)
    if transform is not None:
        x, y = to_map(transform, columns + 0.5, rows + 0.5)
        return (None if crs is None else crs.to_string()), np.stack([x, y], axis=1)
    if "lat" in scene.coords and "lon" in scene.coords:  # sensor geometry
        return "EPSG:4326", np.stack([scene[key].values[rows, columns] for key in ("lon", "lat")], axis=1)
    return (None if crs is None else crs.to_string()), None
