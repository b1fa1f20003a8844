"""Tanager: on a map grid ("ortho"), or as the sensor saw it ("basic"), in HDF-EOS5."""

import re

import numpy as np
from affine import Affine

from selfdict.files.formats import Opened, hdf5_product
from selfdict.files.grid import add_epsg, transform_from_numbers

_GRID = "HDFEOS/GRIDS/HYP"
_SWATH = "HDFEOS/SWATHS/HYP"


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
def _complete(opened: Opened) -> None:
    """Mask pixels without data, and add the grid or the positions of the pixels."""
    file = opened.file
    cube = opened.cube
    cube.name = opened.cube_name.rpartition("/")[2]
    if cube.name == "toa_radiance":
        cube.notes.append("the values are radiances at the top of the atmosphere, not reflectances")
    if file.dataset(f"{opened.group}/beta_cloud_mask") is not None:
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
