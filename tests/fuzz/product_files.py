"""Small products of EnMAP and DESIS, written by rasterio and by hand."""

import numpy as np
import rasterio
from affine import Affine

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
    profile = {"driver": "GTiff", "dtype": values.dtype, "nodata": nodata, "crs": crs}
    count, height, width = values.shape
    with rasterio.open(
        path,
        "w",
        count=count,
        height=height,
        width=width,
        transform=TRANSFORM,
        **profile,
        **options,
    ) as file:
        file.write(values)


def metadata(
    level="L2A", statistics=True, detectors=True, gains=True, order=range(1, 9), extra="", head=""
):
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
    if detectors:
        for name, numbers in (("vnir", VNIR), ("swir", SWIR)):
            text = ",".join(str(number) for number in numbers)
            lists += f"<{name}ProductQuality><numChannelsExpected>{len(numbers)}"
            lists += f"</numChannelsExpected><expectedChannelsList>{text}</expectedChannelsList>"
            lists += f"</{name}ProductQuality>"
    numbers = ""
    if statistics:
        for number in order:
            spread = 0 if number == EMPTY else 0.125
            numbers += f'<bandID number="{number}"><mean>1</mean>'
            numbers += f"<stdDeviation>{spread}</stdDeviation></bandID>"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{head}<level_X>'
        f"<metadata><name>x-METADATA.XML</name></metadata><base><level>{level}</level></base>"
        f"<specific><backgroundValue>{NODATA}</backgroundValue>{lists}"
        f"<bandCharacterisation>{''.join(bands)}</bandCharacterisation></specific>"
        f"<product><bandStatistics>{numbers}</bandStatistics>{extra}</product></level_X>"
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


def header_text(changes=None):
    """Return the text of a header of DESIS."""
    fields = {
        "samples": N_COLUMNS,
        "lines": N_ROWS,
        "bands": 8,
        "header offset": 0,
        "file type": "TIFF",
        "data type": 2,
        "interleave": "bip",
        "byte order": 0,
        "wavelength units": "nanometers",
        "wavelength": WAVELENGTH,
        "fwhm": FWHM,
        "data gain values": GAIN,
        "data offset values": OFFSET,
        "data ignore value": NODATA,
    }
    fields |= changes or {}
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
    sidecar = folder / f"{stem}-SPECTRAL_IMAGE.hdr"
    sidecar.write_text(header_text(changes))
    return path, sidecar
