"""ENVI against the `spectral` package and GDAL, and headers as other software writes them."""

import shutil

import numpy as np
import pytest
import rasterio.warp
import spectral.io.envi as independent
from affine import Affine
from checks import noted
from scene_sample import TRANSFORM, assert_same, full_scene

from selfdict import InputError
from selfdict.files.envi import parse_fields
from selfdict.scene import build_scene, crs_of, read_scene, transform_of, write_scene
from selfdict.scene.metadata import notes_of

DTYPES = ["uint8", "int16", "int32", "float32", "float64", "uint16", "uint32", "int64", "uint64"]
STORED = list(zip(DTYPES, 3 * ["bsq", "bil", "bip"]))


@pytest.mark.parametrize(("dtype", "interleave"), STORED)
def test_spectral_reads_what_we_write(tmp_path, dtype, interleave):
    scene = full_scene(dtype, nodata=200)
    header = write_scene(scene, tmp_path / "cube.hdr", interleave=interleave)
    image = independent.open(header)
    np.testing.assert_array_equal(np.asarray(image.open_memmap()).transpose(2, 0, 1), scene.values)
    assert image.metadata["interleave"] == interleave
    np.testing.assert_array_equal(image.bands.centers, scene.wavelength.values)
    np.testing.assert_array_equal(image.bands.bandwidths, scene.fwhm.values)
    assert image.bands.band_unit == "Nanometers"
    assert image.metadata["band names"] == scene.band_name.values.tolist()
    assert [int(good) for good in image.metadata["bbl"]] == [1, 1, 0, 1, 0]
    assert float(image.metadata["data ignore value"]) == 200


@pytest.mark.parametrize("byte_order", [0, 1])
@pytest.mark.parametrize(("dtype", "interleave"), STORED)
def test_we_read_what_spectral_writes(tmp_path, dtype, interleave, byte_order):
    values = full_scene(dtype).values.transpose(1, 2, 0)
    metadata = {
        "wavelength": [0.4, 0.5, 0.6, 1.0, 2.5],
        "wavelength units": "Micrometers",
        "bbl": [1, 0, 1, 1, 1],
    }
    independent.save_image(
        str(tmp_path / "cube.hdr"),
        values,
        dtype=dtype,
        interleave=interleave,
        byteorder=byte_order,
        metadata=metadata,
    )
    scene = read_scene(tmp_path / "cube.hdr")
    np.testing.assert_array_equal(scene.values, values.transpose(2, 0, 1))
    assert scene.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(scene.wavelength.values, [400.0, 500.0, 600.0, 1000.0, 2500.0])
    assert scene.good_band.values.tolist() == [True, False, True, True, True]


@pytest.mark.parametrize("crs", ["EPSG:32633", "EPSG:32733", "EPSG:4326", "EPSG:3035", None])
def test_gdal_sees_the_same_place(tmp_path, crs):
    values = np.ones((1, 4, 3), dtype=np.float32)
    scene = build_scene(values, crs=crs, transform=TRANSFORM)
    write_scene(scene, tmp_path / "cube.hdr")
    with rasterio.open(tmp_path / "cube.img") as image:
        if crs is not None:
            point = ([10.0], [50.0]) if crs == "EPSG:4326" else ([500_000.0], [5_000_000.0])
            np.testing.assert_allclose(rasterio.warp.transform(image.crs, crs, *point), point)
        assert image.transform.almost_equals(TRANSFORM)
    read = read_scene(tmp_path / "cube.hdr")
    assert crs_of(read) == crs_of(scene)
    assert transform_of(read) == TRANSFORM


