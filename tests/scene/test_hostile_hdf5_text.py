"""HDF5 files whose text, names or lists are damaged: refused before HDF5 reads them."""

import h5py
import numpy as np
import pytest
import xarray as xr
from refusals import refusal

from fuzz.sensor_files import write_aviris, write_neon
from selfdict.scene import SceneError, read_scene, write_scene
from selfdict.scene.formats.hdf5 import load_values
from selfdict.scene.formats.limits import Limit


def test_text_that_is_no_utf8(tmp_path):
    path = write_neon(tmp_path / "neon.h5")
    with h5py.File(path, "r+") as file:
        name = "SERC/Reflectance/Metadata/Coordinate_System/Map_Info"
        del file[name]
        file[name] = np.bytes_(b"UTM, \xff, 1, 1, 1, 1, 1, 1")
    assert "'map info' must hold numbers" in refusal(path)


@pytest.mark.parametrize("reserved", [b"\0\0\0", b"\0\0@"], ids=["zeros", "others"])
def test_a_heap_that_hdf5_would_never_leave(tmp_path, reserved):
    """Its free space has the size 0. HDF5 does not look at the reserved bytes of the heap."""
    path = write_aviris(tmp_path / "aviris.nc")
    data = bytearray(path.read_bytes())
    heap = data.index(b"GCOL\1\0\0\0")
    data[heap + 5 : heap + 8] = reserved
    position = heap + 16
    while data[position : position + 2] != b"\0\0":
        size = int.from_bytes(data[position + 8 : position + 16], "little")
        position += 16 + size + -size % 8
    data[position + 8 : position + 16] = bytes(8)
    path.write_bytes(data)
    assert "a heap of text is damaged" in refusal(path)


def test_a_heap_of_a_false_size(tmp_path):
    """HDF5 takes what is behind the heap for objects, whose sizes may lead back."""
    path = write_aviris(tmp_path / "aviris.nc")
    data = bytearray(path.read_bytes())
    heap = data.index(b"GCOL\1\0\0\0")
    size = int.from_bytes(data[heap + 8 : heap + 16], "little")
    data[heap + 8 : heap + 16] = (size + 64).to_bytes(8, "little")
    behind = heap + size
    data[behind : behind + 16] = b"TREE\1\0\1\0" + b"\xff" * 8
    path.write_bytes(data)
    assert "a heap of text is damaged" in refusal(path)


def lists(*values):
    """Return a scalar that holds a list of variable length."""
    scalar = np.empty((), dtype=h5py.vlen_dtype(np.uint8))
    scalar[()] = np.array(values, dtype=np.uint8)
    return scalar


def test_dataset_of_lists(tmp_path):
    # HDF5 can crash on a text whose type is damaged so that it seems to be a list of bytes.
    path = write_neon(tmp_path / "neon.h5")
    name = "SERC/Reflectance/Metadata/Coordinate_System/Map_Info"
    with h5py.File(path, "a") as file:
        del file[name]
        file.create_dataset(name, (), dtype=h5py.vlen_dtype(np.uint8))
        file[name][()] = np.frombuffer(b"UTM", np.uint8)
    assert "Map_Info holds neither numbers nor text" in refusal(path)


def test_attribute_of_lists(tmp_path):
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as file:
        file["cube"] = np.ones((4, 5, 3))
        file["cube"].attrs.create("_FillValue", lists(1, 2), dtype=h5py.vlen_dtype(np.uint8))
    assert "attribute _FillValue holds neither numbers nor text" in refusal(path)


def text_in_attribute(file):
    file["cube"].attrs["units"] = "reflectance"


def several_texts_in_attribute(file):
    file["cube"].attrs["units"] = ["radiance", "reflectance"]


def text_in_dataset(file):
    file["wavelength"] = "400 500 600"


def texts_in_chunks(file):
    names = ["400", "500 nm", "600.0000 nm"]
    file.create_dataset("wavelength", data=names, maxshape=(None,), dtype=h5py.string_dtype())


