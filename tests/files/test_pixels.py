"""Matrices of bands and pixels in MATLAB files, with the size of the image under many names."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from selfdict.scene import SceneError, read_scene
from selfdict.scene.metadata import notes_of

CUBE = np.random.default_rng(0).uniform(1, 100, (3, 4, 5))  # rows, columns, bands
Y = CUBE.reshape(12, 5, order="F").T  # as MATLAB's reshape(cube, [], 5)'
EXPECTED = CUBE.transpose(2, 0, 1)

NAMES = [
    ("nRow", "nCol"),
    ("nrows", "ncols"),
    ("H", "W"),
    ("height", "width"),
    ("lines", "cols"),
    ("lines", "samples"),
    ("rows", "cols"),
    ("rows", "columns"),
    ("Row", "Col"),
    ("nr", "nc"),
    ("Nr", "Nc"),
    ("m", "n"),
    ("M", "N"),
    ("ny", "nx"),
]


@pytest.mark.parametrize(("rows", "columns"), NAMES)
@pytest.mark.parametrize("name", ["Y", "V", "data"])
def test_size_of_the_image(tmp_path, name, rows, columns):
    # The truth of such a file also has one column per pixel, and as many rows as materials.
    arrays = {name: Y, rows: 3, columns: 4.0, "E": np.ones((5, 2)), "labels": np.ones((1, 12))}
    savemat(tmp_path / "a.mat", arrays)
    scene = read_scene(tmp_path / "a.mat")
    np.testing.assert_array_equal(scene.values, EXPECTED)
    assert notes_of(scene) == [
        f"{name} has one column per pixel, counted down the columns of the image, as in MATLAB, "
        "which is a guess; layout='row-major' takes the rows; "
        f"the size of the image is {rows} 3 × {columns} 4"
    ]


def test_size_given(tmp_path):
    savemat(tmp_path / "a.mat", {"X": Y, "E": np.ones((5, 2))})
    with pytest.raises(SceneError):
        read_scene(tmp_path / "a.mat")
    scene = read_scene(tmp_path / "a.mat", shape=(3, 4))
    np.testing.assert_array_equal(scene.values, EXPECTED)
    assert "the size of the image is shape 3 × 4" in notes_of(scene)[0]
    # It comes before what the file says.
    savemat(tmp_path / "b.mat", {"Y": Y, "nRow": 4, "nCol": 3})
    np.testing.assert_array_equal(read_scene(tmp_path / "b.mat", shape=(3, 4)).values, EXPECTED)
    np.savez(tmp_path / "c.npz", X=Y)
    np.testing.assert_array_equal(read_scene(tmp_path / "c.npz", shape=(3, 4)).values, EXPECTED)


def test_a_matrix_by_name_among_others(tmp_path):
    savemat(tmp_path / "a.mat", {"X": Y, "A": np.ones((2, 12)), "rows": 3, "cols": 4})
    with pytest.raises(SceneError):
        read_scene(tmp_path / "a.mat")
    np.testing.assert_array_equal(read_scene(tmp_path / "a.mat", variable="X").values, EXPECTED)


def test_pixels_as_rows(tmp_path):
    savemat(tmp_path / "a.mat", {"X": Y.T, "H": 3, "W": 4})
    scene = read_scene(tmp_path / "a.mat")
    np.testing.assert_array_equal(scene.values, EXPECTED)
    assert "X has one row per pixel" in notes_of(scene)[0]


def test_a_cube_beside_a_matrix(tmp_path):
    """The matrix V of a cube may be anything, such as eigenvectors."""
    savemat(tmp_path / "a.mat", {"cube": CUBE, "V": np.eye(5), "m": 2.5})
    scene = read_scene(tmp_path / "a.mat", layout="y x band")
    np.testing.assert_array_equal(scene.values, EXPECTED)


def test_shape_is_for_matrices(tmp_path):
    np.save(tmp_path / "a.npy", CUBE)
    with pytest.raises(SceneError):
        read_scene(tmp_path / "a.npy", shape=(3, 4))


def test_scale_wavelengths_and_their_notes(tmp_path):
    wavelength = np.array([2.5, 1.0, 0.6, 0.5, 0.4])
    savemat(tmp_path / "a.mat", {"Y": Y, "H": 3, "W": 4, "maxValue": 200.0, "wl": wavelength})
    scene = read_scene(tmp_path / "a.mat")
    assert scene.wavelength.values.tolist() == [400.0, 500.0, 600.0, 1000.0, 2500.0]
    np.testing.assert_array_equal(scene.values, EXPECTED[::-1])
    assert scene.attrs["scale_factor"] == 1 / 200
    notes = notes_of(scene)
    assert "values are divided by maxValue, 200" in notes
    assert "the file names no unit of its wavelengths: 0.4 to 2.5 are taken as um" in notes
    assert any("order of rising wavelength" in note for note in notes)


def test_version_7_3_and_version_4(tmp_path):
    with h5py.File(tmp_path / "a.mat", "w") as file:
        for name, value in {"X": Y, "lines": 3.0, "cols": 4.0}.items():
            file[name] = np.atleast_2d(value).T
    np.testing.assert_array_equal(read_scene(tmp_path / "a.mat").values, EXPECTED)
    savemat(tmp_path / "b.mat", {"X": Y, "nr": 3.0, "nc": 4.0}, format="4")
    np.testing.assert_array_equal(read_scene(tmp_path / "b.mat").values, EXPECTED)


def smooth_cube(n_rows, n_columns):
    """Return smooth maps of two materials with noise (rows, columns, bands)."""
    rows, columns = np.mgrid[0:n_rows, 0:n_columns]
    share = 0.5 + 0.5 * np.sin(rows / 5) * np.cos(columns / 9)
    noise = np.random.default_rng(0).normal(0, 0.02, (n_rows, n_columns, 6))
    return share[:, :, None] * np.linspace(0.2, 0.9, 6) + noise


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (12, 90)])
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
    (note,) = notes_of(scene)
    assert "smoother" in note
    # The other order can be forced.
    assert f"layout='{'row' if order == 'F' else 'column'}-major'" in note
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
    assert "a guess" in notes_of(scene)[0]
    with pytest.raises(SceneError):
        read_scene(tmp_path / "a.mat", layout="y x band")
