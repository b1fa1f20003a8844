"""ENVI spectral libraries: a header, and a binary file with one line per spectrum."""

from pathlib import Path

import numpy as np

from selfdict.files import envi
from selfdict.files.envi_header import (
    integer_field,
    list_field,
    number_field,
    number_list,
    read_header,
)
from selfdict.files.errors import SceneError
from selfdict.files.libraries.record import DELETED_BELOW, StoredLibrary
from selfdict.files.units import to_nanometres, unit_of


def read(path: Path) -> StoredLibrary:
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
        return StoredLibrary(values, names, notes=notes)
    units = unit_of(wavelength, fields.get("wavelength units"))
    wavelength = to_nanometres(wavelength, units)
    if fwhm is not None:
        fwhm = to_nanometres(fwhm, units)
    return StoredLibrary(values, names, wavelength, fwhm, notes=notes)
