"""The result of unmixing as one xarray Dataset, which every format of xarray can hold."""

from typing import TYPE_CHECKING, Any

import xarray as xr

from selfdict.scene.metadata import without_notes

if TYPE_CHECKING:
    from selfdict.scene.result import UnmixResult


def as_dataset(result: "UnmixResult") -> xr.Dataset:
    """Return maps, spectra and the facts about them in one Dataset.

    Parameters
    ----------
    result : UnmixResult

    Returns
    -------
    xarray.Dataset
        See :meth:`UnmixResult.to_dataset`.
    """
    variables: dict[str, Any] = {
        "abundance": result.abundances,
        "residual": result.residual,
        "valid": result.valid,
        "spectrum": result.endmembers,
    }
    if result.uncertainty is not None:
        variables["uncertainty"] = result.uncertainty
    if result.brightness is not None:
        variables["brightness"] = result.brightness
    if result.spread is not None:
        variables["spread"] = result.spread
    dataset = xr.Dataset({name: without_notes(array) for name, array in variables.items()})
    labels = xr.Variable("endmember", result.labels)
    rows = xr.Variable("endmember", result.pixels[:, 0])
    columns = xr.Variable("endmember", result.pixels[:, 1])
    dataset = dataset.assign_coords(label=labels, pixel_row=rows, pixel_column=columns)
    return dataset.assign_attrs(_attributes(result))


def _attributes(result: "UnmixResult") -> dict[str, Any]:
    """Return the facts that a file can hold: text and numbers."""
    attributes: dict[str, Any] = {"relative_error": result.relative_error}
    if result.gap is not None:
        attributes["certified_gap"] = result.gap
    if result.proof is not None:
        attributes["proof"] = result.proof.sentence
    for name in ("method", "endmembers", "abundances"):
        attributes[name] = str(result.parameters[name])
    findings: list[str] = []
    if result.preflight is not None:
        findings = result.preflight.sentences
    for name, sentences in (
        ("preflight", findings),
        ("notes", result.notes),
        ("skipped", result.skipped),
    ):
        if sentences:
            attributes[name] = "; ".join(sentences)
    return attributes
