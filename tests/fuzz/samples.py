"""Small valid files for each reader, as bytes by name."""

import shutil
import tempfile
from pathlib import Path

import h5py
import numpy as np
import sensor_files
import spectral
import zarr
from scipy.io import netcdf_file, savemat

from selfdict.scene import build_scene, write_scene

USGS = Path(spectral.__file__).parent / "tests/data/usgs/ASCIIdata/liba"
CUBE = np.random.default_rng(0).uniform(1, 100, (3, 4, 5))
WAVELENGTH = np.array([400.0, 500.0, 600.0])


def netcdf(folder):
    scene = build_scene(CUBE, wavelength=WAVELENGTH, crs="EPSG:32633", nodata=-1)
    write_scene(scene, folder / "own" / "cube.nc")
    yield folder / "own" / "cube.nc"
    path = folder / "classic" / "cube.nc"
    with netcdf_file(path, "w", version=2) as file:
        for name, size in (("band", 3), ("y", 4), ("x", 5)):
            file.createDimension(name, size)
        file.createVariable("cube", "f8", ("band", "y", "x"))[:] = CUBE
        file.createVariable("wavelength", "f8", ("band",))[:] = WAVELENGTH
    yield path


def matlab_hdf5(folder):
    for k, options in enumerate(({}, {"compression": "gzip", "shuffle": True})):
        path = folder / str(k) / "cube.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            file.create_dataset("cube", data=CUBE, **options)
            file["wavelength"] = WAVELENGTH[None]
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(512))
        yield path


def zarr_(folder):
    for version in (2, 3):
        path = folder / str(version) / "cube.zarr"
        group = zarr.open_group(path, mode="w", zarr_format=version)
        options = {"shape": (3, 4, 5), "chunks": (3, 2, 5), "dtype": "f4"}
        if version == 3:
            options["dimension_names"] = ("band", "y", "x")
        cube = group.create_array("cube", **options)
        cube[...] = CUBE
        if version == 2:
            cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
        yield path


def mat(folder):
    arrays = {"cube": CUBE, "wavelength": np.arange(400.0, 405.0), "s": {"a": 1}, "t": "text"}
    for name, options in (("5", {}), ("packed", {"do_compression": True}), ("4", {"format": "4"})):
        path = folder / name / "cube.mat"
        if name == "4":
            flat = CUBE.reshape(3, 20)
            savemat(path, {"Y": flat, "nRow": 4.0, "nCol": 5.0}, **options)
        else:
            savemat(path, arrays, **options)
        yield path


def npy(folder):
    np.save(folder / "own" / "cube.npy", CUBE)
    yield folder / "own" / "cube.npy"
    for save in (np.savez, np.savez_compressed):
        path = folder / save.__name__ / "cube.npz"
        save(path, cube=CUBE, wavelength=np.arange(400.0, 405.0), scale=np.array(100.0))
        yield path


def library(folder):
    spectra = np.random.default_rng(0).uniform(0, 1, (2, 3))
    lines = ["wavelength_nm,quartz,clay"]
    lines += [f"{w},{a},{b}" for w, a, b in zip(WAVELENGTH, *spectra)]
    path = folder / "csv" / "library.csv"
    path.write_text("\n".join(lines) + "\n")
    yield path
    path = folder / "npz" / "library.npz"
    np.savez(path, spectra=spectra, names=np.array(["quartz", "clay"]), wavelength=WAVELENGTH)
    yield path
    path = folder / "sli" / "library.hdr"
    header = "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 5\n"
    header += "file type = ENVI Spectral Library\nspectra names = {quartz, clay}\n"
    path.write_text(header + "wavelength = {400, 500, 600}\nwavelength units = Nanometers\n")
    path.with_suffix(".sli").write_bytes(spectra.astype("<f8").tobytes())
    yield path
    yield from text_libraries(folder)


def text_libraries(folder):
    """The USGS library, as SPy ships parts of it, and ECOSTRESS: as folders and single files."""
    shutil.copytree(USGS, folder / "usgs folder" / "library")
    yield folder / "usgs folder" / "library"
    for file in USGS.rglob("*.txt"):
        shutil.copy(file, folder / "usgs")
    yield folder / "usgs" / "liba_MaterialD_01_BECKa_AREF.txt"
    header = "Name: Calcite\r\nSample No.: C-3A\r\nDescription: two\r\n lines\r\n"
    header += "X Units: Wavelength (micrometers)\r\nY Units: Reflectance (percent)\r\n\r\n"
    for path in (folder / "ecostress", folder / "ecostress folder" / "library"):
        path.mkdir(exist_ok=True)
        (path / "a.spectrum.txt").write_text(header + "0.6\t40.0\r\n0.5\t35.0\r\n0.4\t20.0\r\n")
        (path / "b.spectrum.txt").write_text(header + "0.3\t4.0\r\n0.7\t5.0\r\n")
    yield folder / "ecostress" / "a.spectrum.txt"
    yield folder / "ecostress folder" / "library"


READERS = {
    "netcdf": netcdf,
    "matlab 7.3": matlab_hdf5,
    "zarr": zarr_,
    "mat": mat,
    "npy": npy,
    "library": library,
}
# The products of sensors, ENVI, GeoTIFF and HDF5.
PRODUCTS = sensor_files.WRITERS


class _Folders:
    """A folder whose subfolders exist as soon as they are named."""

    def __init__(self, path):
        self.path = path

    def __truediv__(self, name):
        path = self.path / name
        path.mkdir(exist_ok=True)
        return path


def samples(reader):
    """Return the samples of a reader: the name to read, and all files as bytes by name."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        if reader in PRODUCTS:
            paths = [PRODUCTS[reader](Path(name)).path]
        else:
            paths = READERS[reader](_Folders(Path(name)))
        for path in paths:
            root = Path(path).parent
            files = {}
            for file in sorted(root.rglob("*")):
                if file.is_file():
                    files[str(file.relative_to(root))] = file.read_bytes()
            found.append((path.name, files))
    return found
