"""From a scene to endmembers and abundance maps, a part at a time."""

import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_rank
from selfdict.estimators import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY
from selfdict.model.losses import Squared, as_loss
from selfdict.readout import robustness_report
from selfdict.scene.blocks import blocks, float_dtype, used_bands, with_mask
from selfdict.scene.check import Dictionary
from selfdict.scene.georef import crs_of, to_map, transform_of
from selfdict.scene.library import match_wavelengths
from selfdict.scene.mapping import FitBlock, map_scene
from selfdict.scene.model import as_scene
from selfdict.scene.passes import over_blocks
from selfdict.scene.result import UnmixResult
from selfdict.scene.thinning import AllPixels, Points, Representatives, Sample, gather

METHODS: dict[str, Any] = {
    "fgnsr": FGNSR,
    "spa": SPA,
    "snpa": SNPA,
    "xray": XRAY,
    "vca": VCA,
    "h2nmf": H2NMF,
}
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
    check: bool = False,
    maps: str | PathLike[str] | None = None,
    client: Any = None,
    random_state: Any = None,
    progress: Callable[[str, float], Any] | None = None,
    **options: Any,
) -> UnmixResult:
    """Find r pure pixels in a scene and how much of each every pixel holds.

    The scene is read a part at a time, twice: once for the pixels the method chooses from, once for
    the abundances. A scene larger than ``max_pixels`` is thinned for the first. For ``"fgnsr"``
    with ``candidates`` each block is clustered by H2NMF, and its representatives go on with the
    sizes of their clusters. The other methods see a random share of each block, and always its
    extreme pixels, found by SPA.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        See :func:`read_scene`; names of dims are recognised as in :func:`as_scene`.
    r : int
        Number of endmembers.
    method : {"fgnsr", "spa", "snpa", "xray", "vca", "h2nmf"}
        How pure pixels are chosen.
    candidates : int or None
        For ``"fgnsr"``: representatives of so many H2NMF clusters are the dictionary; None: all
        pixels.
    mu : float or "auto"
        For ``"fgnsr"``: the penalty μ of model (6).
    library : xarray.DataArray (spectrum, band), optional
        For ``"fgnsr"``: find r spectra of this library instead of pure pixels; see
        :func:`read_library`. It is matched to the wavelengths of the scene
        (:func:`match_wavelengths`), which must hold the same quantity in the same unit.
    abundances : {"nnls", "fcls"}
        Nonnegative least squares, or with abundances that sum to one besides.
    mask : (n_rows, n_columns) array-like of bool, optional
        True where a pixel is to be left out.
    drop_bad_bands : bool
        Leave out the bands marked as bad.
    max_pixels : int, optional
        The most pixels the method gets to see; by default as many as fill 128 MiB.
    check : bool
        For ``"fgnsr"`` with ``candidates``: bound, in the second pass, how far the solution is from
        optimal for all pixels, see :class:`SceneCheck`. The cluster sizes enter the model as
        weights of the residuals then.
    maps : str or path-like, optional
        A folder to write the maps to, block by block, as ``abundances.zarr`` and ``residual.zarr``;
        the maps of the result then read them lazily. By default they are held in memory.
    client : distributed.Client, optional
        A dask cluster whose workers read and fit the blocks; they must see the files of the scene
        and the folder ``maps`` under the same names. By default this process does it. The result is
        the same.
    random_state : None, int or numpy.random.Generator
        Same seed, same result.
    progress : callable, optional
        Called with the step (``"read"``, ``"select"``, ``"abundances"``) and the share of it done.
    **options
        Further parameters of the estimator (``solver``, ``postprocess``, ``max_seconds``,
        ``callback``, …).

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
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if abundances not in ("nnls", "fcls"):
        raise InputError(f"abundances must be 'nnls' or 'fcls', got {abundances!r}")
    settings: dict[str, Any] = {"candidates": candidates, "mu": mu} if method == "fgnsr" else {}
    squared = isinstance(
        as_loss(options.get("loss")), Squared
    )  # other losses cannot take the sizes of clusters
    if check:
        settings["weights"] = options.pop("weights", "residual")
        few = method == "fgnsr" and (candidates is not None or library is not None)
        if not (few and squared and settings["weights"] == "residual"):
            raise InputError(
                "check needs the method 'fgnsr' with candidates or a library, weights='residual' and loss='squared'"
            )
    scene = with_mask(as_scene(scene), mask)
    r = as_rank(
        r, scene.sizes["y"] * scene.sizes["x"] if library is None else library.sizes["spectrum"]
    )
    bands = used_bands(scene, drop_bad_bands)
    if library is not None:
        if method != "fgnsr":
            raise InputError(f"a library is searched by the method 'fgnsr', got {method!r}")
        library = match_wavelengths(library, scene.isel(band=bands))
    generator = as_generator(random_state)
    report = progress or (lambda step, share: None)

    n_clusters = settings.get("candidates") if squared else None
    points = _read(scene, bands, r, n_clusters, max_pixels, generator, client, report)
    if library is None:
        as_rank(r, len(points.values))
    read = time.perf_counter()

    report("select", 0.0)
    if settings and candidates is not None and candidates >= len(points.values):
        settings["candidates"] = None
    seed = int(generator.integers(2**31))
    given = {} if library is None else {"dictionary": library.values}
    estimator = METHODS[method](r, random_state=seed, **settings, **given, **options)
    if (points.sizes > 1).any():
        estimator.fit(points.values, sample_weight=points.sizes)
    else:
        estimator.fit(points.values)
    report("select", 1.0)
    chosen = np.asarray(estimator.indices_)
    U = estimator.components_.T
    solution = getattr(estimator, "solution_", None)
    solution_pixels = guarantee = dictionary = None
    if solution is not None:
        among = slice(None) if estimator.clusters_ is None else estimator.clusters_.indices
        if library is None:
            guarantee = robustness_report(points.values.T, chosen)
            solution_pixels = _rows_and_columns(points.pixels[among], scene)
        if check:
            dictionary = Dictionary.of(
                (points.values[among] if library is None else library.values).T, solution
            )
    n_fitted, flat = len(points.pixels), points.pixels[chosen] if library is None else None
    del points, estimator
    selected = time.perf_counter()

    folder = None if maps is None else Path(maps).absolute()  # workers may have started elsewhere
    names = None if library is None else library["name"].values[chosen]
    task = FitBlock(bands, U, abundances, dictionary, names=names)
    mapped = map_scene(scene, task, folder, client, lambda share: report("abundances", share))
    ended = time.perf_counter()

    pixels = _rows_and_columns(mapped.peaks if flat is None else flat, scene)
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
        "n_valid": mapped.n_valid,
        "n_fitted": n_fitted,
        "random_state": random_state if isinstance(random_state, int) else None,
    }
    return UnmixResult(
        endmembers=xr.DataArray(
            U.T,
            dims=("endmember", "band"),
            coords={
                **{k: v for k, v in mapped.abundances.coords.items() if v.dims == ("endmember",)},
                **{k: v.isel(band=bands) for k, v in spectral.items()},
            },
            name="endmembers",
        ),
        pixels=pixels,
        coordinates=coordinates,
        crs=crs,
        abundances=mapped.abundances,
        residual=mapped.residual,
        valid=mapped.valid,
        relative_error=mapped.relative_error,
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
        check=mapped.check,
    )


def _read(
    scene: xr.DataArray,
    bands: Array,
    r: int,
    candidates: int | None,
    max_pixels: int | None,
    generator: np.random.Generator,
    client: Any,
    report: Callable[[str, float], Any],
) -> Points:
    """Return the pixels to fit."""
    n_bands, n_pixels = int(bands.sum()), scene.sizes["y"] * scene.sizes["x"]
    if max_pixels is None:
        max_pixels = max(1, _FIT_BYTES // (n_bands * float_dtype(scene).itemsize))
    task = AllPixels(bands)
    if candidates is not None and n_pixels > max_pixels:
        task = Representatives(bands, min(candidates, max(1, max_pixels // len(blocks(scene)))))
    elif n_pixels > max_pixels:
        seed = int(generator.integers(2**31))
        task = Sample(bands, max_pixels / n_pixels, min(_EXTREME * r, n_bands), seed)
    parts = [
        points
        for _, points in over_blocks(scene, task, client, lambda share: report("read", share))
    ]
    points = gather(parts)
    if not len(points.values):
        raise InputError(
            "the scene has no valid pixel: all are no-data, not finite, zero or masked"
        )
    return points


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
        return "EPSG:4326", np.stack(
            [scene[key].values[rows, columns] for key in ("lon", "lat")], axis=1
        )
    return (None if crs is None else crs.to_string()), None
