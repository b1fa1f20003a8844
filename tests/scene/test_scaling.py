"""A gain and an offset per band: applied where numbers are computed with, kept by every format."""

import warnings

import numpy as np
import pytest
import rasterio
import rioxarray
import spectral.io.envi as independent
import xarray as xr
from scene_sample import assert_same, full_scene

from selfdict import InputError
from selfdict.scene import (
    SceneError,
    as_scene,
    build_scene,
    matrix,
    read_scene,
    valid_mask,
    write_scene,
)
from selfdict.scene.metadata import add_notes, notes_of, scaling_of, with_scaling

GAIN = np.array([1e-4, 2e-4, 0.5, 1 / 3, 1.0])
OFFSET = np.array([0.0, 0.01, -2.0, 0.1, 0.0])


def scaled_scene(dtype="int16", gain=GAIN, offset=OFFSET, nodata=-1):
    return with_scaling(full_scene(dtype, nodata), gain, offset)


def physical(scene):
    """Return the physical values by the definition, in float64."""
    gain, offset = scaling_of(scene)
    return scene.values * gain[:, None, None] + offset[:, None, None]


def test_numbers_that_all_bands_share_are_attributes():
    scene = build_scene(np.ones((2, 3, 4)), scale_factor=[0.5, 0.5], add_offset=[1.0, 1.0])
    assert scene.attrs == {"scale_factor": 0.5, "add_offset": 1.0}
    assert "band_gain" not in scene.coords
    scene = build_scene(np.ones((2, 3, 4)), scale_factor=[0.5, 0.25])
    assert scene.attrs == {}
    assert scene["band_gain"].values.tolist() == [0.5, 0.25]
    # They follow a selection of bands.
    assert scaling_of(scene.isel(band=[1]))[0].tolist() == [0.25]


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("drop", [False, True])
def test_the_matrix_holds_physical_values(dtype, drop):
    scene = scaled_scene(dtype)
    M = matrix(scene, drop_bad_bands=drop)
    used = scene.good_band.values | (not drop)
    valid = (scene.values != -1).all(axis=0)
    expected = physical(scene)[used][:, valid]
    np.testing.assert_allclose(M, expected, rtol=1e-5)
    assert M.dtype == (np.float64 if dtype == "float64" else np.float32)


def test_no_data_is_compared_with_stored_values():
    values = np.array([[[-1.0, 5.0, 4.0]], [[7.0, 6.0, 3.0]]], dtype=np.float32)
    # The physical value of a good pixel equals the no-data value, and that of a bad one does not.
    scene = build_scene(values, nodata=-1, scale_factor=[1.0, 2.0], add_offset=[-6.0, 0.0])
    assert physical(scene)[0, 0].tolist() == [-7.0, -1.0, -2.0]
    assert valid_mask(scene).values.tolist() == [[False, True, True]]
    # nor are values that overflow
    scene = build_scene(np.full((2, 1, 1), 1e30, dtype=np.float32), scale_factor=[1.0, 1e30])
    assert not valid_mask(scene).values.any()


SUFFIXES = [".hdr", ".tif", ".nc", ".zarr"]
# no reciprocal of 0.3 is a number
SCALES = [(GAIN, OFFSET), (GAIN, None), (None, OFFSET), (1e-4, None), (0.3, None), (-1.0, 3.0)]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("scale", SCALES)
def test_what_is_written_is_read_back_equal(tmp_path, suffix, scale):
    scene = scaled_scene("int16", *scale)
    read = read_scene(write_scene(scene, tmp_path / f"cube{suffix}"))
    assert_same(read, scene)
    np.testing.assert_array_equal(scaling_of(read), scaling_of(scene))
    np.testing.assert_array_equal(matrix(read), matrix(scene))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_mask_and_a_part_keep_the_gains(tmp_path, suffix):
    scene = scaled_scene()
    mask = np.zeros((6, 7), dtype=bool)
    mask[3, 2:5] = True
    path = write_scene(scene, tmp_path / f"cube{suffix}")
    part = read_scene(path, bands=[0, 1, 3, 4], mask=mask, roi=(slice(1, 6), slice(2, 7)))
    expected = physical(scene)[[0, 1, 3, 4], 1:6, 2:7]
    valid = ~mask[1:6, 2:7] & (scene.values[:, 1:6, 2:7] != -1).all(axis=0)
    np.testing.assert_allclose(matrix(part), expected[:, valid], rtol=1e-5)
    again = read_scene(write_scene(part, tmp_path / f"part{suffix}"))
    np.testing.assert_array_equal(matrix(again), matrix(part))


def test_gdal_and_spectral_see_the_same_scale(tmp_path):
    scene = scaled_scene()
    write_scene(scene, tmp_path / "cube.hdr")
    write_scene(scene, tmp_path / "cube.tif")
    for name in ("cube.img", "cube.tif"):
        with rasterio.open(tmp_path / name) as image:
            np.testing.assert_array_equal(image.scales, GAIN)
            np.testing.assert_array_equal(image.offsets, OFFSET)
    header = independent.read_envi_header(tmp_path / "cube.hdr")
    np.testing.assert_array_equal([float(gain) for gain in header["data gain values"]], GAIN)


def test_scales_as_rioxarray_has_them(tmp_path):
    scene = scaled_scene()
    path = write_scene(scene, tmp_path / "cube.tif")
    with warnings.catch_warnings():
        # That the scales differ, and about a library that it uses.
        warnings.simplefilter("ignore")
        opened = rioxarray.open_rasterio(path)
    np.testing.assert_array_equal(scaling_of(as_scene(opened)), scaling_of(scene))
    np.testing.assert_array_equal(matrix(opened), matrix(scene))
    # After a selection it cannot be told which of the numbers belong to the bands left.
    with pytest.raises(InputError):
        matrix(opened.isel(band=[0, 1]))


