"""Hostile HDF5 files of each kind: one line, exit code 2, and nothing allocated or looked at."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from refusals import refusal

from fuzz.sensor_files import (
    PRISMA_FIELDS,
    TANAGER_GRID,
    TANAGER_SWATH,
    write_aviris,
    write_neon,
    write_prisma,
    write_tanager,
)
from selfdict.scene import SceneError, read_scene


def write_plain(path):
    with h5py.File(path, "w") as file:
        file["group/cube"] = np.ones((4, 5, 3))
        file["group/wavelength"] = np.array([400.0, 500.0, 600.0])
    return path


def write_swath(path):
    return write_tanager(path, swath=True)


# The writer of each kind, the suffix of its files, and the path of its cube.
KINDS = {
    "prisma": (write_prisma, ".he5", f"{PRISMA_FIELDS}/VNIR_Cube"),
    "neon": (write_neon, ".h5", "SERC/Reflectance/Reflectance_Data"),
    "tanager": (write_tanager, ".h5", f"{TANAGER_GRID}/Data Fields/surface_reflectance"),
    "swath": (write_swath, ".h5", f"{TANAGER_SWATH}/Data Fields/surface_reflectance"),
    "aviris": (write_aviris, ".nc", "reflectance/reflectance"),
    "plain": (write_plain, ".h5", "group/cube"),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def write(folder, kind):
    writer, suffix, cube = KINDS[kind]
    return writer(folder / f"{kind}{suffix}"), cube


def replace_cube(path, cube, **options):
    """Replace the cube by another one with the same attributes."""
    with h5py.File(path, "r+") as file:
        attributes = dict(file[cube].attrs)
        attributes.pop("DIMENSION_LIST", None)  # of the old cube
        del file[cube]
        new = file.create_dataset(cube, **options)
        for name, value in attributes.items():
            new.attrs[name] = value


def test_truncated_files(tmp_path, kind):
    path, _ = write(tmp_path, kind)
    data = path.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.99):
        path.write_bytes(data[: int(share * len(data))])
        assert str(path) in refusal(path)


def test_sizes_that_lie(tmp_path, kind):
    path, cube = write(tmp_path, kind)
    with h5py.File(path, "r") as file:
        dtype = file[cube].dtype
    # Nothing of it is written: the file stays small.
    shape = (10**6, 10**6, 10**6)
    replace_cube(path, cube, shape=shape, dtype=dtype, chunks=(16, 16, 16))
    assert refusal(path)


def test_chunks_and_planes_that_do_not_fit(tmp_path):
    """All of them in one process, after good files of each kind, so that imports do not count."""
    good, bombs = [], []
    for kind in KINDS:
        good.append(write(tmp_path, kind)[0])
        folder = tmp_path / "bombs"
        folder.mkdir(exist_ok=True)
        path, cube = write(folder, kind)
        with h5py.File(path, "r") as file:
            shape, dtype = file[cube].shape, file[cube].dtype
        chunks = (3000, 3000, 200)
        options = {"chunks": chunks, "maxshape": (None,) * 3, "compression": "gzip"}
        replace_cube(path, cube, shape=shape, dtype=dtype, **options)
        bombs.append(path)
    path = write_tanager(tmp_path / "positions.h5", swath=True)
    replace_cube(path, KINDS["swath"][2], shape=(4, 30_000, 30_000), dtype="f4", chunks=(4, 9, 9))
    bombs.append(path)
    code = (
        "import resource, sys\n"
        "from selfdict.scene import SceneError, read_scene, valid_mask\n"
        "used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "n_good = int(sys.argv[1])\n"
        "for path in sys.argv[2 : 2 + n_good]:\n"
        "    valid_mask(read_scene(path))\n"
        "before = used()\n"
        "for path in sys.argv[2 + n_good :]:\n"
        "    try:\n"
        "        valid_mask(read_scene(path))\n"
        "    except SceneError as error:\n"
        "        print(error.reason)\n"
        "print(used() - before)\n"
    )
    words = [sys.executable, "-c", code, str(len(good)), *map(str, good), *map(str, bombs)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stderr) == (0, "")
    *reasons, mebibytes = result.stdout.splitlines()
    assert len(reasons) == len(bombs)
    assert [reason for reason in reasons if "(max_bytes)" not in reason] == []
    assert int(mebibytes) < 100


@pytest.mark.parametrize("how", ["external link", "soft link", "virtual", "external storage"])
def test_nothing_outside_of_the_file_is_looked_at(tmp_path, kind, how):
    path, cube = write(tmp_path, kind)
    # Whoever opens it waits until somebody writes to it.
    outside = tmp_path / "outside"
    os.mkfifo(outside)
    with h5py.File(path, "r+") as file:
        shape, dtype = file[cube].shape, file[cube].dtype
        del file[cube]
        if how == "external link":
            file[cube] = h5py.ExternalLink(str(outside), "/cube")
        elif how == "soft link":
            file["elsewhere"] = np.ones(shape, dtype)
            file[cube] = h5py.SoftLink("/elsewhere")
        elif how == "virtual":
            layout = h5py.VirtualLayout(shape, dtype)
            layout[...] = h5py.VirtualSource(str(outside), "cube", shape)
            file.create_virtual_dataset(cube, layout)
        else:
            n_bytes = int(np.prod(shape)) * dtype.itemsize
            external = [(str(outside), 0, n_bytes)]
            file.create_dataset(cube, shape, dtype, external=external)
    if kind == "prisma":
        # The other detector is left.
        assert "the file has no VNIR_Cube" in read_scene(path).attrs["selfdict_notes"]
    elif how == "soft link" and kind != "aviris":
        # An array of three axes of its own, under another name.
        assert read_scene(path).name == "elsewhere"
    else:
        assert refusal(path)


def test_groups_that_are_links(tmp_path, kind):
    path, cube = write(tmp_path, kind)
    os.mkfifo(tmp_path / "outside")
    group = cube.split("/")[0]
    with h5py.File(path, "r+") as file:
        del file[group]
        file[group] = h5py.ExternalLink(str(tmp_path / "outside"), "/")
    assert refusal(path)


def test_names_that_are_no_utf8(tmp_path, kind):
    path, cube = write(tmp_path, kind)
    with h5py.File(path, "r+") as file:
        file.create_dataset(b"\xff\xfe", data=np.ones((2, 3, 4)))
        file[cube].attrs.create("t\udcfft".encode("utf-8", "surrogateescape"), 1.0)
        file[cube.rpartition("/")[0]].create_dataset(b"wavelength\xff", data=np.ones(3))
    if kind == "aviris":
        # NetCDF files are checked as a whole.
        assert refusal(path)
    else:
        assert read_scene(path).ndim == 3


def test_cycles_of_groups(tmp_path):
    path = write_plain(tmp_path / "plain.h5")
    with h5py.File(path, "r+") as file:
        file["group/again"] = file["group"]
        file["group/root"] = file["/"]
    assert read_scene(path).shape == (3, 4, 5)


def test_a_file_of_very_many_objects_is_not_searched_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("selfdict.scene.formats.hdf5_any._MAX_OBJECTS", 50)
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as file:
        first = file.create_group("a")
        for k in range(50):
            first.create_group(str(k))
        file["z"] = np.ones((2, 3, 4))
    with pytest.raises(SceneError, match="there is none with 3 axes"):
        read_scene(path)
    assert read_scene(path, variable="z").shape == (4, 2, 3)


def test_attributes_have_a_limit(tmp_path, monkeypatch):
    path = write_tanager(tmp_path / "tanager.h5")
    monkeypatch.setattr("selfdict.scene.formats.limits.MAX_HEADER_BYTES", 10)
    with pytest.raises(SceneError, match="too large for attribute wavelengths: 16 bytes"):
        read_scene(path)