def write_long_text(path, write, address_is_false, libver):
    """Write a file with a text that claims to have 2 GiB."""
    with h5py.File(path, "w", userblock_size=512, libver=libver) as file:
        file["cube"] = np.ones((4, 5, 3))
        write(file)
    read_scene(path)
    data = bytearray(path.read_bytes())
    address = data.find(b"GCOL") - 512
    # The length of the last text and its address.
    reference = data.find((11).to_bytes(4, "little") + address.to_bytes(8, "little"))
    assert reference > 0
    data[reference : reference + 4] = (2**31).to_bytes(4, "little")
    if address_is_false:
        data[reference + 4 : reference + 12] = bytes(range(8))
    path.write_bytes(data)
    return path


# HDF5 allocates the length that a text claims to have, before it finds that it has not.
@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
@pytest.mark.parametrize("address_is_false", [False, True])
@pytest.mark.parametrize("write", [text_in_attribute, several_texts_in_attribute])
def test_attribute_of_gigabytes(tmp_path, write, address_is_false, libver):
    path = write_long_text(tmp_path / "text.h5", write, address_is_false, libver)
    assert "an attribute claims more text than the file holds" in refusal(path)


@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
@pytest.mark.parametrize("address_is_false", [False, True])
@pytest.mark.parametrize("write", [text_in_dataset, texts_in_chunks])
def test_dataset_of_gigabytes(tmp_path, write, address_is_false, libver):
    path = write_long_text(tmp_path / "text.h5", write, address_is_false, libver)
    limit = Limit(path, path.stat().st_size)
    with (
        h5py.File(path) as file,
        pytest.raises(SceneError, match="wavelength claims more text than the file holds"),
    ):
        load_values(limit, file["wavelength"])


def test_dimensions_of_gigabytes(tmp_path):
    # A variable of NetCDF 4 lists its dimensions as references of variable length.
    path = tmp_path / "scene.nc"
    write_scene(xr.DataArray(np.ones((3, 4, 5)), dims=("band", "y", "x")), path)
    data = bytearray(path.read_bytes())
    references = data.index(b"\x10\0\0\0\x17\0\0\0\x08\0\0\0")
    address = data.find(b"GCOL").to_bytes(8, "little")
    first = data.index((1).to_bytes(4, "little") + address, references)
    data[first : first + 12] = (2**29).to_bytes(4, "little") + bytes(range(8))
    path.write_bytes(data)
    assert "an attribute claims more text than the file holds" in refusal(path)


def test_references_of_gigabytes(tmp_path):
    # HDF5 allocates the length of a list times the size of a single reference, which is damaged.
    path = tmp_path / "scene.nc"
    write_scene(xr.DataArray(np.ones((3, 4, 5)), dims=("band", "y", "x")), path)
    data = bytearray(path.read_bytes())
    references = b"\x10\0\0\0\x17\0\0\0\x08\0\0"
    data[data.index(references) + len(references)] = 0xFF
    path.write_bytes(data)
    assert "an attribute claims more text than the file holds" in refusal(path)


def write_with_dimensions(path):
    """Write a cube with named dimensions and a text; without checksums, which find most damage."""
    with h5py.File(path, "w") as file:
        cube = file.create_dataset("cube", data=np.ones((3, 4, 5)))
        for axis, dimension in enumerate(("band", "y", "x")):
            file[dimension] = np.arange(float(cube.shape[axis]))
            file[dimension].make_scale(dimension)
            cube.dims[axis].attach_scale(file[dimension])
        cube.attrs["source"] = "a text of any length"
    assert read_scene(path).shape == (3, 4, 5)


