"""Small valid files for each reader, as bytes by name."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import spectral
from scipy.io import savemat
from sensor_files import PLAIN, WRITERS, Row, plain_dataset, plain_values, write_matlab_73

USGS = Path(spectral.__file__).parent / "tests/data/usgs/ASCIIdata/liba"
CUBE = plain_values().transpose(1, 2, 0)
WAVELENGTH = np.array(PLAIN["wavelength"])
SPECTRA = np.random.default_rng(0).uniform(0, 1, (2, 3))


def netcdf_3(folder):
    path = folder / "cube.nc"
    plain_dataset().to_netcdf(path, engine="scipy", format="NETCDF3_64BIT")
    return path


def zarr_3(folder):
    plain_dataset().to_zarr(folder / "cube.zarr", zarr_format=3, consolidated=False)
    return folder / "cube.zarr"


def matlab_4(folder):
    arrays = {"Y": CUBE.reshape(30, 3).T.astype(float), "nRow": 5.0, "nCol": 6.0}
    savemat(folder / "cube.mat", arrays, format="4")
    return folder / "cube.mat"


def matlab_5(folder):
    arrays = {"cube": CUBE, "wavelength": WAVELENGTH, "s": {"a": 1}, "t": "text"}
    savemat(folder / "cube.mat", arrays, do_compression=True)
    return folder / "cube.mat"


def matlab_73(folder):
    arrays = {"cube": CUBE, "wavelength": WAVELENGTH}
    return write_matlab_73(folder / "cube.mat", arrays, compression="gzip", shuffle=True)


def npz(folder):
    np.savez_compressed(folder / "cube.npz", cube=CUBE, wavelength=WAVELENGTH, scale=100.0)
    return folder / "cube.npz"


def table(folder):
    lines = ["wavelength_nm,quartz,clay"]
    lines += [f"{w},{a},{b}" for w, a, b in zip(WAVELENGTH, *SPECTRA)]
    (folder / "library.csv").write_text("\n".join(lines) + "\n")
    return folder / "library.csv"


def archive(folder):
    names = np.array(["quartz", "clay"])
    np.savez(folder / "library.npz", spectra=SPECTRA, names=names, wavelength=WAVELENGTH)
    return folder / "library.npz"


def envi_library(folder):
    path = folder / "library.hdr"
    header = "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 5\n"
    header += "file type = ENVI Spectral Library\nspectra names = {quartz, clay}\n"
    path.write_text(header + "wavelength = {400, 500, 600}\nwavelength units = Nanometers\n")
    path.with_suffix(".sli").write_bytes(SPECTRA.astype("<f8").tobytes())
    return path


def usgs(folder):
    """Return a folder of the USGS library, of which SPy ships parts."""
    shutil.copytree(USGS, folder / "library")
    return folder / "library"


def ecostress(folder):
    header = "Name: Calcite\r\nSample No.: C-3A\r\nDescription: two\r\n lines\r\n"
    header += "X Units: Wavelength (micrometers)\r\nY Units: Reflectance (percent)\r\n\r\n"
    path = folder / "a.spectrum.txt"
    path.write_text(header + "0.6\t40.0\r\n0.5\t35.0\r\n0.4\t20.0\r\n")
    return path


# Functions that write a file into a folder, by readers.
READERS = {
    "netcdf 3": [netcdf_3],
    "zarr 3": [zarr_3],
    "mat": [matlab_4, matlab_5, matlab_73],
    "npz": [npz],
    "library": [table, archive, envi_library, usgs, ecostress],
    **{name: [write] for name, write in WRITERS.items()},
}


def samples(reader):
    """Return the samples of a reader: the name to read, and all files as bytes by name."""
    found = []
    for write in READERS[reader]:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            path = write(root)
            if isinstance(path, Row):
                path = path.path
            files = {}
            for file in sorted(root.rglob("*")):
                if file.is_file():
                    files[str(file.relative_to(root))] = file.read_bytes()
            found.append((path.name, files))
    return found
