"""What ``selfdict info`` says about a file."""

from typing import TYPE_CHECKING, Any

from selfdict.cli.console import in_command_words
from selfdict.cli.source import Source

if TYPE_CHECKING:
    import xarray as xr


def describe(source: Source) -> dict[str, Any]:
    """Return the facts about a scene.

    A scene that fits in memory is read once. All pixels of a larger one are read twice, block by
    block: to look at the bands, and to count the pixels that are valid in those that are used.
    """
    scene = source.read()
    from selfdict.scene.blocks import valid_mask
    from selfdict.scene.inspection import preflight

    if scene.chunks is not None:
        from selfdict.scene.plan import held_in_memory

        scene = held_in_memory(scene)
    n_bands, n_rows, n_columns = scene.shape
    look = preflight(scene)
    n_valid = int(valid_mask(scene.isel(band=look.used)).sum())
    return {
        "file": source.label,
        "format": source.format,
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
        "bands_left_out": look.left_out.tolist(),
        "findings": [in_command_words(sentence) for sentence in look.sentences],
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
    from selfdict.scene.metadata import crs_of, transform_of

    facts: dict[str, Any] = {"crs": None, "transform": None}
    crs = crs_of(scene)
    if crs is not None:
        facts["crs"] = crs.to_string()
    transform = transform_of(scene)
    if transform is not None:
        # The last three of the nine entries are always 0, 0, 1. Adding 0 makes −0 a plain zero.
        facts["transform"] = [entry + 0.0 for entry in list(transform)[:6]]
    return facts
