"""Files that contradict themselves: one line that names the file, whatever is wrong."""

import numpy as np
import pytest
from checks import refused
from scipy.io import savemat
from sensor_files import (
    PRISMA_FIELDS,
    TANAGER_GRID,
    envi_text,
    metadata,
    write_aviris,
    write_desis,
    write_emit,
    write_enmap,
    write_neon,
    write_prisma,
    write_tanager,
)

from selfdict.scene import read_scene, valid_mask

NEON = "SERC/Reflectance/Metadata"
FIELDS = f"{TANAGER_GRID}/Data Fields"
VNIR = f"{PRISMA_FIELDS}/VNIR_Cube"
SWIR = f"{PRISMA_FIELDS}/SWIR_Cube"
L1 = "HDFEOS/SWATHS/PRS_L1_HCO/Data Fields/VNIR_Cube"
SWATH = np.ones((2, 3, 4))
Y = np.arange(60.0).reshape(5, 12)

# A writer, and what is changed in the file it writes.
BROKEN = [
    *(
        (write_emit, {"values": SWATH, name: value})
        for name, value in (
            ("location/glt_x", np.full((4, 4), 99)),
            ("location/glt_x", None),
            ("sensor_band_parameters/wavelengths", None),
            ("sensor_band_parameters/wavelengths", np.arange(7.0)),
            ("reflectance", np.zeros((3, 4))),
        )
    ),
    *(
        (write_aviris, {"change": {name: value}})
        for name, value in (
            ("reflectance/wavelength", np.ones(3)),
            ("reflectance/fwhm", np.ones((4, 1))),
            ("reflectance/reflectance", np.ones((4, 5))),
        )
    ),
    (write_neon, {"attributes": {"Scale_Factor": None}}),
    (write_neon, {"attributes": {"Scale_Factor": 0.0}}),
    (write_neon, {"change": {f"{NEON}/Spectral_Data/Wavelength": None}}),
    (write_neon, {"change": {f"{NEON}/Spectral_Data/Wavelength": np.ones(5)}}),
    (write_neon, {"change": {f"{NEON}/Spectral_Data/Wavelength": np.full(6, np.nan)}}),
    (write_neon, {"change": {f"{NEON}/Coordinate_System/Map_Info": b"UTM, a, b, c, d, e, f"}}),
    (write_prisma, {"attributes": {"L2ScaleSwirMax": None}}),
    (write_prisma, {"attributes": {"L2ScaleVnirMax": np.nan}}),
    (write_prisma, {"attributes": {"List_Cw_Vnir": None}}),
    (write_prisma, {"attributes": {"List_Cw_Vnir": np.ones(3)}}),
    (write_prisma, {"attributes": {"List_Cw_Vnir": b"violet"}}),
    (write_prisma, {"attributes": {"List_Cw_Vnir": np.zeros(6), "List_Cw_Swir": np.zeros(6)}}),
    (write_prisma, {"change": {SWIR: np.ones((4, 6, 7), "u2")}}),
    (write_prisma, {"change": {SWIR: np.ones((4, 6, 5), "i2")}}),
    (write_prisma, {"change": {VNIR: np.ones((4, 6), "u2")}}),
    (write_prisma, {"change": {PRISMA_FIELDS: None, L1: np.ones(3)}}),
    (write_tanager, {"wavelengths": np.ones(3)}),
    (write_tanager, {"fwhm": np.ones(9)}),
    (write_tanager, {"change": {f"{FIELDS}/nodata_pixels": np.zeros((5, 5))}}),
    (write_tanager, {"change": {f"{FIELDS}/surface_reflectance": np.zeros((5, 5))}}),
    (write_tanager, {"change": {f"{FIELDS}/surface_reflectance": None}}),
    (write_desis, {"changes": {"bands": 9}}),
    (write_desis, {"changes": {"lines": 10**15}}),
    (write_desis, {"changes": {"bands": None}}),
    (write_desis, {"changes": {"data gain values": [1.0] * 7}}),
    (write_desis, {"changes": {"data gain values": ["nan"] * 8}}),
    (write_desis, {"changes": {"wavelength": [1.0]}}),
]
SUFFIXES = {write_emit: ".nc", write_aviris: ".nc", write_prisma: ".he5"}


def broken(path, **options):
    """Assert that one line names the file, or another one of its product."""

    def read(path, **options):
        return valid_mask(read_scene(path, **options))

    assert str(path.parent) in refused(path, read, **options)


