"""EnMAP and DESIS: an image beside a sidecar, in every way they can be named."""

import numpy as np
import pytest
import spectral.io.envi as independent
from checks import noted, refused
from sensor_files import (
    DESIS,
    ENMAP,
    GAIN,
    NODATA,
    OFFSET,
    SWIR,
    WAVELENGTH,
    metadata,
    stored_values,
    write_desis,
    write_enmap,
    write_image,
)

from selfdict.cli.source import Source
from selfdict.files.formats import format_of
from selfdict.scene import read_scene, write_scene
from selfdict.scene.metadata import notes_of, scaling_of

WRITERS = {"enmap": write_enmap, "desis": write_desis}
IDS = ["image", "sidecar", "folder"]


@pytest.fixture(params=WRITERS)
def product(request, tmp_path):
    """The name of a product, and the three names it can be opened by."""
    image, sidecar = WRITERS[request.param](tmp_path)
    return request.param, dict(zip(IDS, (image, sidecar, tmp_path)))


def test_without_its_sidecar(product):
    _, paths = product
    paths["sidecar"].unlink()
    scene = read_scene(paths["image"])
    np.testing.assert_array_equal(scene.values, stored_values())
    assert "wavelength" not in scene.coords
    (note,) = notes_of(scene)
    assert "is missing" in note
    # A GeoTIFF by order has no such note.
    assert notes_of(read_scene(paths["image"], format="geotiff")) == []


def test_a_copy_under_the_name_of_the_product(product, tmp_path):
    """The name of a product is written as the GeoTIFF that it is."""
    _, paths = product
    scene = read_scene(paths["image"])
    (tmp_path / "copy").mkdir()
    path = write_scene(scene, tmp_path / "copy" / paths["image"].name)
    read = read_scene(path)
    np.testing.assert_array_equal(read.wavelength.values, scene.wavelength.values)
    np.testing.assert_array_equal(scaling_of(read), scaling_of(scene))


def test_the_record_of_a_run_has_all_files(product):
    _, paths = product
    names = {paths["image"].name, paths["sidecar"].name}
    for path in paths.values():
        assert set(Source(path).fingerprints(hashed=True)) == names


OVERLAP = {"vnir": [0, 1, 3, 5, 6, 7], "swir": [0, 1, 2, 4, 6, 7], "both": [0, 1, 2, 3, 4, 5, 6, 7]}


@pytest.mark.parametrize("overlap", OVERLAP)
def test_the_detector_that_is_kept(tmp_path, overlap):
    path, _ = write_enmap(tmp_path)
    scene = read_scene(path, overlap=overlap)
    assert scene.wavelength.values.tolist() == [WAVELENGTH[k] for k in OVERLAP[overlap]]
    np.testing.assert_array_equal(scene.values, stored_values()[OVERLAP[overlap]])
    assert "VNIR and SWIR overlap from 902 to 925 nm" in noted(scene)


def test_another_option_is_refused(tmp_path):
    path, _ = write_enmap(tmp_path)
    refused(path, overlap="uv")
    path, _ = write_desis(tmp_path)
    refused(path, overlap="vnir")


def test_a_band_of_no_detector_is_bad(tmp_path):
    path, sidecar = write_enmap(tmp_path)
    sidecar.write_text(metadata().replace(f",{SWIR[-1]}</expected", "</expected"))
    scene = read_scene(path)
    assert scene.good_band.values.tolist() == [True] * 4 + [False] * 2


def test_no_band_is_empty_without_reason(tmp_path):
    path, _ = write_enmap(tmp_path, stored_values(empty=False))
    assert "good_band" not in read_scene(path).coords
    # All of a sample outside the swath, and no no-data value.
    nothing = np.full((8, 6, 5), NODATA, dtype="int16")
    scene = read_scene(write_enmap(tmp_path, nothing)[0])
    assert "good_band" not in scene.coords


def test_empty_bands_of_a_large_image_are_found_in_a_sample(tmp_path):
    values = np.random.default_rng(0).integers(1, 9, (8, 100, 90)).astype("int16")
    values[2] = NODATA
    # Between the windows of the sample, of 16 by 16 pixels.
    values[2, 30:40] = 5
    path, _ = write_enmap(tmp_path, values)
    scene = read_scene(path, overlap="both")
    assert np.flatnonzero(~scene.good_band.values).tolist() == [2]


def test_bands_in_any_order_in_the_metadata(tmp_path):
    path, _ = write_enmap(tmp_path, order=[3, 1, 2, 8, 7, 6, 5, 4])
    scene = read_scene(path, overlap="both")
    assert scene.wavelength.values.tolist() == WAVELENGTH
    assert scaling_of(scene)[0].tolist() == GAIN


