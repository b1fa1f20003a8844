"""What ``selfdict info`` and ``selfdict rank`` say about a file."""

from typing import Any

from selfdict.cli.source import Source

_RANK_BYTES = 2**29  # what the estimates of the rank get to see at most
_CANDIDATES = 100  # cluster representatives on which the model is solved for the error curve


def describe(source: Source) -> dict[str, Any]:
    """Return the facts about a scene; the pixels are read once, a block at a time, to count the valid ones."""
    from selfdict.scene import crs_of, transform_of, valid_mask
    from selfdict.scene.formats import format_of

    scene = source.read()
    n_bands, n_rows, n_columns = scene.shape
    wavelength = scene["wavelength"].values if "wavelength" in scene.coords else None
    names = (
        [str(name) for name in scene["band_name"].values] if "band_name" in scene.coords else None
    )
    crs, transform = crs_of(scene), transform_of(scene)
    valid = int(valid_mask(scene).sum())
    return {
        "file": source.label,
        "format": format_of(source.path),
        "bands": n_bands,
        "rows": n_rows,
        "columns": n_columns,
        "data_type": scene.dtype.name,
        "size_in_memory_mb": round(scene.nbytes / 1e6, 3),
        "first_wavelength_nm": None if wavelength is None else float(wavelength[0]),
        "last_wavelength_nm": None if wavelength is None else float(wavelength[-1]),
        "first_band_name": None if names is None else names[0],
        "last_band_name": None if names is None else names[-1],
        "bad_bands": int((~scene["good_band"].values.astype(bool)).sum())
        if "good_band" in scene.coords
        else None,
        "no_data_value": scene.attrs.get("_FillValue"),
        "scale_factor": scene.attrs.get("scale_factor"),
        "add_offset": scene.attrs.get("add_offset"),
        "crs": None if crs is None else crs.to_string(),
        "transform": None if transform is None else list(transform)[:6],
        "valid_pixels": valid,
        "valid_share": valid / (n_rows * n_columns),
    }


def suggest_ranks(source: Source, maximum: int) -> dict[str, Any]:
    """Return how many materials HySime and the elbow of the error curve suggest, and that curve.

    The curve belongs to one certified solution on cluster representatives. Of a large file, rows
    are skipped.
    """
    from selfdict.peers import h2nmf
    from selfdict.readout import elbow, error_curve, suggest_rank
    from selfdict.scene import SceneError, matrix
    from selfdict.solvers import mu_heuristic, working_set

    scene = source.read()
    step = -(-scene.size * 4 // _RANK_BYTES)
    M = matrix(scene.isel(y=slice(None, None, step)), clip=True)
    if M.shape[1] == 0:
        raise SceneError(source.label, "the scene has no valid pixel")
    maximum = min(maximum, *M.shape)
    noise = suggest_rank(M, r_max=maximum)
    clusters = h2nmf(M, min(_CANDIDATES, M.shape[1]))
    points, sizes = M[:, clusters.indices], clusters.sizes
    mu = mu_heuristic(points, min(noise, sizes.size), sample_weight=sizes)
    solution = working_set(points, mu, sample_weight=sizes)
    curve = error_curve(solution, M, maximum, clusters=clusters)
    return {
        "file": source.label,
        "every_nth_row": step,
        "hysime": noise,
        "elbow": elbow(curve.errors),
        "gap": solution.gap,
        "errors": curve.errors.tolist(),
        "limits": curve.limits.tolist(),
    }
