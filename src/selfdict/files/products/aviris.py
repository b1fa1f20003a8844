"""AVIRIS-3, AVIRIS-5 and AVIRIS-NG: reflectance on a map grid, in NetCDF."""

from selfdict.files.formats import Opened, hdf5_product
from selfdict.files.variables import add_mapping, find_nearby


@hdf5_product(
    "AVIRIS",
    cubes=("reflectance/reflectance",),
    needs=("reflectance/wavelength",),
    wavelength="wavelength",
    fwhm="fwhm",
    good_band="good_wavelengths",
)
def _complete(opened: Opened) -> None:
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
