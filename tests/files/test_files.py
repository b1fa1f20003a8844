"""The entry points: parts of files, masks, and writing a file completely or not at all."""

import itertools
import pickle
import sys

import numpy as np
import pytest
import xarray as xr
from checks import refused
from scene_sample import TRANSFORM, assert_same, full_scene

from selfdict import InputError
from selfdict.scene import (
    SceneError,
    build_scene,
    read_scene,
    transform_of,
    write_scene,
)

SUFFIXES = [".hdr", ".tif", ".nc", ".zarr"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_part_of_a_file(tmp_path, suffix):
    scene = full_scene("int16")
    path = write_scene(scene, tmp_path / f"cube{suffix}")
    part = read_scene(path, bands=[0, 2, 3], drop_bad_bands=True, roi=(slice(1, 5), slice(2, 4)))
    np.testing.assert_array_equal(part.values, scene.values[[0, 3], 1:5, 2:4])
    assert part.wavelength.values.tolist() == [400.5, 1000.0]
    moved = (TRANSFORM.c + 60, 30.0, 0.0, TRANSFORM.f - 20, 0.0, -20.0)
    assert transform_of(part).to_gdal() == moved
    again = read_scene(write_scene(part, tmp_path / f"part{suffix}"))
    assert_same(again, part)
    assert read_scene(path, bands=slice(1, 3)).shape == (2, 6, 7)


def test_parts_that_are_not_there(tmp_path):
    path = write_scene(full_scene(), tmp_path / "cube.hdr")
    refused(path, bands=[0, 5])
    refused(path, bands=[])
    refused(path, roi=(slice(6, 9), slice(0, 2)))


MASKS = [
    *itertools.product(["no-data", "zero", "user", "file"], ["int16", "float32"]),
    ("NaN", "float32"),
]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("kind", "dtype"), MASKS)
def test_masks(tmp_path, suffix, dtype, kind):
    scene = full_scene(dtype)
    expected = np.ones((6, 7), dtype=bool)
    expected[2, 1:4] = False
    mask = None
    if kind == "no-data":
        scene.attrs["_FillValue"] = -1
        scene.values[3, 2, 1:4] = -1  # one band is enough
    elif kind == "NaN":
        scene.values[3, 2, 1:4] = np.nan
    elif kind == "zero":
        scene.values[:, 2, 1:4] = 0
        scene.values[0, 0, 0] = 0  # a single zero is a measurement
    else:
        mask = ~expected
        if kind == "file":
            mask = write_scene(xr.DataArray(mask, dims=("y", "x")), tmp_path / f"mask{suffix}")
    path = write_scene(scene, tmp_path / f"cube{suffix}")
    read = read_scene(path, mask=mask)
    np.testing.assert_array_equal(read.selfdict.valid().values, expected)
    M = read.selfdict.matrix()
    assert M.dtype == np.float32
    np.testing.assert_array_equal(M, scene.values[:, expected])
    # A user's mask is written with the scene, as no-data if the format has no masks.
    if mask is not None:
        if dtype == "int16" and suffix in (".hdr", ".tif"):
            with pytest.raises(SceneError):
                write_scene(read, tmp_path / f"again{suffix}")
            read.attrs["_FillValue"] = -1
        again = read_scene(write_scene(read, tmp_path / f"again{suffix}"))
        np.testing.assert_array_equal(again.selfdict.valid().values, expected)


def test_no_data_zero_and_no_data_out_of_range():
    values = np.ones((2, 1, 3), dtype=np.uint8)
    values[0, 0, 0] = 0
    values[:, 0, 1] = 0
    scene = build_scene(values, nodata=0)
    assert scene.selfdict.valid().values.tolist() == [[True, False, True]]
    scene.attrs["_FillValue"] = -9999
    assert scene.selfdict.valid().values.tolist() == [[True, False, True]]


def test_masks_of_the_wrong_shape(tmp_path):
    path = write_scene(full_scene(), tmp_path / "cube.hdr")
    with pytest.raises(InputError):
        read_scene(path, mask=np.zeros((7, 6), dtype=bool))
    refused(path, mask=path)


def test_unknown_files(tmp_path):
    refused(tmp_path / "cube.hdr")
    (tmp_path / "cube.jpeg").touch()
    refused(tmp_path / "cube.jpeg")
    refused(".")
    with pytest.raises(InputError):
        read_scene(tmp_path / "cube.jpeg", format="jpeg")
    with pytest.raises(SceneError):
        write_scene(full_scene(), tmp_path / "cube.npy")
    with pytest.raises(SceneError):
        write_scene(full_scene(), tmp_path / "missing" / "cube.hdr")


def test_the_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(SceneError("cube\n.hdr", "is\x1b[31m red\u2028")))
    assert (error.path, error.reason, str(error)) == (
        "cube\n.hdr",
        "is [31m red ",
        "cube .hdr: is [31m red ",
    )


def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch):
    path = write_scene(full_scene(), tmp_path / "cube.tif")
    # Found first, here and in the reader process: as if rasterio were not installed.
    (tmp_path / "rasterio.py").write_text("raise ModuleNotFoundError(name='rasterio')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(ModuleNotFoundError):
        read_scene(path)


def test_a_format_by_name(tmp_path):
    scene = full_scene()
    path = write_scene(scene, tmp_path / "cube.something", "geotiff")
    assert_same(read_scene(path, format="geotiff"), scene)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".img"])
def test_nothing_is_overwritten_unless_asked(tmp_path, suffix):
    first, second = full_scene(seed=1), full_scene("int16", seed=2)
    path = write_scene(first, tmp_path / f"cube{suffix}")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SceneError):
        write_scene(second, path)
    assert_same(read_scene(path), first)
    write_scene(second, path, overwrite=True)
    assert_same(read_scene(path), second)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", ["folder", "store with a file", "link"])
def test_only_files_and_zarr_stores_are_replaced(tmp_path, kind):
    path = tmp_path / "cube.zarr"
    elsewhere = write_scene(full_scene(), tmp_path / "elsewhere.zarr")
    if kind == "folder":
        path.mkdir()
        (path / "0").write_text("mine")
    elif kind == "store with a file":
        elsewhere.rename(path)
        (path / "notes.txt").write_text("mine")
    else:
        path.symlink_to(elsewhere, target_is_directory=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SceneError):
        write_scene(full_scene(seed=2), path, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_neither_file_of_a_pair_is_overwritten(tmp_path):
    (tmp_path / "cube.img").write_text("precious")
    with pytest.raises(SceneError):
        write_scene(full_scene(), tmp_path / "cube.hdr")
    assert [file.name for file in tmp_path.iterdir()] == ["cube.img"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_leaves_nothing(tmp_path, suffix):
    def fail(block):
        raise RuntimeError("the source broke")

    scene = full_scene().chunk({"y": 2})
    broken = scene.copy(data=scene.data.map_blocks(fail, dtype=scene.dtype))
    with pytest.raises(RuntimeError):
        write_scene(broken, tmp_path / f"cube{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_names_the_file_asked_for(tmp_path):
    scene = build_scene(np.ones((2, 3, 4), dtype=np.longdouble))
    with pytest.raises(SceneError) as refusal:
        write_scene(scene, tmp_path / "cube.hdr")
    assert refusal.value.path == str(tmp_path / "cube.hdr")
