"""Plain arrays: cubes, matrices of bands and pixels, and which axis is the bands."""

import pickle

import h5py
import numpy as np
import pytest
from checks import noted, refused
from scipy.io import savemat
from sensor_files import write_matlab_73

from selfdict.datasets import make_scene
from selfdict.files.find_cube import guess_layout
from selfdict.files.variables import Variable
from selfdict.scene import SceneError, read_scene

CUBE = np.random.default_rng(0).uniform(1, 100, (3, 4, 5))  # rows, columns, bands
EXPECTED = CUBE.transpose(2, 0, 1)
Y = CUBE.reshape(12, 5, order="F").T  # as MATLAB's reshape(cube, [], 5)'


@pytest.mark.parametrize("version", ["5", "5 compressed", "4", "7.3", "npz"])
@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_flat_layout(tmp_path, version, dtype):
    arrays = {"Y": Y.astype(dtype), "nRow": 3.0, "nCol": 4.0}
    path = tmp_path / "scene.mat"
    if version == "npz":
        path = tmp_path / "scene.npz"
        np.savez_compressed(path, **arrays)
    elif version == "7.3":
        write_matlab_73(path, arrays)
    else:
        is_compressed = version.endswith("compressed")
        savemat(path, arrays, format=version[0], do_compression=is_compressed)
    np.testing.assert_array_equal(read_scene(path).values, EXPECTED.astype(dtype))


@pytest.mark.parametrize("kind", ["5", "7.3", "npz", "npy"])
def test_cube_layout(tmp_path, kind):
    path = tmp_path / {"npz": "scene.npz", "npy": "scene.npy"}.get(kind, "scene.mat")
    extra = {"wavelength": np.array([0.4, 0.5, 0.6, 1.0, 2.5]), "maxValue": 200.0}
    if kind == "npz":
        np.savez(path, paviaU=CUBE, **extra)
    elif kind == "npy":
        np.save(path, CUBE)
    elif kind == "5":
        savemat(path, {"paviaU": CUBE, **extra})
    else:
        write_matlab_73(path, {"paviaU": CUBE, **extra})
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, CUBE.transpose(2, 0, 1))
    if kind != "npy":
        assert scene.wavelength.values.tolist() == [400.0, 500.0, 600.0, 1000.0, 2500.0]
        np.testing.assert_allclose(scene.selfdict.matrix(), CUBE.reshape(12, 5).T / 200)


def test_cells_and_text_are_passed_over(tmp_path):
    things = {"s": {"cube": "none"}, "c": np.array([CUBE, "x"], dtype=object), "t": "text"}
    savemat(tmp_path / "a.mat", things)
    refused(tmp_path / "a.mat")
    refused(tmp_path / "a.mat", variable="s")
    savemat(tmp_path / "b.mat", things | {"cube": CUBE})
    np.testing.assert_array_equal(read_scene(tmp_path / "b.mat").values, CUBE.transpose(2, 0, 1))


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_damaged_files_of_numpy_are_called_that(tmp_path, suffix):
    whole = tmp_path / f"whole{suffix}"
    if suffix == ".npy":
        np.save(whole, CUBE)
    else:
        np.savez(whole, cube=CUBE)
    for data in (whole.read_bytes()[:-40], whole.read_bytes()[:20], b"hello", b""):
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(data)
        with pytest.raises(SceneError, match=r"is cut short|is not a NumPy file") as caught:
            read_scene(path)
        assert "pickle" not in str(caught.value)


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "scene.npy"
    np.save(path, np.array([print], dtype=object), allow_pickle=True)
    refused(path)
    path.write_bytes(pickle.dumps(CUBE))
    refused(path)
    np.savez(tmp_path / "scene.npz", cube=np.full((1, 1, 1), print, dtype=object))
    refused(tmp_path / "scene.npz")


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [("Y", "nRow", "nCol"), ("V", "H", "W"), ("data", "lines", "samples"), ("Y", "M", "N")],
)
def test_size_of_the_image(tmp_path, name, rows, columns):
    # The truth of such a file also has one column per pixel, and as many rows as materials.
    arrays = {name: Y, rows: 3, columns: 4.0, "E": np.ones((5, 2)), "labels": np.ones((1, 12))}
    savemat(tmp_path / "a.mat", arrays)
    scene = read_scene(tmp_path / "a.mat")
    np.testing.assert_array_equal(scene.values, EXPECTED)
    assert f"{name} has one column per pixel" in noted(scene)
    assert f"the size of the image is {rows} 3 × {columns} 4" in noted(scene)


def test_size_given(tmp_path):
    savemat(tmp_path / "a.mat", {"X": Y, "E": np.ones((5, 2))})
    refused(tmp_path / "a.mat")
    scene = read_scene(tmp_path / "a.mat", shape=(3, 4))
    np.testing.assert_array_equal(scene.values, EXPECTED)
    assert "the size of the image is shape 3 × 4" in noted(scene)
    # It comes before what the file says.
    savemat(tmp_path / "b.mat", {"Y": Y, "nRow": 4, "nCol": 3})
    np.testing.assert_array_equal(read_scene(tmp_path / "b.mat", shape=(3, 4)).values, EXPECTED)
    np.savez(tmp_path / "c.npz", X=Y)
    np.testing.assert_array_equal(read_scene(tmp_path / "c.npz", shape=(3, 4)).values, EXPECTED)


def test_pixels_as_rows(tmp_path):
    savemat(tmp_path / "a.mat", {"X": Y.T, "H": 3, "W": 4})
    scene = read_scene(tmp_path / "a.mat")
    np.testing.assert_array_equal(scene.values, EXPECTED)
    assert "X has one row per pixel" in noted(scene)


