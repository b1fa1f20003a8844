"""NEON AOP: scale factor, water vapour windows, and the map information of ENVI."""

import numpy as np
from sensor_files import NEON_WAVELENGTH, write_neon

from selfdict.scene import crs_of, matrix, read_scene, transform_of, unmix, valid_mask

SPECTRAL = "SERC/Reflectance/Metadata/Spectral_Data"
COORDINATES = "SERC/Reflectance/Metadata/Coordinate_System"


def stored(seed=0, shape=(4, 5, 6)):
    values = np.random.default_rng(seed).integers(1, 9000, shape).astype(np.int16)
    values[1, 2] = -9999
    return values


def test_everything_the_file_says(tmp_path):
    values = stored()
    scene = read_scene(write_neon(tmp_path / "neon.h5", values))
    assert scene.dims == ("band", "y", "x")
    np.testing.assert_array_equal(scene.values, values.transpose(2, 0, 1))
    np.testing.assert_array_equal(scene.wavelength.values, NEON_WAVELENGTH.astype(float))
    np.testing.assert_allclose(scene.fwhm.values, np.linspace(5.5, 6.5, 6), rtol=1e-6)
    # both ends of a window belong to it
    assert scene.good_band.values.tolist() == [True, True, False, False, False, True]
    assert crs_of(scene).to_epsg() == 32618
    assert transform_of(scene).to_gdal() == (368000.0, 1.0, 0.0, 4307000.0, 0.0, -1.0)
    valid = np.ones((4, 5), dtype=bool)
    valid[1, 2] = False
    np.testing.assert_array_equal(valid_mask(scene).values, valid)
    np.testing.assert_allclose(matrix(scene), values[valid].T / 10000, rtol=1e-6)
    assert scene.attrs["selfdict_notes"] == [
        "the bands in the water vapour windows 1340–1445 nm and 1790–1955 nm are marked as bad"
    ]


def test_values_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("selfdict.files.lazy.BLOCK_BYTES", 100)
    values = stored(1, (7, 8, 6))
    path = write_neon(tmp_path / "neon.h5", values, chunks=(3, 4, 2), compression="gzip")
    scene = read_scene(path)
    assert scene.data.numblocks == (1, 3, 2)
    np.testing.assert_array_equal(scene.values, values.transpose(2, 0, 1))
    np.testing.assert_array_equal(scene.isel(y=5, x=[7, 0]).values, values[5, [7, 0]].T)


def test_falling_wavelengths_are_turned_round(tmp_path):
    values = stored()
    change = {f"{SPECTRAL}/Wavelength": NEON_WAVELENGTH[::-1]}
    scene = read_scene(write_neon(tmp_path / "neon.h5", values, change=change))
    np.testing.assert_array_equal(scene.wavelength.values, NEON_WAVELENGTH.astype(float))
    np.testing.assert_array_equal(scene.values, values[:, :, ::-1].transpose(2, 0, 1))
    np.testing.assert_allclose(scene.fwhm.values, np.linspace(6.5, 5.5, 6), rtol=1e-6)
    notes = scene.attrs["selfdict_notes"]
    assert any("in the order of rising wavelength" in note for note in notes)
    # the dataset that replaced the other one has no unit
    assert any("400.5 to 2400 are taken as nm" in note for note in notes)


def test_what_may_be_missing(tmp_path):
    change = dict.fromkeys(
        [f"{COORDINATES}/Map_Info", f"{COORDINATES}/EPSG Code", f"{SPECTRAL}/FWHM"]
    )
    path = write_neon(tmp_path / "neon.h5", change=change, windows=False)
    scene = read_scene(path)
    assert crs_of(scene) is None
    assert transform_of(scene) is None
    assert not {"fwhm", "good_band"} & set(scene.coords)
    assert scene.attrs["selfdict_notes"] == [
        "the file marks no bands as bad",
        "the file has no Map_Info: there are no map coordinates",
    ]


def test_crs_of_the_map_information(tmp_path):
    scene = read_scene(write_neon(tmp_path / "neon.h5", change={f"{COORDINATES}/EPSG Code": None}))
    assert crs_of(scene).to_epsg() == 32618


def test_the_cube_may_be_named(tmp_path):
    path = write_neon(tmp_path / "neon.h5")
    named = read_scene(path, variable="/SERC/Reflectance/Reflectance_Data")
    assert named.attrs["scale_factor"] == 0.0001


def test_unmixing(tmp_path):
    scene = read_scene(write_neon(tmp_path / "neon.h5"))
    result = unmix(scene, 2, method="spa")
    assert result.n_valid == 19
    assert result.endmembers.wavelength.values.tolist() == [400.5, 800.0, 2400.0]
