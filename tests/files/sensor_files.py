"""Small files in the layouts of sensors, written with h5py, netCDF4, xarray, rasterio and SPy.

``WRITERS`` has one for each row of the table in docs/sensors.md, with what it says, cell by cell.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import rasterio
import spectral.io.envi
import xarray as xr
from affine import Affine
from rasterio.crs import CRS
from scipy.io import savemat

UTM_33_NORTH = CRS.from_epsg(32633).to_wkt()


def change_nodes(file, change):
    """Replace datasets of an open HDF5 file, or remove those that become None."""
    for name, value in (change or {}).items():
        if name in file:
            del file[name]
        if value is not None:
            file[name] = value


def describe(node, attributes, change=None):
    """Set attributes of a dataset or a file, those in ``change`` instead; None leaves one out."""
    for name, value in (attributes | (change or {})).items():
        if value is not None:
            node.attrs[name] = value


# PRISMA

PRISMA_FIELDS = "HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields"
# As in the product: by falling wavelength, 0 for what is no band.
PRISMA_VNIR = [0.0, 970.0, 950.0, 700.0, 500.0, 400.0]
PRISMA_SWIR = [2490.0, 1500.0, 1000.0, 960.0, 940.0, 0.0]
PRISMA_SCALES = {"Vnir": (0.0, 1.25), "Swir": (-0.125, 0.5)}


def prisma_numbers(seed=0, shape=(4, 5)):
    """Return the stored numbers of VNIR and SWIR (row, band, column), one pixel without data."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = shape
    cubes = []
    for wavelength in (PRISMA_VNIR, PRISMA_SWIR):
        cube = rng.integers(1, 65536, (n_rows, len(wavelength), n_columns)).astype(np.uint16)
        cube[:, np.array(wavelength) == 0] = 0
        cube[1, :, 2] = 0
        cubes.append(cube)
    return cubes


def write_prisma(path, cubes=None, attributes=None, change=None, **storage):
    """Write PRISMA L2D; ``attributes`` replaces attributes, None removes one."""
    vnir, swir = cubes or prisma_numbers()
    n_rows, _, n_columns = vnir.shape
    described = {
        "Epsg_Code": np.uint32(32633),
        # The centres of the corner pixels, 30 m wide.
        "Product_ULcorner_easting": 600015.0,
        "Product_ULcorner_northing": 4999985.0,
        "Product_LRcorner_easting": 600015.0 + 30 * (n_columns - 1),
        "Product_LRcorner_northing": 4999985.0 - 30 * (n_rows - 1),
    }
    for detector, wavelength in (("Vnir", PRISMA_VNIR), ("Swir", PRISMA_SWIR)):
        wavelength = np.array(wavelength, dtype=np.float32)
        described[f"List_Cw_{detector}"] = wavelength
        described[f"List_Fwhm_{detector}"] = wavelength / 100
        described[f"List_Cw_{detector}_Flags"] = (wavelength > 0).astype(np.uint8)
        low, high = PRISMA_SCALES[detector]
        described[f"L2Scale{detector}Min"] = np.float32(low)
        described[f"L2Scale{detector}Max"] = np.float32(high)
    with h5py.File(path, "w") as file:
        describe(file, described, attributes)
        for name, cube in (("VNIR", vnir), ("SWIR", swir)):
            file.create_dataset(f"{PRISMA_FIELDS}/{name}_Cube", data=cube, **storage)
            errors = np.zeros(cube.shape, np.uint8)
            file[f"{PRISMA_FIELDS}/{name}_PIXEL_L2_ERR_MATRIX"] = errors
        change_nodes(file, change)
    return path


# NEON

NEON_WAVELENGTH = np.array([400.5, 800.0, 1340.0, 1400.0, 1900.0, 2400.0], dtype=np.float32)
NEON_MAP_INFO = (
    b"UTM,  1.000,  1.000,       368000.00,       4307000.0,       1.0000000,       1.0000000, "
    b" 18,  North,  WGS-84,  units=Meters, 0"
)


def neon_values():
    values = np.random.default_rng(0).integers(1, 9000, (4, 5, 6)).astype(np.int16)
    values[1, 2] = -9999
    return values