def test_a_cube_beside_a_matrix(tmp_path):
    """The matrix V of a cube may be anything, such as eigenvectors."""
    savemat(tmp_path / "a.mat", {"cube": CUBE, "V": np.eye(5), "m": 2.5})
    scene = read_scene(tmp_path / "a.mat", layout="y x band")
    np.testing.assert_array_equal(scene.values, EXPECTED)


def smooth_cube(n_rows, n_columns):
    """Return smooth maps of two materials with noise (rows, columns, bands)."""
    rows, columns = np.mgrid[0:n_rows, 0:n_columns]
    share = 0.5 + 0.5 * np.sin(rows / 5) * np.cos(columns / 9)
    noise = np.random.default_rng(0).normal(0, 0.02, (n_rows, n_columns, 6))
    return share[:, :, None] * np.linspace(0.2, 0.9, 6) + noise


@pytest.mark.parametrize("shape", [(30, 50), (12, 90)])
@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("suffix", [".mat", ".npz"])
def test_the_order_of_the_pixels_is_the_smoother_one(tmp_path, shape, order, suffix):
    cube = smooth_cube(*shape)
    path = tmp_path / f"a{suffix}"
    arrays = {"Y": cube.reshape(-1, 6, order=order).T, "nRow": shape[0], "nCol": shape[1]}
    if suffix == ".mat":
        savemat(path, arrays)
    else:
        np.savez(path, **arrays)
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, cube.transpose(2, 0, 1))
    assert "smoother" in noted(scene)
    # The other order can be forced.
    assert f"layout='{'row' if order == 'F' else 'column'}-major'" in noted(scene)
    other = "C" if order == "F" else "F"
    layout = "row-major" if other == "C" else "column-major"
    expected = arrays["Y"].T.reshape(*shape, 6, order=other)
    forced = read_scene(path, layout=layout)
    np.testing.assert_array_equal(forced.values, expected.transpose(2, 0, 1))


def test_noise_does_not_tell_the_order(tmp_path):
    cube = np.random.default_rng(0).random((20, 30, 5))
    savemat(tmp_path / "a.mat", {"Y": cube.reshape(-1, 5, order="F").T, "nRow": 20, "nCol": 30})
    scene = read_scene(tmp_path / "a.mat")
    np.testing.assert_array_equal(scene.values, cube.transpose(2, 0, 1))
    assert "a guess" in noted(scene)
    refused(tmp_path / "a.mat", layout="y x band")


def test_other_arrays_are_named(tmp_path):
    savemat(tmp_path / "two.mat", {"hsi": CUBE, "rgb": CUBE[:, :, :3], "wavelength": np.arange(5)})
    assert "read: hsi; variable=… reads another array: rgb (3, 4, 3)" in noted(
        read_scene(tmp_path / "two.mat")
    )


SCENE = make_scene((24, 30), n_bands=40, n_endmembers=4, border=0, random_state=0).scene.values
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
    stored = SCENE.transpose(ORDERS[axis])
    scene = read_scene(write(tmp_path / f"cube{suffix}", stored))
    np.testing.assert_array_equal(scene.values, SCENE)
    assert f"taken as {NAMES[axis]}: spectra along the {axis} axis" in noted(scene)


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5"])
@pytest.mark.parametrize("axis", ORDERS)
def test_as_many_bands_as_wavelengths(tmp_path, suffix, axis):
    noise = np.random.default_rng(0).random((9, 10, 11)).transpose(ORDERS[axis])
    scene = read_scene(
        write(tmp_path / f"cube{suffix}", noise, wavelength=np.linspace(400.0, 900.0, 9))
    )
    assert scene.sizes["band"] == 9
    assert f"taken as {NAMES[axis]}: as many bands as wavelengths" in noted(scene)


@pytest.mark.parametrize("shape", [(12, 13, 14), (3, 40, 50)])
def test_a_guess_is_called_one(tmp_path, shape):
    path = write(tmp_path / "cube.npy", np.random.default_rng(0).random(shape))
    scene = read_scene(path)
    assert scene.sizes["band"] == shape[2]
    assert "y, x, band, which is a guess" in noted(scene)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".h5"])
def test_layout_has_the_last_word(tmp_path, suffix):
    path = write(tmp_path / f"cube{suffix}", SCENE)
    last = read_scene(path, layout="bands-last")
    np.testing.assert_array_equal(last.values, SCENE.transpose(2, 0, 1))
    np.testing.assert_array_equal(read_scene(path, layout="bands-first").values, SCENE)
    np.testing.assert_array_equal(read_scene(path, layout="band y x").values, SCENE)
    refused(path, layout="bands-middle")


@pytest.mark.parametrize("fill", [-9999.0, np.nan, np.inf])
def test_fill_values_do_not_decide(fill):
    values = SCENE.copy()
    values[:, :6, :] = fill
    names, _ = guess_layout(Variable.of("cube", values), None)
    assert names == ("band", "y", "x")


@pytest.mark.parametrize("values", [np.zeros((10, 11, 12)), np.full((10, 11, 12), 7)])
def test_equal_values_tell_nothing(values):
    assert "a guess" in guess_layout(Variable.of("cube", values), None)[1]


def test_complex_numbers_are_refused(tmp_path):
    np.save(tmp_path / "cube.npy", SCENE.astype(complex))
    refused(tmp_path / "cube.npy")


def test_chunks_of_whole_images_are_not_unpacked_for_it(tmp_path):
    # 64 of them are 512 MiB; only the first is stored.
    with h5py.File(tmp_path / "cube.h5", "w") as file:
        shape = (64, 1024, 2048)
        cube = file.create_dataset("cube", shape, "f4", chunks=(1, 1024, 2048), compression="gzip")
        cube[0] = 1.0
    assert "a guess" in noted(read_scene(tmp_path / "cube.h5"))
