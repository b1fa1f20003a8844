"""AVIRIS-3, AVIRIS-5, AVIRIS-NG, NEON AOP and Tanager: one cube in HDF5 or NetCDF."""

import re

import numpy as np
from affine import Affine

from selfdict._errors import InputError
from selfdict.files.grid import add_crs, add_epsg, add_map, transform_from_numbers
from selfdict.files.products import Opened, hdf5_product
from selfdict.files.variables import add_mapping, find_nearby

_GRID = "HDFEOS/GRIDS/HYP"
_SWATH = "HDFEOS/SWATHS/HYP"


@hdf5_product(
    "AVIRIS",
    cubes=("reflectance/reflectance",),
    needs=("reflectance/wavelength",),
    wavelength="wavelength",
    fwhm="fwhm",
    good_band="good_wavelengths",
)
def _complete_aviris(opened: Opened) -> None:
    """Take the grid of the grid mapping as it is, whatever the coordinates say."""
    cube = opened.cube
    variables = opened.file.variables()
    nearby = find_nearby(variables, opened.cube_name)
    transform = add_mapping(cube, variables[opened.cube_name], nearby)
    if transform is not None:
        cube.transform = transform.to_gdal()
    elif cube.transform is not None:
        cube.notes.append(
            "the file has no GeoTransform: easting and northing are taken as pixel centres"
        )


@hdf5_product(
    "NEON",
    cubes=("*/Reflectance/Reflectance_Data",),
    axes=(2, 0, 1),
    wavelength="Metadata/Spectral_Data/Wavelength",
    fwhm="Metadata/Spectral_Data/FWHM",
    divisor="Scale_Factor",
    nodata="Data_Ignore_Value",
)
def _complete_neon(opened: Opened) -> None:
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


@hdf5_product(
    "Tanager",
    # On a map grid ("ortho"), or as the sensor saw it ("basic").
    cubes=tuple(
        f"{root}/Data Fields/{name}"
        for root in (_GRID, _SWATH)
        for name in ("surface_reflectance", "toa_radiance")
    ),
    wavelength="@wavelengths",
    fwhm="@fwhm",
    good_band="@good_wavelengths",
    units="@wavelength_units",
)
def _complete_tanager(opened: Opened) -> None:
    """Mask pixels without data, and add the grid or the positions of the pixels."""
    file = opened.file
    cube = opened.cube
    cube.name = opened.cube_name.rpartition("/")[2]
    if cube.name == "toa_radiance":
        cube.notes.append("the values are radiances at the top of the atmosphere, not reflectances")
    if file.node(f"{opened.group}/beta_cloud_mask") is not None:
        cube.notes.append("the cloud masks of the file are not used (mask=…)")
    # 1 marks a pixel without data. Other numbers are the fill value of the mask itself.
    marks = file.numbers(f"{opened.group}/nodata_pixels")
    if marks is not None:
        cube.leave_out(marks != 0)
    if opened.cube_name.startswith(_GRID):
        add_epsg(cube, file.number(f"{_GRID}@epsg_code"), "epsg_code")
        transform = _transform(opened)
        if transform is None:
            cube.notes.append(
                "the file has no StructMetadata.0 with the corners: there are no map coordinates"
            )
        else:
            cube.transform = transform.to_gdal()
        return
    for key, name in (("lat", "Latitude"), ("lon", "Longitude")):
        positions = file.numbers(f"{_SWATH}/Geolocation Fields/{name}")
        if positions is None or positions.shape != cube.shape[1:]:
            cube.notes.append(f"the file has no {name} of its pixels")
            return
        cube.coords[key] = positions
    cube.notes.append("the scene is in sensor geometry: it has lat and lon, but no map grid")


def _transform(opened: Opened) -> Affine | None:
    """Return the transform that the outer corners in ``StructMetadata.0`` give, or None."""
    text = opened.file.text("HDFEOS INFORMATION/StructMetadata.0")
    corners = []
    for name in ("UpperLeftPointMtrs", "LowerRightMtrs"):
        match = re.search(rf"{name}\s*=\s*\(([-+0-9.eE]+),\s*([-+0-9.eE]+)\)", text)
        if match is None:
            return None
        corners += [float(match[1]), float(match[2])]
    left, top, right, bottom = corners
    # The product registers pixels by their corners (HE5_HDFE_CORNER): the two points are the outer
    # corners of the grid.
    _, n_rows, n_columns = opened.cube.shape
    dx = (right - left) / n_columns
    dy = (bottom - top) / n_rows
    return transform_from_numbers(np.array([left, dx, 0.0, top, 0.0, dy]))
