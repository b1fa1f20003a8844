"""GeoTIFF against rasterio, and what vendors write about its bands."""

import numpy as np
import pytest
import rasterio
from affine import Affine
from checks import noted, refused
from rasterio.control import GroundControlPoint
from scene_sample import TRANSFORM, assert_same, full_scene
from sensor_files import write_image

from selfdict.scene import SceneError, build_scene, crs_of, read_scene, transform_of, write_scene
from selfdict.scene.metadata import notes_of

DTYPES = ["uint8", "int16", "int32", "float32", "float64", "uint16", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("nodata", [None, 200])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rasterio_reads_what_we_write(tmp_path, dtype, nodata):
    scene = full_scene(dtype, nodata)
    write_scene(scene, tmp_path / "cube.tif")
    with rasterio.open(tmp_path / "cube.tif") as image:
        np.testing.assert_array_equal(image.read(), scene.values)
        assert image.nodata == nodata
        assert image.crs.to_epsg() == 32633
        assert image.transform == TRANSFORM
        assert list(image.descriptions) == scene.band_name.values.tolist()
        assert [
            float(image.tags(band)["wavelength"]) for band in image.indexes
        ] == scene.wavelength.values.tolist()
    assert_same(read_scene(tmp_path / "cube.tif"), scene)


@pytest.mark.parametrize("tiled", [True, False])
@pytest.mark.parametrize(("dtype", "interleave"), list(zip(DTYPES, 5 * ["band", "pixel"])))
def test_we_read_what_rasterio_writes(tmp_path, dtype, interleave, tiled):
    values = np.arange(3 * 40 * 50).reshape(3, 40, 50).astype(dtype)
    turned = Affine(0.6, 0.8, 10.0, 0.8, -0.6, 20.0)
    options = {"interleave": interleave, "transform": turned}
    if tiled:
        options |= {"tiled": True, "blockxsize": 16, "blockysize": 16}
    write_image(tmp_path / "cube.tif", values, None, "EPSG:3035", **options)
    with rasterio.open(tmp_path / "cube.tif", "r+") as image:
        image.scales, image.offsets = (0.5,) * 3, (-1.0,) * 3
        for band in image.indexes:
            image.update_tags(
                band, ns="IMAGERY", CENTRAL_WAVELENGTH_UM=str(band / 10), FWHM_UM="0.01"
            )
    scene = read_scene(tmp_path / "cube.tif")
    np.testing.assert_array_equal(scene.values, values)
    assert scene.dtype == dtype
    assert crs_of(scene).to_epsg() == 3035
    assert transform_of(scene).almost_equals(turned)
    assert scene.wavelength.values.tolist() == [100.0, 200.0, 300.0]
    assert scene.fwhm.values.tolist() == [10.0] * 3
    assert scene.attrs == {"scale_factor": 0.5, "add_offset": -1.0}


def test_without_a_place(tmp_path):
    scene = build_scene(np.ones((2, 3, 4), dtype=np.uint8))
    write_scene(scene, tmp_path / "cube.tif")
    read = read_scene(tmp_path / "cube.tif")
    assert transform_of(read) is None
    assert crs_of(read) is None
    np.testing.assert_array_equal(read.values, scene.values)


def test_no_data_that_does_not_fit(tmp_path):
    with pytest.raises(SceneError):
        write_scene(
            build_scene(np.ones((2, 3, 4), dtype=np.uint8), nodata=-9999), tmp_path / "cube.tif"
        )


def test_complex_values_are_refused(tmp_path):
    write_image(tmp_path / "cube.tif", np.ones((1, 2, 2), dtype=np.complex64), None)
    refused(tmp_path / "cube.tif")


VALUES = np.arange(1, 25, dtype="int16").reshape(3, 2, 4)


def write(folder, names=None, tags=None, imagery=None, envi=None):
    """Write three bands with descriptions and tags, one entry per band."""
    path = folder / "cube.tif"
    write_image(path, VALUES, None)
    with rasterio.open(path, "r+") as file:
        file.update_tags(ns="ENVI", **(envi or {}))
        for band in file.indexes:
            if names:
                file.set_band_description(band, names[band - 1])
            if tags:
                file.update_tags(band, **{key: values[band - 1] for key, values in tags.items()})
            if imagery:
                values = {key: values[band - 1] for key, values in imagery.items()}
                file.update_tags(band, ns="IMAGERY", **values)
    return path


NAMED = {
    "vendor": (["Blue_450", "Green_503", "Red_650"], [450, 503, 650]),
    "Band_": (["Band_503", "Band_510", "Band_519"], [503, 510, 519]),
    "plain": (["450.25", "503.5", "650"], [450.25, 503.5, 650]),
    "nm": (["450 nm", "503.2 nm", "650nm"], [450, 503.2, 650]),
    "um": (["Band 1 (0.450 um)", "Band 12 (0.503 um)", "Band 3 (0.65 µm)"], [450, 503, 650]),
    "words": (
        ["band 1 (450.5 Nanometers)", "band 2 (503 nanometers)", "band 3 (0.65 Micrometers)"],
        [450.5, 503, 650],
    ),
    "ranges": (
        ["Blue (0.45-0.51 um)", "Green (0.53 – 0.59 um)", "Red (640 nm to 670 nm)"],
        [480, 560, 655],
    ),
    "commas and exponents": (["400,5 nm", "4.5e2 nm", "0,65 um"], [400.5, 450, 650]),
    "numbers of bands": (["B1-450 nm", "B12-503 nm", "B3 - 650 nm"], [450, 503, 650]),
    # No wavelengths: widths beside them, the width alone, falling ranges, and thousands.
    "two lengths": ([f"FWHM 10 nm, centre {k}00 nm" for k in (4, 5, 6)], None),
    "widths": (["FWHM 10 nm", "FWHM 11 nm", "FWHM 12 nm"], None),
    "all equal": (["up to 400 nm", "400 nm", "from 400 nm"], None),
    "equal at the end": (["Mean_2019", "Min_2019", "Max_2019"], None),
    "falling": (["510-450 nm", "590-530 nm", "670-640 nm"], None),
    "thousands": (["1,200 nm", "1,300 nm", "1,400 nm"], None),
    # No wavelengths: numbers that count, too small ones, and some bands only.
    "counted far": (["Band_400", "Band_401", "Band_402"], None),
    "counted with spaces": (["Band 400", "Band 410", "Band 420"], None),
    "small": (["B_1", "B_5", "B_12"], None),
    "huge": (["B_20000", "B_50000", "B_16000"], None),
    "no length": (["5 numbers", "6 numbers", "7 numbers"], None),
    "some": (["450 nm", "503.2 nm", "cloud mask"], None),
}


@pytest.mark.parametrize("kind", NAMED)
def test_wavelengths_in_names(tmp_path, kind):
    names, wavelength = NAMED[kind]
    scene = read_scene(write(tmp_path, names))
    assert scene.band_name.values.tolist() == names
    if wavelength is None:
        assert "wavelength" not in scene.coords
        assert notes_of(scene) == []
    else:
        assert scene.wavelength.values.tolist() == wavelength
        assert "names of the bands" in noted(scene)


TAGGED = {
    "small letters": ({"wavelength": ["450", "503", "650"]}, [450, 503, 650]),
    "capitals": (
        {"WAVELENGTH": ["450", "503", "650"], "WAVELENGTH_UNIT": ["nm"] * 3},
        [450, 503, 650],
    ),
    "mixed": (
        {"Wavelength": ["0.45", "0.503", "0.65"], "Wavelength_Units": ["micrometers"] * 3},
        [450, 503, 650],
    ),
    "no unit": ({"wavelength": ["0.45", "0.503", "0.65"]}, [450, 503, 650]),
    "unit in the tag": ({"wavelength": ["450 nm", "503 nm", "650 nm"]}, [450, 503, 650]),
    "central": ({"central_wavelength": ["450", "503", "650"]}, [450, 503, 650]),
    "not numbers": ({"wavelength": ["450", "503", "n/a"]}, None),
    "not finite": ({"wavelength": ["450", "503", "inf"]}, None),
    "no length": ({"wavelength": ["1", "2", "3"], "wavelength_units": ["Index"] * 3}, None),
}


@pytest.mark.parametrize("kind", TAGGED)
def test_wavelengths_in_tags(tmp_path, kind):
    tags, wavelength = TAGGED[kind]
    scene = read_scene(write(tmp_path, tags=tags))
    if wavelength is None:
        assert "wavelength" not in scene.coords
        assert "not used" in noted(scene)
    else:
        assert scene.wavelength.values.tolist() == wavelength
    if kind in ("small letters", "no unit", "central"):
        assert "names no unit" in noted(scene)


def test_tags_come_before_names(tmp_path):
    path = write(
        tmp_path, ["Blue_450", "Green_503", "Red_650"], tags={"wavelength": ["451", "504", "651"]}
    )
    assert read_scene(path).wavelength.values.tolist() == [451, 504, 651]


def test_fields_of_an_envi_header_that_gdal_has_copied(tmp_path):
    envi = {
        "wavelength": "{0.45012, 0.503, 0.65}",
        "wavelength_units": "Micrometers",
        "fwhm": "{0.01, 0.02, 0.03}",
        "bbl": "{1, 0, 1}",
    }
    imagery = {"CENTRAL_WAVELENGTH_UM": ["0.450", "0.503", "0.650"]}
    scene = read_scene(write(tmp_path, envi=envi, imagery=imagery))
    # Those of the header are exact, GDAL's own are rounded.
    assert scene.wavelength.values.tolist() == [450.12, 503, 650]
    assert scene.fwhm.values.tolist() == [10, 20, 30]
    assert scene.good_band.values.tolist() == [True, False, True]


def test_tags_of_some_bands_are_noted(tmp_path):
    path = write(tmp_path)
    with rasterio.open(path, "r+") as file:
        for band in (1, 2):
            file.update_tags(band, wavelength="450", good_band="1")
    scene = read_scene(path)
    assert "wavelength" not in scene.coords
    assert "good_band" not in scene.coords
    assert "2 of 3 bands have the tag wavelength: not used" in noted(scene)
    assert "2 of 3 bands have the tag good_band: not used" in noted(scene)


def test_bad_bands_are_told_by_numbers(tmp_path):
    scene = read_scene(write(tmp_path, envi={"bbl": "{1.0, 0.0, 1.0}"}))
    assert scene.good_band.values.tolist() == [True, False, True]
    scene = read_scene(write(tmp_path, tags={"good_band": ["1", "0.0", "00"]}))
    assert scene.good_band.values.tolist() == [True, False, False]
    scene = read_scene(write(tmp_path, tags={"good_band": ["yes", "no", "no"]}))
    assert "good_band" not in scene.coords
    assert "good_band" in noted(scene)


def test_ground_control_points_are_noted(tmp_path):
    corners = ((0, 0), (0, 4), (2, 0), (2, 4))
    points = [GroundControlPoint(row, column, 10 + column, 50 - row) for row, column in corners]
    path = tmp_path / "cube.tif"
    write_image(path, VALUES, None, "EPSG:4326", gcps=points, transform=None)
    scene = read_scene(path)
    assert transform_of(scene) is None
    assert "the file has 4 ground control points, which are not used" in noted(scene)


def test_a_mask_that_is_not_read_is_noted(tmp_path):
    path = write(tmp_path)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "r+") as file:
        file.write_mask(np.ones((2, 4), dtype=bool))
    assert "the file has a mask of its own, which is not read (mask=…)" in noted(read_scene(path))


def test_an_alpha_band_is_noted(tmp_path):
    path = tmp_path / "cube.tif"
    values = np.ones((4, 2, 4), dtype="uint8")
    write_image(path, values, None, photometric="RGB", alpha="YES")
    assert "the file has an alpha band" in noted(read_scene(path))
