"""NEON AOP: reflectance of a site on a map grid, in HDF5."""

import numpy as np

from selfdict._errors import InputError
from selfdict.files.formats import Opened, hdf5_product
from selfdict.files.grid import add_crs, add_map


@hdf5_product(
    "NEON",
    cubes=("*/Reflectance/Reflectance_Data",),
    axes=(2, 0, 1),
    wavelength="Metadata/Spectral_Data/Wavelength",
    fwhm="Metadata/Spectral_Data/FWHM",
    divisor="Scale_Factor",
    nodata="Data_Ignore_Value",
)
def _complete(opened: Opened) -> None:
    """Mark the bands at which water vapour absorbs all light, and add the grid of a NEON site."""
    file = opened.file
    cube = opened.cube
    if cube.wavelength is None:
        raise InputError("has no wavelengths")
    is_bad = np.zeros(cube.shape[0], dtype=bool)
    for name in ("Band_Window_1_Nanometers", "Band_Window_2_Nanometers"):
        window = file.numbers(f"{opened.group}@{name}")
        if window is not None and window.size == 2:
            # Both ends belong to a window.
            is_bad |= (cube.wavelength >= window[0]) & (cube.wavelength <= window[1])
    cube.mark_bad(is_bad, "lie in the windows of water vapour")
    group = f"{opened.group}/Metadata/Coordinate_System"
    # The code is exact, unlike the name of a datum in the map info.
    code = file.text(f"{group}/EPSG Code").strip()
    if code:
        add_crs(cube, f"EPSG:{code}")
    # The grid is that of an ENVI header.
    fields = {
        "map info": file.text(f"{group}/Map_Info"),
        "coordinate system string": file.text(f"{group}/Coordinate_System_String"),
    }
    add_map(cube, fields)
    if cube.transform is None:
        cube.notes.append("the file has no Map_Info: there are no map coordinates")