def test_two_statements_about_one_number_are_refused(tmp_path):
    scene = scaled_scene()
    scene.attrs["scale_factor"] = 0.5
    with pytest.raises(InputError):
        matrix(scene)
    path = write_scene(scaled_scene(), tmp_path / "cube.nc")
    with xr.open_dataset(path, mask_and_scale=False, decode_coords="all") as file:
        dataset = file.load()
    dataset["reflectance"].attrs["scale_factor"] = 0.5
    dataset.to_netcdf(tmp_path / "both.nc", engine="h5netcdf")
    with pytest.raises(SceneError):
        read_scene(tmp_path / "both.nc")


@pytest.mark.parametrize("gain", [[1.0, np.nan], [1.0, np.inf], [1.0], [[1.0, 2.0]]])
def test_gains_that_are_no_gains(gain):
    with pytest.raises(InputError):
        build_scene(np.ones((2, 3, 4)), scale_factor=gain)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_notes_are_not_written(tmp_path, suffix):
    scene = add_notes(scaled_scene(), "the unit is guessed", "the unit is guessed")
    assert notes_of(scene) == ["the unit is guessed"]
    path = write_scene(scene, tmp_path / f"cube{suffix}")
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert b"guessed" not in file.read_bytes()
    assert "the unit is guessed" not in notes_of(read_scene(path))
    # The scene itself still has them.
    assert notes_of(scene) == ["the unit is guessed"]


HEADER = (
    "ENVI\nsamples = 2\nlines = 1\nbands = 3\ndata type = 2\ninterleave = bsq\nbyte order = 0\n"
)


def read_header(folder, text):
    (folder / "cube.img").write_bytes(np.arange(1, 7, dtype="<i2").tobytes())
    (folder / "cube.hdr").write_text(HEADER + text)
    return read_scene(folder / "cube.hdr")


GAINS = "data gain values = {1, 2, 0.5}\ndata offset values = {0, 0.25, -1}\n"
ENVI_FIELDS = [
    (GAINS, [1, 2, 0.5], [0, 0.25, -1]),
    ("data gain values = {1, 2, 0.5}\n", [1, 2, 0.5], [0, 0, 0]),
    ("data offset values = {1, 2, 0.5}\n", [1, 1, 1], [1, 2, 0.5]),
    ("reflectance scale factor = 100\n", [0.01] * 3, [0, 0, 0]),
    # A factor of one is what software writes that has none. Others contradict the gains.
    (GAINS + "reflectance scale factor = 1.0\n", [1, 2, 0.5], [0, 0.25, -1]),
    (GAINS + "reflectance scale factor = 100\n", [0.01] * 3, [0, 0, 0]),
    (GAINS + "data reflectance gain values = {2, 2, 2}\n", [2, 2, 2], [0, 0, 0]),
]


@pytest.mark.parametrize(("text", "gain", "offset"), ENVI_FIELDS)
def test_scales_of_an_envi_header(tmp_path, text, gain, offset):
    scene = read_header(tmp_path, text)
    np.testing.assert_allclose(scaling_of(scene), [gain, offset], rtol=1e-15)
    expected = np.arange(1, 7).reshape(3, 2) * np.array(gain)[:, None] + np.array(offset)[:, None]
    np.testing.assert_allclose(matrix(scene), expected, rtol=1e-6)
    assert (notes_of(scene) != []) == ("data" in text)  # the usual field needs no note


def test_all_fields_of_an_envi_header_together(tmp_path):
    scene = read_header(
        tmp_path,
        GAINS + "data ignore value = 3\nbbl = {1, 0, 1}\nfwhm = {0.01, 0.02, 0.03}\n"
        "wavelength = {0.9, 0.7, 0.5}\nwavelength units = Micrometers\nband names = {c, b, a}\n",
    )
    # In the order of rising wavelength, with everything that belongs to a band.
    assert scene.wavelength.values.tolist() == [500.0, 700.0, 900.0]
    assert scene.fwhm.values.tolist() == [30.0, 20.0, 10.0]
    assert scene.band_name.values.tolist() == ["a", "b", "c"]
    assert scene.good_band.values.tolist() == [True, False, True]
    assert scene.values[:, 0].tolist() == [[5, 6], [3, 4], [1, 2]]
    assert [values.tolist() for values in scaling_of(scene)] == [[0.5, 2, 1], [-1, 0.25, 0]]
    # The stored 3 is no data, and the good bands of that pixel do not hold it.
    assert valid_mask(scene).values.tolist() == [[False, True]]
    assert matrix(scene, drop_bad_bands=True).tolist() == [[1.5, 2.0], [1.0, 2.0]]
    assert any("order of rising wavelength" in note for note in notes_of(scene))


def test_a_gain_of_zero_marks_the_band(tmp_path):
    scene = read_header(tmp_path, "data gain values = {1, 0, 2}\n")
    assert scene.good_band.values.tolist() == [True, False, True]
    assert any("1 of 3" in note for note in notes_of(scene))


def test_bands_out_of_order_stay_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 300)
    scene = full_scene("int16").isel(band=[3, 0, 4, 1, 2])
    read = read_scene(write_scene(scene, tmp_path / "cube.hdr"))
    assert read.chunks is not None
    assert_same(read, full_scene("int16"))
    assert "counted in this order" in notes_of(read)[0]
    assert read_scene(tmp_path / "cube.hdr", bands=[0]).wavelength.values.tolist() == [400.5]