@pytest.mark.parametrize("name", ["scene.nc", "scene.h5"])
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        # The kind of a list: neither a list nor a text.
        (-3, 0x0F, "the type of an attribute is damaged"),
        # The size of a reference to it: the three references seem to take three bytes.
        (0, 1, "the dimensions of /cube are damaged"),
    ],
)
def test_damaged_types_of_lists(tmp_path, name, place, value, message):
    # HDF5 crashes, or reads whatever is behind the list in memory.
    path = tmp_path / name
    write_with_dimensions(path)
    data = bytearray(path.read_bytes())
    data[data.index(b"\x10\0\0\0\x17\0\0\0\x08\0\0\0") + place] = value
    path.write_bytes(data)
    assert message in refusal(path)


def test_damaged_type_of_text(tmp_path):
    path = tmp_path / "scene.nc"
    write_with_dimensions(path)
    data = bytearray(path.read_bytes())
    data[data.index(b"\x10\0\0\0\x10\0\0\0\1\0\0\0", data.index(b"source"))] = 1
    path.write_bytes(data)
    assert "attribute source is damaged" in refusal(path)


@pytest.mark.parametrize("name", ["scene.h5", "scene.mat"])
def test_names_without_end(tmp_path, name):
    # The free space of a heap of names is a list of blocks: the first one is its own successor.
    path = tmp_path / name
    text_of_matlab = 512
    with h5py.File(path, "w", userblock_size=text_of_matlab * (name == "scene.mat")) as file:
        file["cube"] = np.random.default_rng(0).random((4, 5, 30))
    data = bytearray(path.read_bytes())
    if name == "scene.mat":
        data[:19] = b"MATLAB 7.3 MAT-file"
        data[124:128] = b"\0\2IM"
        path.write_bytes(data)
    assert read_scene(path).size == 600
    heap = data.index(b"HEAP\0")
    first = int.from_bytes(data[heap + 16 : heap + 24], "little")
    address = int.from_bytes(data[heap + 24 : heap + 32], "little")
    block = data.index(b"\x89HDF") + address + first
    data[block : block + 8] = first.to_bytes(8, "little")
    path.write_bytes(data)
    assert "a heap of names is damaged" in refusal(path)


def test_addresses_of_four_bytes(tmp_path):
    # HDF5 can write smaller files than it does by default.
    path = tmp_path / "scene.h5"
    settings = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    settings.set_sizes(4, 4)
    h5py.h5f.create(str(path).encode(), fcpl=settings).close()
    with h5py.File(path, "a") as file:
        file["wavelength"] = np.linspace(400.0, 900.0, 30)
        file["wavelength"].attrs["units"] = "nanometers"
        file["cube"] = np.random.default_rng(0).random((4, 5, 30))
    scene = read_scene(path)
    assert scene.shape == (30, 4, 5)
    np.testing.assert_allclose(scene["wavelength"], np.linspace(400.0, 900.0, 30))


def test_many_integers_that_look_like_types(tmp_path):
    # A map of classes in which 25, 16 and 23 follow one another, as in the type of a list.
    path = tmp_path / "scene.h5"
    labels = np.tile(np.array([25, 16, 23, 8], np.int32), 30_000)
    with h5py.File(path, "w") as file:
        file["labels"] = labels
        file["cube"] = np.ones((3, 4, 5))
    assert read_scene(path).size == 60


REFERENCES = h5py.vlen_dtype(h5py.ref_dtype)


@pytest.mark.parametrize("name", ["scene.h5", "scene.nc"])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((1,), REFERENCES), ((2, 2), REFERENCES), ((3,), np.float64), ((3,), "S4")]
)
def test_damaged_lists_of_dimensions(tmp_path, name, shape, dtype):
    # HDF5 takes the list for what it should be, and reads beyond its end.
    path = tmp_path / name
    write_with_dimensions(path)
    with h5py.File(path, "a") as file:
        cube = file["cube"]
        del cube.attrs["DIMENSION_LIST"]
        # without values, which do not matter
        stored_type = h5py.h5t.py_create(np.dtype(dtype), logical=True)
        h5py.h5a.create(cube.id, b"DIMENSION_LIST", stored_type, h5py.h5s.create_simple(shape))
    assert "the dimensions of /cube are damaged" in refusal(path)
