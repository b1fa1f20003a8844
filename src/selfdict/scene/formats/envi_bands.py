"""What an ENVI header says about its bands."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfdict.scene.formats.envi_header import list_field, number_list
from selfdict.scene.units import to_nanometres, unit_note, unit_of


def read_bands(
    header: Path, fields: Mapping[str, str], n_bands: int
) -> tuple[dict[str, Any], list[str]]:
    """Return what the fields of a header say about the bands, and notes of what was assumed.

    Scales are read by :func:`selfdict.scene.formats.envi_scale.read_scale`.

    Returns
    -------
    band_data : dict
        Arguments of :func:`selfdict.scene.build_scene`.
    notes : list of str
    """
    notes: list[str] = []
    band_data: dict[str, Any] = {}
    wavelength = number_list(header, fields, "wavelength", n_bands)
    fwhm = number_list(header, fields, "fwhm", n_bands)
    units = fields.get("wavelength units")
    # Both have one unit; if it is not named, only the wavelengths tell it.
    listed = []
    if wavelength is not None:
        listed = wavelength.tolist()
        notes += unit_note(wavelength, units)
        band_data["wavelength"] = to_nanometres(wavelength, unit_of(listed, units))
    if fwhm is not None:
        band_data["fwhm"] = to_nanometres(fwhm, unit_of(listed, units))
    good_band = number_list(header, fields, "bbl", n_bands)
    if good_band is not None:
        band_data["good_band"] = good_band != 0
    names = list_field(fields, "band names")
    # The list is separated by commas. If a name holds one, it cannot be told where names end.
    if len(names) == n_bands:
        band_data["band_name"] = names
    return band_data, notes
