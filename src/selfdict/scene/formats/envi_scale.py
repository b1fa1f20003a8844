"""Scales in an ENVI header: gains and offsets per band, and the reflectance scale factor."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.envi_header import number_field, number_list
from selfdict.scene.scaling import scaling_of

# Pairs of fields, the preferred one first: reflectance is what a scene usually is.
_GAIN_FIELDS = (
    ("data reflectance gain values", "data reflectance offset values"),
    ("data gain values", "data offset values"),
)


@dataclass(frozen=True)
class Scale:
    """The scale that a header declares: physical value = stored value · gain + offset.

    Attributes
    ----------
    gain, offset : float, (n_bands,) ndarray or None
        None: 1 and 0.
    field : str or None
        The field of the gains, if they are applied.
    conflict : str or None
        A note, if the header contradicts itself.
    """

    gain: float | Array | None = None
    offset: float | Array | None = None
    field: str | None = None
    conflict: str | None = None


def read_scale(header: Path, fields: Mapping[str, str], n_bands: int) -> Scale:
    """Return the scale of a header.

    Either the gains or the reflectance scale factor is applied, never one after the other: both
    speak about the stored values. If they contradict each other, the scale factor counts. It is
    defined as what turns the stored values into reflectance. Gains are those of the instrument, and
    software that corrects for the atmosphere copies them along with the rest of a header. GDAL
    applies the gains only, SPy the scale factor only, ENVI itself none of them on display.
    """
    factor = _scale_factor(header, fields)
    gains = Scale()
    for gain_field, offset_field in _GAIN_FIELDS:
        found = _gains(header, fields, n_bands, gain_field, offset_field)
        if found.gain is not None or found.offset is not None:
            gains = found
            break
    if factor is None:
        return gains
    if gains.field is None or _is_factor(gains, factor):
        return Scale(factor)
    conflict = (
        f"the ENVI header has 'reflectance scale factor' and '{gains.field}', which differ: "
        "the scale factor is applied, the gains and offsets are not"
    )
    return Scale(factor, conflict=conflict)


def scale_fields(scene: xr.DataArray) -> dict[str, object]:
    """Return the fields from which :func:`read_scale` reads the scale of this scene."""
    gain, offset = scaling_of(scene)
    if (gain == 1).all() and (offset == 0).all():
        return {}
    is_one_factor = (gain == gain[0]).all() and (offset == 0).all() and gain[0] > 0
    if is_one_factor:
        # Rounded to 15 digits, so that a factor of 0.0001 is written as 10000.
        divisor = float(f"{1 / gain[0]:.15g}")
        # Not every factor is the reciprocal of a number.
        if 1 / divisor == gain[0]:
            return {"reflectance scale factor": divisor}
    return {"data gain values": gain.tolist(), "data offset values": offset.tolist()}


def _scale_factor(header: Path, fields: Mapping[str, str]) -> float | None:
    """Return the factor from stored values to reflectance, by which ENVI divides."""
    scale = number_field(header, fields, "reflectance scale factor")
    if scale is None:
        return None
    if not (np.isfinite(scale) and scale > 0):
        raise SceneError(
            header, f"'reflectance scale factor' must be positive, the header says {scale}"
        )
    if scale == 1:
        return None
    return 1 / scale


def _gains(
    header: Path, fields: Mapping[str, str], n_bands: int, gain_field: str, offset_field: str
) -> Scale:
    """Return the gains and offsets of a pair of fields, those that change nothing as None."""
    gain = number_list(header, fields, gain_field, n_bands)
    offset = number_list(header, fields, offset_field, n_bands)
    for name, values in ((gain_field, gain), (offset_field, offset)):
        if values is not None and not np.isfinite(values).all():
            raise SceneError(header, f"'{name}' must be finite numbers")
    if gain is not None and (gain == 1).all():
        gain = None
    if offset is not None and (offset == 0).all():
        offset = None
    return Scale(gain, offset, gain_field)


def _is_factor(gains: Scale, factor: float) -> bool:
    """Whether gains say the same as a scale factor, apart from rounding in the header."""
    return gains.offset is None and gains.gain is not None and np.allclose(gains.gain, factor)
