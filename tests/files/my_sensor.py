"""A product in HDF5 that is described from outside of the package."""

from selfdict.files import hdf5_product


@hdf5_product(
    "My sensor",
    cubes=("*/scan",),
    needs=("bands",),
    refused={"calibration": "these are measurements of the lamp; give the file of the scan"},
    axes=(1, 0, 2),
    wavelength="bands/centres",
    fwhm="@widths",
    units="um",
    divisor="counts_per_unit",
    nodata="empty",
)
def complete(opened, *, ortho=True):
    opened.cube.name = "radiance"
    opened.cube.notes.append(f"ortho is {ortho}")
