"""ENVI spectral libraries: a header, and a binary file with one line per spectrum."""

from pathlib import Path

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.files import envi
from selfdict.files.envi_header import (
    format_header,
    integer_field,
    list_field,
    number_field,
    number_list,
    read_header,
)
from selfdict.files.errors import SceneError
from selfdict.files.units import to_nanometres, unit_of
from selfdict.scene.libraries.model import DELETED_BELOW, build_library
from selfdict.scene.notes import add_notes


def read(path: Path) -> xr.DataArray:
    """Read a library, named by its header or by its data file."""
    header, data = envi.find_files(path)
    fields = read_header(header)
    if fields.get("file type", "").lower() != "envi spectral library":
        raise SceneError(
            header, "is no spectral library: its 'file type' is not ENVI Spectral Library"
        )
    # A library is an image of one band: its lines are the spectra, its samples their bands.
    n_spectra = integer_field(header, fields, "lines", minimum=1)
    n_bands = integer_field(header, fields, "samples", minimum=1)
    values = envi.map_values(header, data, fields, (1, n_spectra, n_bands))[0].astype(np.float64)
    scale = number_field(header, fields, "reflectance scale factor")
    if scale is not None and scale > 0:
        # The mark of a missing value must stay below the limit.
        values = np.where(values < DELETED_BELOW, values, values / scale)
    wavelength = number_list(header, fields, "wavelength", n_bands)
    fwhm = number_list(header, fields, "fwhm", n_bands)
    names = list_field(fields, "spectra names")
    notes = []
    # The list is separated by commas. If a name holds one, it cannot be told where names end.
    if len(names) != n_spectra:
        notes.append(
            f"the header lists {len(names)} names for {n_spectra} spectra: they are numbered"
        )
        names = [f"spectrum {k + 1}" for k in range(n_spectra)]
    if wavelength is None:
        return add_notes(build_library(values, names), *notes)
    units = unit_of(wavelength, fields.get("wavelength units"))
    wavelength = to_nanometres(wavelength, units)
    if fwhm is not None:
        fwhm = to_nanometres(fwhm, units)
    return add_notes(build_library(values, names, wavelength, fwhm=fwhm), *notes)


def write_envi_library(spectra: xr.DataArray, names: list[str], path: Path) -> None:
    """Write spectra (spectrum, band) as ``path`` with the suffixes ``.sli`` and ``.hdr``."""
    values: Array = spectra.values
    code = 4
    dtype = "<f4"
    if values.dtype.itemsize > 4:
        code = 5
        dtype = "<f8"
    fields: dict[str, object] = {
        "samples": values.shape[1],
        "lines": values.shape[0],
        "bands": 1,
        "header offset": 0,
        "file type": "ENVI Spectral Library",
        "data type": code,
        "interleave": "bsq",
        "byte order": 0,
    }
    if "wavelength" in spectra.coords:
        fields["wavelength units"] = "Nanometers"
        fields["wavelength"] = spectra["wavelength"].values.tolist()
        if "fwhm" in spectra.coords:
            fields["fwhm"] = spectra["fwhm"].values.tolist()
    fields["spectra names"] = names
    path.with_suffix(".sli").write_bytes(values.astype(dtype).tobytes())
    path.with_suffix(".hdr").write_text(format_header(fields), encoding="utf-8")