@pytest.mark.parametrize("degrees", [30.0, -100.0])
def test_rotated_grid_as_gdal_has_it(tmp_path, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    transform = Affine(2 * c, 2 * s, 100.0, 2 * s, -2 * c, 50.0)
    write_scene(
        build_scene(np.ones((1, 4, 3)), crs="EPSG:32633", transform=transform),
        tmp_path / "cube.hdr",
    )
    with rasterio.open(tmp_path / "cube.img") as image:
        assert image.transform.almost_equals(transform)
    read = read_scene(tmp_path / "cube.hdr")
    assert transform_of(read).almost_equals(transform)
    crop = transform_of(read.isel(y=slice(1, None), x=slice(2, None)))
    x, y = (4 * c + 2 * s + 100.0, 4 * s - 2 * c + 50.0)
    assert crop.almost_equals(Affine(2 * c, 2 * s, x, 2 * s, -2 * c, y))


def test_mirrored_grid_is_refused(tmp_path):
    scene = build_scene(np.ones((1, 4, 3)), transform=Affine(2.0, 0.0, 0.0, 0.0, 2.0, 0.0))
    with pytest.raises(InputError):
        write_scene(scene, tmp_path / "cube.hdr")
    assert list(tmp_path.iterdir()) == []


START = "ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\n"
TWELVE = np.arange(1, 13, dtype=np.uint8)


def write(folder, header, values=TWELVE):
    (folder / "cube.img").write_bytes(values.tobytes())
    (folder / "cube.hdr").write_text(header, encoding="utf-8")
    return folder / "cube.hdr"


def test_details_of_the_header(tmp_path):
    values = np.arange(24, dtype=">i2")
    header = """ENVI
; a comment = with an equals sign
description = {a cube
  over two lines}
Samples=4
lines   = 3
bands = 2
header offset = 10
data type = 2
interleave = BIL
byte order = 1
map info = {UTM, 1.5, 1.5, 500015, 4999985, 30, 30, 17, South, WGS-84, units=Meters}
wavelength units = Micrometers
wavelength = {
 0.45,
 0.55}
fwhm = {0.01, 0.02}
band names = {first, second}
data ignore value = -1
reflectance scale factor = 10000.0
"""
    scene = read_scene(write(tmp_path, header, np.arange(-5, 24, dtype=">i2")))
    np.testing.assert_array_equal(scene.values, values.reshape(3, 2, 4).transpose(1, 0, 2))
    assert scene.wavelength.values.tolist() == [450.0, 550.0]
    assert scene.wavelength.attrs["units"] == "nm"
    assert scene.fwhm.values.tolist() == [10.0, 20.0]
    assert scene.attrs == {"_FillValue": -1, "scale_factor": 1e-4}
    assert crs_of(scene).to_epsg() == 32717
    assert tuple(transform_of(scene))[:6] == (30.0, 0.0, 500_000.0, 0.0, -30.0, 5_000_000.0)
    assert scene.selfdict.matrix().max() == np.float32(23e-4)


def test_the_data_file_may_be_named_anything_in_the_folder(tmp_path):
    scene = full_scene("uint16")
    write_scene(scene, tmp_path / "cube.hdr")
    (tmp_path / "cube.img").rename(tmp_path / "other.bin")
    with (tmp_path / "cube.hdr").open("a") as header:
        header.write("data file = other.bin\n")
    np.testing.assert_array_equal(read_scene(tmp_path / "cube.hdr").values, scene.values)


def test_a_header_named_in_capitals(tmp_path):
    scene = full_scene("float32")
    for overwrite in (False, True):
        write_scene(scene, tmp_path / "CUBE.HDR", overwrite=overwrite)
        assert {path.name for path in tmp_path.iterdir()} == {"CUBE.HDR", "CUBE.img"}
    assert_same(read_scene(tmp_path / "CUBE.HDR"), scene)


def test_names_with_commas_are_given_up(tmp_path):
    scene = read_scene(write(tmp_path, START + "band names = {a, b, c (1, 2)}\n"))
    assert "band_name" not in scene.coords


@pytest.mark.parametrize(("units", "factor"), [("", 1.0), ("wavelength units = nm\n", 1000.0)])
def test_wavelengths_without_a_unit(tmp_path, units, factor):
    header = f"ENVI\nsamples = 2\nlines = 2\nbands = 2\ndata type = 1\n{units}"
    header += f"wavelength = {{{0.4 * factor}, {2.5 * factor}}}\n"
    header += f"fwhm = {{{0.01 * factor}, {0.02 * factor}}}\n"
    scene = read_scene(write(tmp_path, header, np.arange(8, dtype=np.uint8)))
    assert scene.wavelength.values.tolist() == [400.0, 2500.0]
    assert scene.fwhm.values.tolist() == [10.0, 20.0]


PLACE = "1, 1, 500000, 4000000, 30, 30"


@pytest.mark.parametrize(
    ("info", "epsg"),
    [
        ("Geographic Lat/Lon, {}, WGS-84, units=Degrees", 4326),
        ("Geographic Lat/Lon, {}, North America 1983, units=Degrees", 4269),
        ("Geographic Lat/Lon, {}, NAD-27", 4267),
        ("Geographic Lat/Lon, {}, WGS-72, units=Degrees", 4322),
        ("Geographic Lat/Lon, {}, European 1950, units=Degrees", 4230),
        ("Geographic Lat/Lon, {}, units=Degrees", None),
        ("Geographic Lat/Lon, {}, Ord. Survey 1936", None),
        ("Geographic Lat/Lon, {}, WGS-84, units=Radians", None),
        ("UTM, {}, 33, North, WGS-84, units=Meters", 32633),
        ("UTM, {}, 33, South, WGS-84", 32733),
        ("UTM, {}, 13, North, North America 1983, units=Meters", 26913),
        ("UTM, {}, 13, North, North America 1927, units=Feet", None),
        ("UTM, {}, 13, South, NAD-83", None),
        ("UTM, {}, 61, North, WGS-84", None),
        ("UTM, {}, 33, North, Mars 2000", None),
        ("UTM, {}", None),
        ("Albers Conical Equal Area, {}, WGS-84", None),
        ("Arbitrary, {}", None),
    ],
)
def test_projections_and_datums(tmp_path, info, epsg):
    scene = read_scene(write(tmp_path, START + f"map info = {{{info.format(PLACE)}}}\n"))
    crs = crs_of(scene)
    if epsg is None:
        assert crs is None
    else:
        assert crs.to_epsg() == epsg
    # The grid is known all the same.
    assert transform_of(scene).c == 500000.0
    is_noted = "the CRS of 'map info' is not known" in noted(scene)
    assert is_noted == (epsg is None and "Arbitrary" not in info)


def test_a_string_that_is_not_understood_is_noted(tmp_path):
    fields = f"map info = {{UTM, {PLACE}, 33, North, WGS-84}}\ncoordinate system string = {{x}}\n"
    scene = read_scene(write(tmp_path, START + fields))
    assert crs_of(scene).to_epsg() == 32633
    assert notes_of(scene) == ["'coordinate system string' is not understood, and not used"]


def test_a_header_with_the_whole_name_comes_first(tmp_path):
    (tmp_path / "x.bip").write_bytes(bytes(range(12)))
    (tmp_path / "x.bip.hdr").write_text(START.replace("bsq", "bip"))
    alone = read_scene(tmp_path / "x.bip")
    assert notes_of(alone) == []
    (tmp_path / "x.hdr").write_text(START)
    both = read_scene(tmp_path / "x.bip")
    np.testing.assert_array_equal(both.values, np.arange(12).reshape(2, 2, 3).transpose(2, 0, 1))
    assert notes_of(both) == ["the header is taken to be x.bip.hdr, not x.hdr"]
    shutil.move(tmp_path / "x.bip.hdr", tmp_path / "other.hdr")
    np.testing.assert_array_equal(read_scene(tmp_path / "x.bip").values.ravel(), np.arange(12))


def test_a_byte_order_mark_and_comments_in_lists(tmp_path):
    fields = (
        "wavelength units = Nanometers\n"
        "wavelength = {450,\n  ; measured again, in {May}\n 550,\n; 600,\n650}\n"
    )
    scene = read_scene(write(tmp_path, "\ufeff" + START + fields))
    assert scene.wavelength.values.tolist() == [450.0, 550.0, 650.0]


def test_a_semicolon_within_a_line_is_no_comment():
    assert parse_fields("band names = {a; b, c}") == {"band names": "a; b, c"}