def write_neon(path, attributes=None, change=None, windows=True):
    """Write NEON AOP reflectance (y, x, band)."""
    root = "SERC/Reflectance"
    with h5py.File(path, "w") as file:
        cube = file.create_dataset(f"{root}/Reflectance_Data", data=neon_values())
        describe(cube, {"Scale_Factor": 10000.0, "Data_Ignore_Value": -9999.0}, attributes)
        if windows:
            file[root].attrs["Band_Window_1_Nanometers"] = np.array([1340, 1445])
            file[root].attrs["Band_Window_2_Nanometers"] = np.array([1790, 1955])
        spectral = f"{root}/Metadata/Spectral_Data"
        file[f"{spectral}/Wavelength"] = NEON_WAVELENGTH
        file[f"{spectral}/Wavelength"].attrs["Units"] = "nanometers"
        file[f"{spectral}/FWHM"] = np.linspace(5.5, 6.5, 6).astype(np.float32)
        coordinates = f"{root}/Metadata/Coordinate_System"
        file[f"{coordinates}/Map_Info"] = NEON_MAP_INFO
        file[f"{coordinates}/EPSG Code"] = b"32618"
        change_nodes(file, change)
    return path


# Tanager

TANAGER_GRID = "HDFEOS/GRIDS/HYP"
TANAGER_SWATH = "HDFEOS/SWATHS/HYP"
TANAGER_WAVELENGTH = np.array([376.5, 900.0, 1400.0, 2499.0], dtype=np.float32)
TANAGER_STRUCTURE = b"""GROUP=GRID_1
\tGridName="HYP"
\tUpperLeftPointMtrs=(570300.00,3555450.00)
\tLowerRightMtrs=(570480.00,3555300.00)
\tPixelRegistration=HE5_HDFE_CORNER
END_GROUP=GRID_1
"""


def tanager_values():
    values = np.random.default_rng(0).uniform(0.1, 0.9, (4, 5, 6)).astype(np.float32)
    values[:, 0, 0] = -9999
    return values


def write_tanager(path, swath=False, name="surface_reflectance", change=None, **attrs):
    """Write Tanager (band, y, x), on a map grid or as a swath; ``attrs`` are of the cube."""
    root = TANAGER_SWATH if swath else TANAGER_GRID
    fields = f"{root}/Data Fields"
    described = {
        "wavelengths": TANAGER_WAVELENGTH,
        "fwhm": np.full(4, 5.25, dtype=np.float32),
        "good_wavelengths": np.array([1, 1, 0, 1]),
        "_FillValue": np.float32(-9999),
    }
    with h5py.File(path, "w") as file:
        storage = {"chunks": (1, 5, 6), "compression": "gzip"}
        cube = file.create_dataset(f"{fields}/{name}", data=tanager_values(), **storage)
        describe(cube, described, attrs)
        empty = np.zeros((5, 6), np.uint8)
        empty[0, 0] = 1
        empty[4, 5] = 255
        file[f"{fields}/nodata_pixels"] = empty
        file[f"{fields}/beta_cloud_mask"] = np.zeros_like(empty)
        if swath:
            rows, columns = np.mgrid[0:5, 0:6]
            file[f"{root}/Geolocation Fields/Latitude"] = 40 - 0.001 * rows
            file[f"{root}/Geolocation Fields/Longitude"] = -110 + 0.001 * columns
        else:
            file[root].attrs["epsg_code"] = np.int64(32613)
            file["HDFEOS INFORMATION/StructMetadata.0"] = TANAGER_STRUCTURE
        change_nodes(file, change)
    return path


# AVIRIS

AVIRIS_WAVELENGTH = np.array([380.25, 700.0, 1400.0, 2490.5], dtype=np.float32)


def aviris_values():
    values = np.random.default_rng(0).uniform(0.1, 0.9, (4, 5, 6)).astype(np.float32)
    values[:, 0, :2] = -9999
    return values


