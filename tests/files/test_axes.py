"""Which axis of a plain array is the bands: by wavelengths, by the values, or by a guess."""

import h5py
import numpy as np
import pytest
from refusal import refused
from scipy.io import savemat

from selfdict.datasets import make_scene
from selfdict.files.find_cube import guess_layout
from selfdict.files.variables import Variable
from selfdict.scene import read_scene

CUBE = make_scene((24, 30), n_bands=40, n_endmembers=4, border=0, random_state=0).scene.values
ORDERS = {"first": (0, 1, 2), "second": (1, 0, 2), "third": (1, 2, 0)}
NAMES = {"first": "band, y, x", "second": "y, band, x", "third": "y, x, band"}


def write(path, values, **extra):
    """Write an array in the format of the file's name."""
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".npz":
        np.savez(path, cube=values, **extra)
    elif path.suffix == ".mat":
        savemat(path, {"cube": values, **extra})
    else:
        with h5py.File(path, "w") as file:
            for name, value in {"cube": values, **extra}.items():
                file[name] = value
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".h5"])
@pytest.mark.parametrize("axis", ORDERS)
def test_the_values_tell_the_band_axis(tmp_path, suffix, axis):
    stored = CUBE.transpose(ORDERS[axis])
    scene = read_scene(write(tmp_path / f"cube{suffix}", stored))
    np.testing.assert_array_equal(scene.values, CUBE)
    sizes = " × ".join(map(str, stored.shape))
    assert (
        f"the axes {sizes} are taken as {NAMES[axis]}: spectra along the {axis} axis are most "
        "alike; layout=… takes another"
    ) in scene.attrs["selfdict_notes"]


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5"])
@pytest.mark.parametrize("axis", ORDERS)
def test_as_many_bands_as_wavelengths(tmp_path, suffix, axis):
    noise = np.random.default_rng(0).random((9, 10, 11)).transpose(ORDERS[axis])
    scene = read_scene(
        write(tmp_path / f"cube{suffix}", noise, wavelength=np.linspace(400.0, 900.0, 9))
    )
    assert scene.sizes["band"] == 9
    sizes = " × ".join(map(str, noise.shape))
    assert (
        f"the axes {sizes} are taken as {NAMES[axis]}: as many bands as wavelengths"
        in scene.attrs["selfdict_notes"]
    )


@pytest.mark.parametrize("shape", [(12, 13, 14), (3, 40, 50)])
def test_a_guess_is_called_one(tmp_path, shape):
    path = write(tmp_path / "cube.npy", np.random.default_rng(0).random(shape))
    scene = read_scene(path)
    assert scene.sizes["band"] == shape[2]
    (note,) = scene.attrs["selfdict_notes"]
    assert "y, x, band, which is a guess" in note


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".h5"])
def test_layout_has_the_last_word(tmp_path, suffix):
    path = write(tmp_path / f"cube{suffix}", CUBE)
    last = read_scene(path, layout="bands-last")
    np.testing.assert_array_equal(last.values, CUBE.transpose(2, 0, 1))
    np.testing.assert_array_equal(read_scene(path, layout="bands-first").values, CUBE)
    np.testing.assert_array_equal(read_scene(path, layout="band y x").values, CUBE)
    refused(path, layout="bands-middle")


@pytest.mark.parametrize("fill", [-9999.0, np.nan, np.inf])
def test_fill_values_do_not_decide(fill):
    values = CUBE.copy()
    values[:, :6, :] = fill
    names, _ = guess_layout(Variable.of("cube", values), None)
    assert names == ("band", "y", "x")


@pytest.mark.parametrize("values", [np.zeros((10, 11, 12)), np.full((10, 11, 12), 7)])
def test_equal_values_tell_nothing(values):
    assert "a guess" in guess_layout(Variable.of("cube", values), None)[1]


def test_complex_numbers_are_refused(tmp_path):
    np.save(tmp_path / "cube.npy", CUBE.astype(complex))
    refused(tmp_path / "cube.npy")


def test_chunks_of_whole_images_are_not_unpacked_for_it(tmp_path):
    # 64 of them are 512 MiB; only the first is stored.
    with h5py.File(tmp_path / "cube.h5", "w") as file:
        shape = (64, 1024, 2048)
        cube = file.create_dataset("cube", shape, "f4", chunks=(1, 1024, 2048), compression="gzip")
        cube[0] = 1.0
    assert any(
        "a guess" in note for note in read_scene(tmp_path / "cube.h5").attrs["selfdict_notes"]
    )
