"""What ``selfdict info`` and ``selfdict rank`` print about a file."""

from typing import TYPE_CHECKING, Any

from selfdict.cli.source import Source

if TYPE_CHECKING:
    import xarray as xr


def describe(source: Source) -> dict[str, Any]:
    """Return the facts about a scene.

    All pixels are read once, block by block, to count the valid ones.
    """
    from selfdict.scene import valid_mask
    from selfdict.scene.formats import format_of

    scene = source.read()
    n_bands, n_rows, n_columns = scene.shape
    n_valid = int(valid_mask(scene).sum())
    return {
        "file": source.label,
        "format": format_of(source.path),
        "bands": n_bands,
        "rows": n_rows,
        "columns": n_columns,
        "data_type": scene.dtype.name,
        "size_in_memory_mb": round(scene.nbytes / 1e6, 3),
        **_band_facts(scene),
        "no_data_value": scene.attrs.get("_FillValue"),
        "scale_factor": scene.attrs.get("scale_factor"),
        "add_offset": scene.attrs.get("add_offset"),
        "band_gains": _span(scene, "band_gain"),
        "band_offsets": _span(scene, "band_offset"),
        **_map_facts(scene),
        "valid_pixels": n_valid,
        "valid_share": n_valid / (n_rows * n_columns),
    }


def _band_facts(scene: "xr.DataArray") -> dict[str, Any]:
    """Return what the file says about its bands; None for what it does not say."""
    facts: dict[str, Any] = {
        "first_wavelength_nm": None,
        "last_wavelength_nm": None,
        "first_band_name": None,
        "last_band_name": None,
        "bad_bands": None,
    }
    if "wavelength" in scene.coords:
        wavelengths = scene["wavelength"].values
        facts["first_wavelength_nm"] = float(wavelengths[0])
        facts["last_wavelength_nm"] = float(wavelengths[-1])
    if "band_name" in scene.coords:
        names = scene["band_name"].values
        facts["first_band_name"] = str(names[0])
        facts["last_band_name"] = str(names[-1])
    if "good_band" in scene.coords:
        facts["bad_bands"] = int((~scene["good_band"].values.astype(bool)).sum())
    return facts


def _span(scene: "xr.DataArray", name: str) -> list[float] | None:
    """Return the lowest and the highest number of a coordinate; None if the scene has it not."""
    if name not in scene.coords:
        return None
    values = scene[name].values
    return [float(values.min()), float(values.max())]


def _map_facts(scene: "xr.DataArray") -> dict[str, Any]:
    """Return the coordinate reference system and the six coefficients of the transform."""
    from selfdict.scene import crs_of, transform_of

    facts: dict[str, Any] = {"crs": None, "transform": None}
    crs = crs_of(scene)
    if crs is not None:
        facts["crs"] = crs.to_string()
    transform = transform_of(scene)
    if transform is not None:
        # The last three of the nine entries are always 0, 0, 1.
        facts["transform"] = list(transform)[:6]
    return facts


def suggest_ranks(
    source: Source, maximum: int, *, max_bytes: int = 2**29, n_candidates: int = 100
) -> dict[str, Any]:
    """Return the numbers of materials that HySime and the elbow of the error curve suggest.

    Parameters
    ----------
    source : Source
        The scene.
    maximum : int
        The largest number of materials to suggest.
    max_bytes : int
        Of a scene with more bytes in float32, rows are skipped.
    n_candidates : int
        Number of cluster representatives on which the model is solved. The error curve belongs to
        this one certified solution.
    """
    from selfdict.model import Problem
    from selfdict.readout import elbow, error_curve, suggest_rank
    from selfdict.reductions import Candidates, Recipe
    from selfdict.scene import SceneError, matrix
    from selfdict.solvers import WorkingSet

    scene = source.read()
    # Rounded up, so that the rows that remain fit.
    step = -(-scene.size * 4 // max_bytes)
    M = matrix(scene.isel(y=slice(None, None, step)), clip=True)
    if M.shape[1] == 0:
        raise SceneError(source.label, "the scene has no valid pixel")
    # There are no more independent spectra than bands or pixels.
    maximum = min(maximum, *M.shape)
    hysime = suggest_rank(M, r_max=maximum)
    recipe = Recipe(WorkingSet(), candidates=Candidates(n_candidates, weighting="residual"))
    solution = recipe.solve(Problem(M), hysime)
    curve = error_curve(solution, maximum)
    return {
        "file": source.label,
        "every_nth_row": step,
        "hysime": hysime,
        "elbow": elbow(curve.errors),
        "gap": solution.gap,
        "errors": curve.errors.tolist(),
        "limits": curve.limits.tolist(),
    }
