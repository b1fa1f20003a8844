"""One file for each row of the table in docs/sensors.md, and what it says, cell by cell."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import rasterio
from affine import Affine
from scipy.io import savemat
from sensor_files import (
    AVIRIS_WAVELENGTH,
    EMPTY,
    FILL,
    FWHM,
    GAIN,
    GLT_X,
    GLT_Y,
    NEON_WAVELENGTH,
    OFFSET,
    PRISMA_SCALES,
    PRISMA_SWIR,
    PRISMA_VNIR,
    TANAGER_WAVELENGTH,
    TRANSFORM,
    UTM_33_NORTH,
    WAVELENGTH,
    aviris_values,
    prisma_numbers,
    stored_values,
    tanager_values,
    write_aviris,
    write_desis,
    write_emit,
    write_enmap,
    write_neon,
    write_prisma,
    write_tanager,
)


@dataclass(frozen=True)
class Row:
    """What a file holds: stored values (band, y, x), and what is known about them.

    ``wavelength``, ``fwhm``, ``gain``, ``offset`` and ``good`` have one entry per band; None means
    that the scene must have none. ``transform`` is in GDAL's order.
    """

    path: Path
    values: Any
    wavelength: Any
    fwhm: Any = None
    gain: Any = 1.0
    offset: Any = 0.0
    valid: Any = True
    good: Any = None
    epsg: int | None = None
    transform: tuple[float, ...] | None = None


def emit(folder):
    swath = np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 4)).astype(np.float32)
    path = write_emit(folder / "emit.nc", swath)
    values = np.full((4, 4, 4), FILL, dtype=np.float32)
    for row, column in zip(*np.nonzero(GLT_X)):
        values[:, row, column] = swath[abs(GLT_Y[row, column]) - 1, abs(GLT_X[row, column]) - 1]
    return Row(
        path,
        values,
        wavelength=np.linspace(400, 2400, 4),
        fwhm=[8.5] * 4,
        valid=GLT_X != 0,
        good=[True, False, True, True],
        epsg=4326,
        transform=(-110.0, 0.5, 0.0, 40.0, 0.0, -0.25),
    )


def aviris(folder):
    path = write_aviris(folder / "aviris.nc")
    with h5py.File(path, "r+") as file:
        file["reflectance/good_wavelengths"] = np.array([1.0, 1.0, 0.0, 1.0])
    return Row(
        path,
        aviris_values(),
        wavelength=AVIRIS_WAVELENGTH,
        fwhm=[7.5] * 4,
        valid=aviris_values()[0] != -9999,
        good=[True, True, False, True],
        epsg=32633,
        transform=(400000.0, 2.5, 0.0, 4100000.0, 0.0, -2.5),
    )


def prisma(folder):
    flags = np.array([0, 1, 1, 0, 1, 1])
    path = write_prisma(folder / "prisma.he5", attributes={"List_Cw_Vnir_Flags": flags})
    vnir, swir = prisma_numbers()
    # VNIR from short to long, without the entry of wavelength 0; then SWIR beyond it.
    values = np.concatenate([vnir[:, :0:-1].transpose(1, 0, 2), swir[:, 2::-1].transpose(1, 0, 2)])
    wavelength = PRISMA_VNIR[:0:-1] + PRISMA_SWIR[2::-1]
    scales = np.repeat([PRISMA_SCALES["Vnir"], PRISMA_SCALES["Swir"]], [5, 3], axis=0)
    return Row(
        path,
        values,
        wavelength=wavelength,
        fwhm=np.array(wavelength) / 100,
        gain=(scales[:, 1] - scales[:, 0]) / 65535,
        offset=scales[:, 0],
        valid=(values != 0).any(axis=0),
        good=[True, True, False, True, True, True, True, True],
        epsg=32633,
        transform=(600000.0, 30.0, 0.0, 5000000.0, 0.0, -30.0),
    )


def neon(folder):
    values = np.random.default_rng(1).integers(1, 9000, (4, 5, 6)).astype(np.int16)
    values[1, 2] = -9999
    return Row(
        write_neon(folder / "neon.h5", values),
        values.transpose(2, 0, 1),
        wavelength=NEON_WAVELENGTH,
        fwhm=np.linspace(5.5, 6.5, 6),
        gain=1e-4,
        valid=values[..., 0] != -9999,
        good=[True, True, False, False, False, True],
        epsg=32618,
        transform=(368000.0, 1.0, 0.0, 4307000.0, 0.0, -1.0),
    )


def enmap(folder):
    path, _ = write_enmap(folder)
    kept = [0, 1, 3, 5, 6, 7]
    return product_row(path, kept)


def desis(folder):
    path, _ = write_desis(folder)
    return product_row(path, list(range(8)))


def product_row(path, kept):
    values = stored_values()[kept]
    return Row(
        path,
        values,
        wavelength=[WAVELENGTH[k] for k in kept],
        fwhm=[FWHM[k] for k in kept],
        gain=np.array(GAIN)[kept],
        offset=np.array(OFFSET)[kept],
        valid=values[0] != -32768,
        good=[k != EMPTY - 1 for k in kept],
        epsg=32633,
        transform=TRANSFORM.to_gdal(),
    )


def tanager_ortho(folder):
    path = write_tanager(folder / "tanager.h5")
    return tanager_row(path, 32613, (570300.0, 30.0, 0.0, 3555450.0, 0.0, -30.0))


def tanager_basic(folder):
    return tanager_row(write_tanager(folder / "tanager.h5", swath=True), None, None)


def tanager_row(path, epsg, transform):
    valid = np.ones((5, 6), dtype=bool)
    valid[0, 0] = False
    valid[4, 5] = False
    return Row(
        path,
        tanager_values(),
        wavelength=TANAGER_WAVELENGTH,
        fwhm=[5.25] * 4,
        valid=valid,
        good=[True, True, False, True],
        epsg=epsg,
        transform=transform,
    )


def plain_values():
    """Return stored numbers of three bands, the first pixel without data, (3, 5, 6)."""
    values = np.random.default_rng(2).integers(1, 9000, (3, 5, 6)).astype(np.int16)
    values[:, 0, 0] = -9999
    return values


PLAIN = {
    "wavelength": [450.0, 550.0, 650.0],
    "fwhm": [10.0, 11.0, 12.0],
    "gain": np.array([1e-4, 1e-4, 2e-4]),
    "offset": np.array([0.0, 0.5, 0.0]),
    "valid": plain_values()[0] != -9999,
    "good": [True, False, True],
    "epsg": 32633,
    "transform": (400000.0, 2.5, 0.0, 4100000.0, 0.0, -2.5),
}


def any_hdf5(folder):
    path = folder / "cube.h5"
    with h5py.File(path, "w") as file:
        cube = file.create_dataset("group/cube", data=plain_values().transpose(1, 2, 0))
        cube.attrs["scale_factor"] = PLAIN["gain"]
        cube.attrs["add_offset"] = PLAIN["offset"]
        cube.attrs["_FillValue"] = np.int16(-9999)
        cube.attrs["grid_mapping"] = "crs"
        file["group/wavelength"] = PLAIN["wavelength"]
        file["group/fwhm"] = PLAIN["fwhm"]
        file["group/good_wavelengths"] = np.array([1, 0, 1])
        file["crs"] = 0
        file["crs"].attrs["spatial_ref"] = UTM_33_NORTH
        file["crs"].attrs["GeoTransform"] = "400000.0 2.5 0.0 4100000.0 0.0 -2.5"
    return Row(path, plain_values(), **PLAIN)


def envi(folder):
    path = folder / "cube.hdr"
    path.with_suffix(".img").write_bytes(plain_values().astype("<i2").tobytes())
    path.write_text(
        "ENVI\nsamples = 6\nlines = 5\nbands = 3\ndata type = 2\ninterleave = bsq\n"
        "byte order = 0\nheader offset = 0\nwavelength units = Micrometers\n"
        "wavelength = {0.45, 0.55, 0.65}\nfwhm = {0.010, 0.011, 0.012}\nbbl = {1, 0, 1}\n"
        "data ignore value = -9999\ndata gain values = {0.0001, 0.0001, 0.0002}\n"
        "data offset values = {0, 0.5, 0}\n"
        "map info = {UTM, 1, 1, 400000, 4100000, 2.5, 2.5, 33, North, WGS-84}\n"
    )
    return Row(path, plain_values(), **PLAIN)


def geotiff(folder):
    path = folder / "cube.tif"
    profile = {"driver": "GTiff", "count": 3, "height": 5, "width": 6, "dtype": "int16"}
    transform = Affine.from_gdal(*PLAIN["transform"])
    with rasterio.open(
        path, "w", **profile, crs="EPSG:32633", transform=transform, nodata=-9999
    ) as file:
        file.write(plain_values())
        file.scales = PLAIN["gain"].tolist()
        file.offsets = PLAIN["offset"].tolist()
        for band in range(3):
            file.update_tags(
                band + 1,
                WAVELENGTH=str(PLAIN["wavelength"][band]),
                WAVELENGTH_UNIT="nm",
                FWHM=str(PLAIN["fwhm"][band]),
                good_band=str(int(PLAIN["good"][band])),
            )
    return Row(path, plain_values(), **PLAIN)


def matlab(folder):
    path = folder / "cube.mat"
    values = np.abs(plain_values())
    arrays = {"cube": values.transpose(1, 2, 0), "wavelength_nm": PLAIN["wavelength"]}
    savemat(path, arrays | {"maxValue": 10000.0})
    return Row(path, values, wavelength=PLAIN["wavelength"], gain=1e-4)


# By the beginnings of the first cells.
WRITERS = {
    "EMIT L2A": emit,
    "AVIRIS-3": aviris,
    "PRISMA L2D": prisma,
    "NEON AOP": neon,
    "EnMAP L2A": enmap,
    "DESIS L2A": desis,
    "Tanager ortho": tanager_ortho,
    "Tanager basic": tanager_basic,
    "any HDF5": any_hdf5,
    "ENVI": envi,
    "GeoTIFF": geotiff,
    "MATLAB": matlab,
}
