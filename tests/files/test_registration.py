"""Formats and products that others register are read in the reader process."""

import os

import h5py
import misbehaving  # noqa: F401  (registers its format)
import my_sensor  # noqa: F401  (registers its product)
import numpy as np
import pytest
from checks import refused

from selfdict import InputError
from selfdict.files.formats import format_of
from selfdict.scene import SceneError, read_scene, write_scene

VALUES = np.random.default_rng(0).integers(1, 1000, (4, 3, 5)).astype("int16")


def write(path, **change):
    with h5py.File(path, "w") as file:
        cube = file.create_dataset("flight/scan", data=VALUES)
        cube.attrs["widths"] = [0.01, 0.02, 0.03]
        cube.attrs["counts_per_unit"] = 100.0
        cube.attrs["empty"] = -1.0
        file["bands/centres"] = [0.4, 0.5, 0.6]
        for name, value in change.items():
            file[name] = value
    return path


@pytest.mark.parametrize("suffix", [".h5", ".nc"])
def test_a_product_is_a_table(tmp_path, suffix):
    scene = read_scene(write(tmp_path / f"flight{suffix}"), ortho=False)
    np.testing.assert_array_equal(scene.values, VALUES.transpose(1, 0, 2))
    assert scene.wavelength.values.tolist() == [400.0, 500.0, 600.0]
    assert scene.fwhm.values.tolist() == [10.0, 20.0, 30.0]
    assert scene.attrs["scale_factor"] == 0.01
    assert scene.attrs["_FillValue"] == -1
    assert scene.name == "radiance"
    assert scene.attrs["selfdict_notes"][0] == "ortho is False"


def test_another_product_of_the_sensor_is_refused(tmp_path):
    refused(write(tmp_path / "lamp.h5", calibration=1.0))


def test_options_that_a_product_has_not_are_refused(tmp_path):
    refused(write(tmp_path / "flight.h5"), overlap="vnir")


def test_a_format(tmp_path):
    path = tmp_path / "cube.BAD"
    path.write_text("fine")
    assert format_of(path) == "misbehaving"
    assert (read_scene(path).values != os.getpid()).all()
    refused(path, nonsense=1)
    with pytest.raises(SceneError):
        write_scene(read_scene(path), tmp_path / "other.bad")
    with pytest.raises(InputError):
        read_scene(path, format="nonsense")
