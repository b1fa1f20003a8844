"""NEON AOP: scale factor, water vapour windows, and the map information of ENVI."""

import numpy as np
from sensor_files import NEON_WAVELENGTH, write_neon

from selfdict.scene import crs_of, read_scene, transform_of

SPECTRAL = "SERC/Reflectance/Metadata/Spectral_Data"
COORDINATES = "SERC/Reflectance/Metadata/Coordinate_System"


def stored(seed=0, shape=(4, 5, 6)):
    values = np.random.default_rng(seed).integers(1, 9000, shape).astype(np.int16)
    values[1, 2] = -9999
    return values


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
        "the file has no Map_Info: there are no map coordinates",
        "the file marks no bands as bad",
    ]


def test_crs_of_the_map_information(tmp_path):
    scene = read_scene(write_neon(tmp_path / "neon.h5", change={f"{COORDINATES}/EPSG Code": None}))
    assert crs_of(scene).to_epsg() == 32618