@pytest.mark.parametrize("case", range(len(BROKEN)))
def test_products(tmp_path, case):
    write, options = BROKEN[case]
    if write is write_desis:
        broken(write(tmp_path, **options)[0])
    else:
        broken(write(tmp_path / f"cube{SUFFIXES.get(write, '.h5')}", **options))


XML = {
    "undefined entity": metadata(extra="&f;"),
    "cut": metadata()[:800],
    "empty": "",
    "something else": "<html><body/></html>",
    "fewer bands": metadata(order=range(1, 8)),
    "a band twice": metadata().replace('number="8"', 'number="7"'),
    "band 0": metadata().replace('number="8"', 'number="0"'),
    "a long number": metadata().replace('number="8"', f'number="{"9" * 5000}"'),
    "gain": metadata().replace("0.0005", "nan"),
    "text": metadata().replace("0.0005", "much"),
    "nothing": metadata().replace("0.0005", ""),
    "wavelength": metadata().replace("2300.0", "inf"),
    "unknown encoding": metadata().replace("UTF-8", "klingon"),
    "packed": metadata().replace("UTF-8", "zip"),
}


@pytest.mark.parametrize("kind", XML)
def test_metadata_of_enmap(tmp_path, kind):
    path, sidecar = write_enmap(tmp_path)
    sidecar.write_text(XML[kind])
    broken(path)


HEADER = {
    "samples": 2,
    "lines": 2,
    "bands": 3,
    "data type": 1,
    "interleave": "bsq",
    "byte order": 0,
}
HEADERS = [
    {"lines": 3},
    {"lines": 1},
    {"bands": 10**17, "lines": 10**17, "samples": 10**17},
    {"samples": 0, "lines": 0},
    {"bands": -3},
    {"samples": "two"},
    {"samples": None},
    {"data type": 6},
    {"data type": 77},
    {"interleave": "zigzag"},
    {"byte order": 2},
    {"header offset": 1},
    {"header offset": -1},
    {"file compression": 1},
    {"wavelength": "{1, 2}"},
    {"wavelength": "{1, 2, x}"},
    {"data ignore value": "none"},
    {"reflectance scale factor": 0},
    *(
        {f"data {kind} values": values}
        for kind in ("gain", "offset")
        for values in ("{1, 2}", "{1, 2, nan}", "{1, 2, 1e999}", "{1, 2, x}")
    ),
    {"map info": "{UTM, 1, 1, x, 2, 3, 4}"},
    {"map info": "{UTM, 1, 1, 0, 0, inf, 4}"},
    {"data file": "/etc/passwd"},
    {"data file": "../cube.img"},
    {"data file": "..\\cube.img"},
    {"data file": ".."},
    {"data file": "gone.img"},
]


@pytest.mark.parametrize("change", HEADERS, ids=str)
def test_headers_of_envi(tmp_path, change):
    (tmp_path / "cube.hdr").write_text(envi_text(HEADER | change))
    (tmp_path / "cube.img").write_bytes(bytes(range(12)))
    broken(tmp_path / "cube.hdr")


@pytest.mark.parametrize(
    ("arrays", "options"),
    [
        ({"im": Y}, {}),
        ({"Y": Y}, {}),
        ({"Y": Y, "nRow": 5, "nCol": 4}, {}),
        ({"Y": Y}, {"shape": (3, 5)}),
        ({"Y": Y, "H": 3, "W": 4, "nr": 4, "nc": 3}, {}),
        ({"Y": Y, "H": 3.5, "W": 4}, {}),
        ({"Y": Y, "H": np.nan, "W": 4}, {}),
        ({"Y": Y, "H": -3, "W": -4}, {}),
        ({"Y": Y, "H": 1e300, "W": 4}, {}),
        ({"Y": Y, "H": np.array([3, 3]), "W": 4}, {}),
        ({"cube": Y.reshape(5, 3, 4)}, {"shape": (3, 4)}),
        ({"Y": Y, "H": 3, "W": 4}, {"layout": "y x band"}),
        ({"Y": Y}, {"shape": (3, 0)}),
        ({"Y": Y}, {"shape": (3, 4, 1)}),
        ({"Y": Y}, {"shape": (3.0, 4)}),
        ({"X": Y, "A": np.ones((2, 12)), "rows": 3, "cols": 4}, {}),
    ],
)
def test_sizes_of_matrices(tmp_path, arrays, options):
    savemat(tmp_path / "a.mat", arrays)
    broken(tmp_path / "a.mat", **options)