def write_aviris(path, mapping="transverse_mercator", change=None):
    """Write AVIRIS-3 L2A (wavelength, northing, easting) with netCDF4."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("northing", 5)
        file.createDimension("easting", 6)
        x = file.createVariable("easting", "f8", ("easting",))
        x[:] = 400_001.25 + 2.5 * np.arange(6)
        y = file.createVariable("northing", "f8", ("northing",))
        y[:] = 4_099_998.75 - 2.5 * np.arange(5)
        if mapping:
            grid = file.createVariable(mapping, "S1")
            grid.spatial_ref = UTM_33_NORTH
            grid.GeoTransform = "400000.0 2.5 0.0 4100000.0 0.0 -2.5"
        group = file.createGroup("reflectance")
        group.createDimension("wavelength", 4)
        wavelength = group.createVariable("wavelength", "f4", ("wavelength",))
        wavelength.units = "nm"
        wavelength[:] = AVIRIS_WAVELENGTH
        group.createVariable("fwhm", "f4", ("wavelength",))[:] = np.full(4, 7.5)
        dims = ("wavelength", "northing", "easting")
        cube = group.createVariable("reflectance", "f4", dims, fill_value=-9999.0)
        if mapping:
            cube.grid_mapping = mapping
        cube[:] = aviris_values()
        # The real product has such groups, too.
        group = file.createGroup("water_vapor")
        group.createVariable("water_vapor", "f4", ("northing", "easting"))[:] = 1.5
    if change:
        with h5py.File(path, "r+") as file:
            change_nodes(file, change)
    return path


# EMIT

FILL = -9999.0
# A grid turned by a quarter and larger than the swath; 0 marks what was not seen, a negative entry
# a filled gap.
GLT_X = np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, -3], [0, 0, 0, 0]], dtype=np.int32)
GLT_Y = np.array([[0, 1, 1, 1], [0, 2, 2, 2], [0, 2, 2, -2], [0, 0, 0, 0]], dtype=np.int32)


def write_emit(path, values, glt_x=GLT_X, glt_y=GLT_Y, **change):
    """Write values (downtrack, crosstrack, bands) the way EMIT files do."""
    n_bands = values.shape[2]
    with h5py.File(path, "w") as file:
        file.attrs["geotransform"] = np.array([-110.0, 0.5, 0.0, 40.0, 0.0, -0.25])
        file.attrs["spatial_ref"] = CRS.from_epsg(4326).to_wkt()
        values = values.astype(np.float32)
        cube = file.create_dataset("reflectance", data=values, compression="gzip")
        cube.attrs["_FillValue"] = np.array([FILL], dtype=np.float32)
        bands = file.create_group("sensor_band_parameters")
        bands["wavelengths"] = np.linspace(400, 2400, n_bands, dtype=np.float32)
        bands["wavelengths"].attrs["units"] = "nm"
        bands["fwhm"] = np.full(n_bands, 8.5, dtype=np.float32)
        bands["good_wavelengths"] = (np.arange(n_bands) != 1).astype(np.float32)
        location = file.create_group("location")
        location["glt_x"], location["glt_y"] = glt_x, glt_y
        location["lat"], location["lon"] = np.ones(values.shape[:2]), np.full(values.shape[:2], 2.0)
        change_nodes(file, change)
    return path


# EnMAP and DESIS

TRANSFORM = Affine(30.0, 0.0, 600_000.0, 0.0, -30.0, 4_500_000.0)
NODATA = -32768
N_ROWS, N_COLUMNS = 6, 5
# In the order of the product: by wavelength, so that detectors alternate where both see.
WAVELENGTH = [450.0, 700.0, 902.0, 910.0, 918.0, 925.0, 1400.0, 2300.0]
FWHM = [6.5, 7.0, 10.0, 11.0, 10.5, 11.5, 12.0, 13.0]
GAIN = [1e-4, 1e-4, 2e-4, 1e-4, 1e-4, 1e-4, 1e-4, 5e-4]
OFFSET = [0.0, 0.01, 0.0, 0.0, -0.02, 0.0, 0.0, 0.0]
VNIR = [1, 2, 4, 6]
SWIR = [3, 5, 7, 8]
EMPTY = 7  # a band in water vapour, counted from 1 as in the product
ENMAP = "ENMAP01-____L2A-DT0000001_20220101T000000Z_001_V010000_20220102T000000Z"
DESIS = "DESIS-HSI-L2A-DT0000001_001-20200101T000000-V0210"


def stored_values(empty=True):
    """Return 16-bit numbers (band, y, x) with a frame of no-data and an empty band."""
    values = np.random.default_rng(0).integers(-200, 6000, (8, N_ROWS, N_COLUMNS)).astype("int16")
    values[:, 0, :] = NODATA
    if empty:
        values[EMPTY - 1] = NODATA
    return values


def write_image(path, values, nodata=NODATA, crs="EPSG:32633", **options):
    """Write a GeoTIFF as DLR does: without wavelengths and scales."""
    profile = dict(zip(("count", "height", "width"), values.shape), dtype=values.dtype)
    grid = {"crs": crs, "transform": TRANSFORM, "nodata": nodata}
    with rasterio.open(path, "w", driver="GTiff", **profile, **(grid | options)) as file:
        file.write(values)


def metadata(level="L2A", gains=True, order=range(1, 9), extra="", head=""):
    """Return the text of METADATA.XML, with the elements that readers use and some others."""
    bands = []
    for number in order:
        k = number - 1
        gain = ""
        if gains:
            gain = f"<GainOfBand>{GAIN[k]}</GainOfBand><OffsetOfBand>{OFFSET[k]}</OffsetOfBand>"
        bands.append(
            f'<bandID number="{number}">'
            f"<wavelengthCenterOfBand> {WAVELENGTH[k]}\n</wavelengthCenterOfBand>"
            f"<FWHMOfBand>{FWHM[k]}</FWHMOfBand>{gain}</bandID>"
        )
    lists = ""
    for name, numbers in (("vnir", VNIR), ("swir", SWIR)):
        text = ",".join(str(number) for number in numbers)
        lists += f"<{name}ProductQuality><numChannelsExpected>{len(numbers)}"
        lists += f"</numChannelsExpected><expectedChannelsList>{text}</expectedChannelsList>"
        lists += f"</{name}ProductQuality>"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{head}<level_X>'
        f"<metadata><name>x-METADATA.XML</name></metadata><base><level>{level}</level></base>"
        f"<specific><backgroundValue>{NODATA}</backgroundValue>{lists}"
        f"<bandCharacterisation>{''.join(bands)}</bandCharacterisation></specific>"
        f"<product>{extra}</product></level_X>"
    )


def write_enmap(folder, values=None, stem=ENMAP, image=None, **options):
    """Write a product of EnMAP; return its image and its metadata."""
    if values is None:
        values = stored_values()
    path = folder / f"{stem}-SPECTRAL_IMAGE.TIF"
    write_image(path, values, **(image or {}))
    sidecar = folder / f"{stem}-METADATA.XML"
    sidecar.write_text(metadata(**options))
    return path, sidecar


def envi_text(fields):
    """Return the text of an ENVI header, without fields that are None."""
    lines = ["ENVI"]
    for name, value in fields.items():
        if isinstance(value, list):
            value = "{\n" + ",\n".join(str(entry) for entry in value) + "}"
        if value is not None:
            lines.append(f"{name} = {value}")
    return "\n".join(lines) + "\n"


def write_desis(folder, values=None, stem=DESIS, image=None, changes=None):
    """Write a product of DESIS; return its image and its header."""
    if values is None:
        values = stored_values()
    path = folder / f"{stem}-SPECTRAL_IMAGE.tif"
    write_image(path, values, **({"interleave": "pixel", "compress": "lzw"} | (image or {})))
    fields = {"samples": N_COLUMNS, "lines": N_ROWS, "bands": 8, "header offset": 0}
    fields |= {"file type": "TIFF", "data type": 2, "interleave": "bip", "byte order": 0}
    fields |= {"wavelength units": "nanometers", "wavelength": WAVELENGTH, "fwhm": FWHM}
    fields |= {"data gain values": GAIN, "data offset values": OFFSET, "data ignore value": NODATA}
    sidecar = folder / f"{stem}-SPECTRAL_IMAGE.hdr"
    sidecar.write_text(envi_text(fields | (changes or {})))
    return path, sidecar


# Rows of the table


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
    return Row(
        write_neon(folder / "neon.h5"),
        neon_values().transpose(2, 0, 1),
        wavelength=NEON_WAVELENGTH,
        fwhm=np.linspace(5.5, 6.5, 6),
        gain=1e-4,
        valid=neon_values()[..., 0] != -9999,
        good=[True, True, False, False, False, True],
        epsg=32618,
        transform=(368000.0, 1.0, 0.0, 4307000.0, 0.0, -1.0),
    )


def enmap(folder):
    return product_row(write_enmap(folder)[0], [0, 1, 3, 5, 6, 7])


def desis(folder):
    return product_row(write_desis(folder)[0], list(range(8)))


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
    row = tanager_basic(folder, swath=False)
    return replace(row, epsg=32613, transform=(570300.0, 30.0, 0.0, 3555450.0, 0.0, -30.0))


def tanager_basic(folder, swath=True):
    valid = np.ones((5, 6), dtype=bool)
    valid[0, 0] = False
    valid[4, 5] = False
    return Row(
        write_tanager(folder / "tanager.h5", swath=swath),
        tanager_values(),
        wavelength=TANAGER_WAVELENGTH,
        fwhm=[5.25] * 4,
        valid=valid,
        good=[True, True, False, True],
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


# One scale for all bands, as the CF conventions have it.
SCALED = PLAIN | {"gain": 1e-4, "offset": 0.1}


def plain_dataset():
    """Return a dataset that xarray writes as NetCDF or zarr."""
    described = {"scale_factor": 1e-4, "add_offset": 0.1, "grid_mapping": "crs"}
    described["_FillValue"] = np.int16(-9999)
    grid = {"spatial_ref": UTM_33_NORTH, "GeoTransform": "400000 2.5 0 4100000 0 -2.5"}
    return xr.Dataset(
        {
            "cube": (("band", "y", "x"), plain_values(), described),
            "wavelength": ("band", PLAIN["wavelength"], {"units": "nm"}),
            "fwhm": ("band", PLAIN["fwhm"], {"units": "nm"}),
            "good_wavelengths": ("band", np.array(PLAIN["good"], "i1")),
            "crs": ((), 0, grid),
        }
    )


def netcdf(folder):
    plain_dataset().to_netcdf(folder / "cube.nc", engine="netcdf4")
    return Row(folder / "cube.nc", plain_values(), **SCALED)


def zarr_store(folder):
    plain_dataset().to_zarr(folder / "cube.zarr", zarr_format=2)
    return Row(folder / "cube.zarr", plain_values(), **SCALED)


def envi(folder):
    path = folder / "cube.hdr"
    fields = {
        "wavelength units": "Micrometers",
        "wavelength": [0.45, 0.55, 0.65],
        "fwhm": [0.010, 0.011, 0.012],
        "bbl": [1, 0, 1],
        "data ignore value": -9999,
        "data gain values": PLAIN["gain"].tolist(),
        "data offset values": PLAIN["offset"].tolist(),
        "map info": ["UTM", 1, 1, 400000, 4100000, 2.5, 2.5, 33, "North", "WGS-84"],
    }
    cube = plain_values().transpose(1, 2, 0)
    spectral.io.envi.save_image(str(path), cube, dtype="int16", interleave="bsq", metadata=fields)
    return Row(path, plain_values(), **PLAIN)


def geotiff(folder):
    path = folder / "cube.tif"
    transform = Affine.from_gdal(*PLAIN["transform"])
    write_image(path, plain_values(), nodata=-9999, transform=transform)
    with rasterio.open(path, "r+") as file:
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


def write_matlab_73(path, arrays, **storage):
    """Write arrays the way MATLAB 7.3 does: HDF5 behind a text, axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in arrays.items():
            file.create_dataset(name, data=np.atleast_2d(value).T, **storage)
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM".ljust(388))
    return path


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
    "any NetCDF": netcdf,
    "zarr": zarr_store,
    "ENVI": envi,
    "GeoTIFF": geotiff,
    "MATLAB": matlab,
}
