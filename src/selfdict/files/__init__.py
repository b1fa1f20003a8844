"""Files: what is read from them, in a process of its own.

:mod:`selfdict.files.reader` starts the process, :mod:`selfdict.files.child` is what runs in it.
One module for each container reads its files (``envi``, ``geotiff``, ``hdf5``, ``zarr_store``,
``matlab_numpy``; ``find_cube`` finds the cube in the last three); ``products`` describes those of
sensors, ``libraries`` reads spectra. These modules use neither xarray nor dask, which take
longer to import than most files to open.
"""

from selfdict._errors import SceneError
from selfdict.files.cube import StoredCube
from selfdict.files.formats import file_format, product_files
from selfdict.files.products import Hdf5Product, Opened, hdf5_product
from selfdict.files.wavelengths import to_nanometres

__all__ = [
    "Hdf5Product",
    "Opened",
    "SceneError",
    "StoredCube",
    "file_format",
    "hdf5_product",
    "product_files",
    "to_nanometres",
]