@pytest.mark.parametrize("name", WRITERS)
def test_an_image_that_is_scaled_already(tmp_path, name):
    """Other software writes reflectance under the name of the product."""
    values = stored_values() * np.float32(1e-4)
    path, _ = WRITERS[name](tmp_path, values, image={"nodata": -3.2768})
    scene = read_scene(path)
    assert (scaling_of(scene)[0] == 1).all()
    assert scene.wavelength.values[-1] == WAVELENGTH[-1]
    assert "the values are float32: they are assumed" in noted(scene)
    assert "its sidecar -32768" in noted(scene)


def test_radiance(tmp_path):
    path, _ = write_enmap(tmp_path, stem=ENMAP.replace("L2A", "L1C"), level="L1C")
    scene = read_scene(path)
    assert scene.name == "radiance"
    assert "radiances at the sensor (level L1C)" in noted(scene)
    path, _ = write_desis(tmp_path, stem=DESIS.replace("L2A", "L1C"))
    assert "radiances at the sensor" in noted(read_scene(path))


def test_metadata_without_gains(tmp_path):
    path, _ = write_enmap(tmp_path, gains=False)
    assert "has no gains" in noted(read_scene(path))


@pytest.mark.parametrize("declared", ["sidecar", "nowhere"])
def test_a_no_data_value_that_the_image_does_not_declare(product, declared):
    _, paths = product
    write_image(paths["image"], stored_values(), nodata=None)
    if declared == "nowhere":
        text = paths["sidecar"].read_text()
        text = text.replace(f"<backgroundValue>{NODATA}</backgroundValue>", "")
        paths["sidecar"].write_text(text.replace(f"data ignore value = {NODATA}", ""))
    scene = read_scene(paths["image"])
    assert scene.attrs["_FillValue"] == NODATA
    assert ("-32768 is assumed" in noted(scene)) == (declared == "nowhere")


@pytest.mark.parametrize(
    ("image", "sidecar", "format"),
    [
        ("SPECTRAL_IMAGE.tif", "METADATA.XML", "enmap"),
        ("my-SPECTRAL_IMAGE.TIF", "my-METADATA.xml", "enmap"),
        ("my-spectral_image.tif", "my-metadata.xml", "enmap"),
        ("my-SPECTRAL_IMAGE_COG.tiff", "my-METADATA.XML", "enmap"),
        ("my-SPECTRAL_IMAGE.tif", "my-SPECTRAL_IMAGE.hdr", "desis"),
        ("hyperspectral_image.tif", "hyperMETADATA.XML", "geotiff"),
        ("SPECTRAL_IMAGE_2.tif", "METADATA.XML", "geotiff"),
    ],
)
def test_names(tmp_path, image, sidecar, format):
    (tmp_path / image).touch()
    (tmp_path / sidecar).touch()
    assert format_of(tmp_path / image) == format


def test_a_header_of_its_own_data_file_describes_no_other(tmp_path):
    """A GeoTIFF that was exported beside an ENVI file may hold scaled values."""
    path, header = write_desis(tmp_path, stem="flight")
    header.with_suffix(".img").write_bytes(stored_values().tobytes())
    header.write_text(header.read_text().replace("interleave = bip", "interleave = bsq"))
    scene = read_scene(path)
    assert "band_gain" not in scene.coords
    assert "is missing" in noted(scene)


def test_an_image_of_envi(tmp_path):
    """DLR delivers EnMAP as band-sequential files, too, with an ENVI header."""
    values = stored_values()
    stem = tmp_path / f"{ENMAP}-SPECTRAL_IMAGE"
    independent.save_image(
        f"{stem}.HDR", values.transpose(1, 2, 0), interleave="bsq", ext=".BSQ", dtype="int16"
    )
    sidecar = tmp_path / f"{ENMAP}-METADATA.XML"
    sidecar.write_text(metadata())
    for path in (f"{stem}.HDR", f"{stem}.BSQ", sidecar, tmp_path):
        scene = read_scene(path, overlap="both")
        np.testing.assert_array_equal(scene.values, values)
        np.testing.assert_array_equal(scaling_of(scene), [GAIN, OFFSET])
        assert scene.good_band.values.tolist() == [True] * 6 + [False, True]
    assert read_scene(sidecar).chunks is not None
    sidecar.unlink()
    assert "is missing" in noted(read_scene(f"{stem}.HDR"))


def test_two_products_in_a_folder(tmp_path):
    write_enmap(tmp_path)
    write_desis(tmp_path)
    refused(tmp_path)
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty")


def test_a_sidecar_without_its_image(product):
    _, paths = product
    paths["image"].unlink()
    refused(paths["sidecar"])


@pytest.mark.parametrize("numbers", ["", "1,2,4,9", "1-6", "1,2,,4"])
def test_lists_of_detectors_that_cannot_be_used(tmp_path, numbers):
    path, sidecar = write_enmap(tmp_path)
    sidecar.write_text(metadata().replace("1,2,4,6", numbers))
    refused(path, overlap="swir")
    scene = read_scene(path)
    assert scene.sizes["band"] == 8
    assert "does not say which detector a band belongs to" in noted(scene)
