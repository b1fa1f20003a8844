"""Files: what is read from them, in a process of its own, and what is written to them.

:mod:`selfdict.files.reader` starts the process, :mod:`selfdict.files.child` is what runs in it.
One module for each container reads its files (``envi``, ``geotiff``, ``hdf5``, ``netcdf``,
``zarr_store``, ``matlab``, ``numpy_file``); ``products`` has tables of what the files of sensors
hold. These modules use neither xarray nor dask, which take longer to import than most files to
open.
"""

from selfdict.files.cube import StoredCube
from selfdict.files.formats import file_format
from selfdict.files.product_table import hdf5_product

__all__ = ["StoredCube", "file_format", "hdf5_product"]
