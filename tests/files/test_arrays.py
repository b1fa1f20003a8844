"""MATLAB and NumPy files: the community's layouts, and files that mean harm."""

import pickle
import struct

import h5py
import numpy as np
import pytest
from scipy.io import loadmat, savemat

from selfdict.scene import SceneError, read_scene

CUBE = np.random.default_rng(0).uniform(1, 100, (3, 4, 5))  # rows, columns, bands


def flat(dtype="float64"):
    """Return the cube as MATLAB's reshape(cube, nRow*nCol, nBand)' has it."""
    return {"Y": CUBE.reshape(12, 5, order="F").T.astype(dtype), "nRow": 3.0, "nCol": 4.0}


def write_v73(path, **arrays):
    """Write arrays the way MATLAB 7.3 does: axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in arrays.items():
            file[name] = np.atleast_2d(value).T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(512))


@pytest.mark.parametrize("version", ["5", "5 compressed", "4", "7.3", "npz"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float32", "float64"])
def test_flat_layout(tmp_path, version, dtype):
    path = tmp_path / "scene.mat"
    if version == "npz":
        path = tmp_path / "scene.npz"
        np.savez_compressed(path, **flat(dtype))
    elif version == "7.3":
        write_v73(path, **flat(dtype))
    elif version == "4" and dtype == "int16":
        savemat(path, flat(dtype), format="4")
    else:
        savemat(path, flat(dtype), do_compression=version.endswith("compressed"))
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, CUBE.transpose(2, 0, 1).astype(dtype))


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
        write_v73(path, paviaU=CUBE, **extra)
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, CUBE.transpose(2, 0, 1))
    if kind != "npy":
        assert scene.wavelength.values.tolist() == [400.0, 500.0, 600.0, 1000.0, 2500.0]
        np.testing.assert_allclose(scene.selfdict.matrix(), CUBE.reshape(12, 5).T / 200)


def test_another_order_of_axes(tmp_path):
    np.save(tmp_path / "scene.npy", CUBE)
    scene = read_scene(tmp_path / "scene.npy", layout="x band y")
    np.testing.assert_array_equal(scene.values, CUBE.transpose(1, 2, 0))
    with pytest.raises(SceneError):
        read_scene(tmp_path / "scene.npy", layout="a b c")
    np.save(tmp_path / "scene.npy", np.asfortranarray(CUBE))
    np.testing.assert_array_equal(
        read_scene(tmp_path / "scene.npy").values, CUBE.transpose(2, 0, 1)
    )


def test_which_array(tmp_path):
    savemat(tmp_path / "two.mat", {"a": CUBE, "b": 2 * CUBE})
    with pytest.raises(SceneError):
        read_scene(tmp_path / "two.mat")
    np.testing.assert_array_equal(
        read_scene(tmp_path / "two.mat", variable="b").values, 2 * CUBE.transpose(2, 0, 1)
    )
    with pytest.raises(SceneError):
        read_scene(tmp_path / "two.mat", variable="c")


def test_cells_and_text_are_passed_over(tmp_path):
    things = {"s": {"cube": "none"}, "c": np.array([CUBE, "x"], dtype=object), "t": "text"}
    savemat(tmp_path / "a.mat", things)
    with pytest.raises(SceneError):
        read_scene(tmp_path / "a.mat")
    with pytest.raises(SceneError):
        read_scene(tmp_path / "a.mat", variable="s")
    savemat(tmp_path / "b.mat", things | {"cube": CUBE})
    np.testing.assert_array_equal(read_scene(tmp_path / "b.mat").values, CUBE.transpose(2, 0, 1))


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "scene.npy"
    np.save(path, np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(SceneError):
        read_scene(path)
    path.write_bytes(pickle.dumps(CUBE))
    with pytest.raises(SceneError):
        read_scene(path)
    np.savez(tmp_path / "scene.npz", cube=np.full((1, 1, 1), print, dtype=object))
    with pytest.raises(SceneError):
        read_scene(tmp_path / "scene.npz")


# Reads files in a process of its own, since a reader that trusts them may end the process.
READER = """
import sys
from pathlib import Path
from selfdict.scene import SceneError, read_scene
for path in sys.argv[1:]:
    try:
        read_scene(path).values
    except SceneError as error:
        print(error.reason)
    else:
        print("read")
"""


@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_files_are_read_as_scipy_reads_them(tmp_path, compressed):
    arrays = {
        "u8": CUBE.astype("uint8"),
        "i8": CUBE.astype("int8"),
        "i64": CUBE.astype("int64"),
        "f4": CUBE.astype("float32"),
        "logical": CUBE > 50,
        "name": CUBE,
    }
    path = tmp_path / "scene.mat"
    savemat(path, {**arrays, "text": "abc", "struct": {"a": 1}}, do_compression=compressed)
    expected = loadmat(path)
    for name in arrays:
        scene = read_scene(path, variable=name)
        assert scene.dtype == expected[name].dtype
        np.testing.assert_array_equal(scene.values, expected[name].transpose(2, 0, 1))


def test_a_matlab_file_of_the_other_byte_order(tmp_path):
    values = CUBE.astype(">f8").tobytes(order="F")
    matrix = struct.pack(">IIII", 6, 8, 6, 0)
    matrix += struct.pack(">IIIIII", 5, 12, 3, 4, 5, 0)
    matrix += struct.pack(">I4s", 1 << 16 | 1, b"A")
    matrix += struct.pack(">II", 9, len(values)) + values
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    path = tmp_path / "scene.mat"
    path.write_bytes(header + struct.pack(">II", 14, len(matrix)) + matrix)
    np.testing.assert_array_equal(loadmat(path)["A"], CUBE)
    np.testing.assert_array_equal(read_scene(path).values, CUBE.transpose(2, 0, 1))
