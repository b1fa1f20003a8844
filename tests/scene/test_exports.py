"""Exports for other software, read back by GDAL and SPy."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pyproj
import pytest
import rasterio
import rasterio.shutil
import xarray as xr

from selfdict.datasets import make_scene
from selfdict.scene import (
    SceneError,
    read_library,
    read_scene,
    unmix,
    write_dominant,
    write_pixels,
    write_scene,
    write_spectra,
)


@pytest.fixture(scope="module")
def scene():
    return make_scene((24, 20), n_bands=40, n_endmembers=3, n_outliers=0, random_state=0).scene


@pytest.fixture(scope="module")
def result(scene):
    names = [f"class <{k}> & \x07 “x”" for k in range(3)]
    found = unmix(scene, 3, candidates=None, random_state=0)
    return replace(found, endmembers=found.endmembers.assign_coords(name=("endmember", names)))


def features(path):
    collection = json.loads(path.read_text(encoding="utf-8"))
    assert collection["type"] == "FeatureCollection"
    return collection["features"]


def test_pure_pixels_and_groups_are_points_on_earth(scene, result, tmp_path):
    points = features(write_pixels(result, tmp_path / "pixels.geojson"))
    to_earth = pyproj.Transformer.from_crs(result.crs, "EPSG:4326", always_xy=True)
    n_groups = sum(len(group) for group in result.groups)
    assert len(points) == n_groups
    for k, pixel in enumerate(result.pixels.tolist()):
        own = [point for point in points if point["properties"]["endmember"] == k + 1]
        assert [point["properties"]["role"] for point in own] == ["pure pixel"] + ["group"] * (
            len(own) - 1
        )
        assert [own[0]["properties"]["row"], own[0]["properties"]["column"]] == pixel
        assert own[0]["properties"]["name"] == result.labels[k].replace("\x07", "\ufffd")
        places = {(p["properties"]["row"], p["properties"]["column"]) for p in own}
        assert places == {tuple(place) for place in result.groups[k].tolist()}
        expected = to_earth.transform(*result.coordinates[k])
        assert own[0]["geometry"]["type"] == "Point"
        np.testing.assert_allclose(own[0]["geometry"]["coordinates"], expected, atol=1e-7)
    with pytest.raises(SceneError):
        write_pixels(result, tmp_path / "pixels.geojson")


def test_pixels_whose_place_is_not_known(scene, tmp_path):
    unplaced = scene.drop_vars(["spatial_ref", "x", "y"])
    laboratory = scene.drop_vars("spatial_ref").rio.write_crs('LOCAL_CS["bench",UNIT["metre",1]]')
    for k, plain in enumerate([unplaced, laboratory]):
        found = unmix(plain, 3, method="spa")
        points = features(write_pixels(found, tmp_path / f"{k}.geojson"))
        assert [point["geometry"] for point in points] == [None] * 3
        places = [[p["properties"]["row"], p["properties"]["column"]] for p in points]
        assert places == found.pixels.tolist()
    # in the geometry of the sensor
    rows, columns = np.mgrid[: scene.sizes["y"], : scene.sizes["x"]]
    places = {"lat": (("y", "x"), 40 + 0.01 * rows), "lon": (("y", "x"), -columns / 10)}
    found = unmix(unplaced.assign_coords(places), 3, method="spa")
    points = features(write_pixels(found, tmp_path / "swath.geojson"))
    for point, (row, column) in zip(points, found.pixels.tolist(), strict=True):
        expected = [-column / 10, 40 + 0.01 * row]
        np.testing.assert_allclose(point["geometry"]["coordinates"], expected)


def test_the_dominant_material_as_gdal_reads_it(result, tmp_path):
    path = write_dominant(result, tmp_path / "dominant.tif")
    abundances = result.abundances.values
    with rasterio.open(path) as file:
        classes = file.read(1)
        assert file.crs.to_string() == result.crs
        assert file.nodata == 0
        colours = file.colormap(1)
        tags = file.tags(1)
        # GDAL's own description of the file, with the names it found beside it.
        rasterio.shutil.copy(file, tmp_path / "copy.vrt", driver="VRT")
    is_known = np.isfinite(abundances[0])
    assert (classes[~is_known] == 0).all()
    expected = abundances[:, is_known].argmax(axis=0) + 1
    np.testing.assert_array_equal(classes[is_known], expected)
    assert colours[1] == (0, 114, 178, 255)
    assert len({colours[k] for k in range(4)}) == 4
    band = ElementTree.parse(tmp_path / "copy.vrt").getroot().find("VRTRasterBand")
    names = [category.text for category in band.find("CategoryNames")]
    # XML has no way to write a control character.
    assert names == ["no data", *(label.replace("\x07", "\ufffd") for label in result.labels)]
    # They are in the file itself, too.
    assert tags["CLASS_2"] == names[2]


def test_a_header_beside_a_geotiff_is_written_as_envi(scene, tmp_path):
    write_scene(scene, tmp_path / "cube.tif")
    write_scene(scene + 1, tmp_path / "cube.hdr")
    assert (tmp_path / "cube.hdr").read_text().startswith("ENVI")
    np.testing.assert_array_equal(read_scene(tmp_path / "cube.hdr").values, scene.values + 1)
    np.testing.assert_array_equal(read_scene(tmp_path / "cube.tif").values, scene.values)


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_many_materials_need_more_than_a_byte(tmp_path):
    r = 300
    rng = np.random.default_rng(0)
    abundances = xr.DataArray(rng.random((r, 5, 70)), dims=("endmember", "y", "x"))
    labels = [f"m{k}" for k in range(r)]
    found = type("Result", (), {"abundances": abundances, "labels": labels})
    path = write_dominant(found, tmp_path / "d.tif")
    with rasterio.open(path) as file:
        np.testing.assert_array_equal(file.read(1), abundances.values.argmax(axis=0) + 1)
        assert file.dtypes == ("uint16",)


@pytest.fixture(scope="module")
def spectra(result):
    names = ["quartz", "clay, fine", "kaolinite {x}"]
    bands = {"fwhm": ("band", np.full(result.endmembers.sizes["band"], 9.5))}
    return result.endmembers.assign_coords(name=("endmember", names), **bands)


def test_spectra_as_spy_reads_them(spectra, tmp_path):
    envi = pytest.importorskip("spectral.io.envi")
    path = write_spectra(spectra, tmp_path / "endmembers.sli")
    library = envi.open(str(tmp_path / "endmembers.hdr"))
    np.testing.assert_array_equal(library.spectra, spectra.values)
    np.testing.assert_allclose(library.bands.centers, spectra["wavelength"].values)
    np.testing.assert_allclose(library.bands.bandwidths, 9.5)
    # A header has no escape for commas and braces.
    assert library.names == ["quartz", "clay; fine", "kaolinite (x)"]
    ours = read_library(path)
    np.testing.assert_array_equal(ours.values, spectra.values)
    np.testing.assert_allclose(ours["fwhm"].values, 9.5)
    write_spectra(spectra.astype(np.float64), path, overwrite=True)
    np.testing.assert_array_equal(read_library(path).values, spectra.values)


def test_tables_and_points_as_gdal_reads_them(result, spectra, tmp_path):
    """QGIS reads both through this library; it reads no spectral libraries."""
    pyogrio = pytest.importorskip("pyogrio.raw")
    path = write_spectra(spectra, tmp_path / "endmembers.csv")
    about, _, _, columns = pyogrio.read(path)
    assert about["fields"].tolist()[3:] == spectra["name"].values.tolist()
    np.testing.assert_allclose(
        [column.astype(float) for column in columns[3:]], spectra.values, rtol=1e-6
    )
    path = write_pixels(result, tmp_path / "pixels.geojson")
    about, _, shapes, _ = pyogrio.read(path)
    assert about["crs"] == "EPSG:4326"
    assert about["geometry_type"] == "Point"
    assert len(shapes) == len(features(path))
