"""A file that declares far more than it holds makes a reader allocate nothing."""

import json
import struct
import subprocess
import sys
import zipfile

import h5py
import numcodecs
import numpy as np
import pytest
import rasterio
import zarr
from scene_sample import TRANSFORM, full_scene
from scipy.io import savemat
from test_emit import write_emit

from selfdict.scene import SceneError, read_scene, write_scene
from selfdict.scene.formats.common import lazy_cube
from selfdict.scene.formats.limits import Limit

# Reads good files first, so that imports do not count, then the others. Prints for each of these
# its error and by how many MiB the largest memory of the process grew.
READER = """
import json, resource, sys
from selfdict.scene import SceneError, read_scene, valid_mask
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
good, hostile = map(json.loads, sys.argv[1:])
for path in good:
    valid_mask(read_scene(path))
for path in hostile:
    before = used()
    reason = None
    try:
        valid_mask(read_scene(path))
    except SceneError as error:
        reason = error.reason
    print(json.dumps([reason, used() - before]))
"""


def good_files(folder):
    """Write a small file of each kind of the hostile ones."""
    folder.mkdir()
    savemat(folder / "usual.mat", {"cube": np.ones((2, 3, 4))})
    np.savez_compressed(folder / "usual.npz", cube=np.ones((2, 3, 4)))
    for suffix in (".tif", ".nc", ".zarr"):
        write_scene(full_scene(), folder / f"usual{suffix}")
    write_emit(folder / "emit.nc", np.ones((2, 3, 4)))
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """By the name of a hostile file: the error, and by how many MiB the memory grew."""
    folder = tmp_path_factory.mktemp("hostile")
    good = good_files(folder / "good")
    hostile = []
    for make, suffix in BOMBS.items():
        path = folder / f"{make.__name__}.{suffix}"
        make(path)
        hostile.append(path)
    lists = [json.dumps([str(path) for path in paths]) for paths in (good, hostile)]
    result = subprocess.run(
        [sys.executable, "-c", READER, *lists], capture_output=True, text=True, timeout=250
    )
    assert (result.returncode, result.stderr) == (0, "")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return dict(zip([path.stem for path in hostile], found, strict=True))


def long_header(path, compression):
    """An array in an .npz whose header unpacks to 150 MB."""
    length = 150_000_000
    header = b"\x93NUMPY\x02\x00" + length.to_bytes(4, "little")
    with (
        zipfile.ZipFile(path, "w", compression) as archive,
        archive.open("cube.npy", "w", force_zip64=True) as member,
    ):
        member.write(header)
        for _ in range(30):
            member.write(b" " * (length // 30))


def bz2_header(path):
    long_header(path, zipfile.ZIP_BZIP2)


def deflated_header(path):
    long_header(path, zipfile.ZIP_DEFLATED)


def tiff(path, width, height, tile, count=1):
    profile = {"width": width, "height": height, "count": count, "dtype": "uint8"}
    tiles = {"tiled": True, "blockxsize": tile[0], "blockysize": tile[1], "interleave": "pixel"}
    grid = {"transform": TRANSFORM, "sparse_ok": True}
    with rasterio.open(path, "w", driver="GTiff", **profile, **tiles, **grid):
        pass


def enlarge_tiles(path, width, height):
    """Change the size of the tiles that a TIFF declares."""
    data = bytearray(path.read_bytes())
    (directory,) = struct.unpack_from("<I", data, 4)
    (n_tags,) = struct.unpack_from("<H", data, directory)
    for k in range(n_tags):
        entry = directory + 2 + 12 * k
        (tag,) = struct.unpack_from("<H", data, entry)
        if tag in (322, 323):
            size = {322: width, 323: height}[tag]
            struct.pack_into("<HII", data, entry + 2, 4, 1, size)
    path.write_bytes(data)


def one_tile(path):
    tiff(path, 10, 10, (16, 16))
    enlarge_tiles(path, 32_000, 28_000)


def sparse_tiff(path):
    tiff(path, 60_000, 50_000, (256, 256))


def large_tiles_of_many_bands(path):
    # 16 MiB for one band, but a tile holds the pixels of all of them
    tiff(path, 10, 10, (16, 16), 60)
    enlarge_tiles(path, 4096, 4096)


def chunks_of_zarr(path):
    group = zarr.open_group(path, mode="w", zarr_format=2)
    options = {"shape": (2, 3, 4), "chunks": (2, 10_000, 8_000), "dtype": "u1"}
    cube = group.create_array("cube", **options, compressors=numcodecs.Zstd())
    cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
    cube[...] = 1


def long_coordinate_of_zarr(path):
    group = zarr.open_group(path, mode="w", zarr_format=2)
    cube = group.create_array("cube", shape=(1, 1, 10**8), chunks=(1, 1, 10**6), dtype="u1")
    cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
    x = group.create_array("x", shape=(10**8,), chunks=(10**6,), dtype="f8")
    x.attrs["_ARRAY_DIMENSIONS"] = ["x"]


def chunks_of_hdf5(path):
    with h5py.File(path, "w") as file:
        cube = file.create_dataset(
            "cube",
            (2, 3, 4),
            "u1",
            chunks=(2, 30_000, 14_000),
            maxshape=(None, None, None),
            compression="gzip",
        )
        for axis, name in enumerate(("band", "y", "x")):
            file[name] = np.arange(cube.shape[axis])
            file[name].make_scale(name)
            cube.dims[axis].attach_scale(file[name])


def chunks_of_matlab(path):
    chunks_of_hdf5(path)


def long_coordinate_of_netcdf(path):
    with h5py.File(path, "w") as file:
        cube = file.create_dataset("cube", (1, 1, 10**8), "u1", chunks=(1, 1, 10**6))
        file["band"] = [1.0]
        file["y"] = [1.0]
        file.create_dataset("x", (10**8,), "f8", chunks=(10**6,))
        for axis, name in enumerate(("band", "y", "x")):
            file[name].make_scale(name)
            cube.dims[axis].attach_scale(file[name])


def table_of_emit(path):
    write_emit(path, np.ones((2, 3, 4)))
    with h5py.File(path, "r+") as file:
        for name in ("location/glt_x", "location/glt_y"):
            del file[name]
            file.create_dataset(name, (8000, 8000), "i4", chunks=(1000, 1000), fillvalue=1)


BOMBS = {
    bz2_header: "npz",
    deflated_header: "npz",
    one_tile: "tif",
    sparse_tiff: "tif",
    large_tiles_of_many_bands: "tif",
    chunks_of_zarr: "zarr",
    long_coordinate_of_zarr: "zarr",
    chunks_of_hdf5: "nc",
    long_coordinate_of_netcdf: "nc",
    chunks_of_matlab: "mat",
    table_of_emit: "nc",
}


@pytest.mark.parametrize("name", [make.__name__ for make in BOMBS])
def test_a_small_file_is_refused(answers, name):
    assert answers[name][0]


def test_small_files_allocate_little(answers):
    """All of them together: the largest memory of a process does not fall between two files."""
    assert sum(mebibytes for _, mebibytes in answers.values()) < 100, answers


def test_the_limit_can_be_raised(tmp_path):
    path = tmp_path / "scene.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=2)
    options = {"shape": (2, 3, 4), "chunks": (2, 6000, 6000), "dtype": "u1"}
    cube = group.create_array("cube", **options, compressors=numcodecs.Zstd())
    cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
    cube[...] = 1
    with pytest.raises(SceneError, match=r"a chunk of cube but holds .* at most 67108864"):
        read_scene(path)
    assert read_scene(path, max_bytes=10**8).values.sum() == 24
    with pytest.raises(SceneError, match="at most 10 are allocated"):
        read_scene(path, max_bytes=10)


def test_spectra_of_large_planes_are_read_in_parts(tmp_path):
    # one chunk per band: whole spectra of a chunk would be the whole cube
    limit = Limit(tmp_path, 10**6, 50 * 2**20)
    cube = lazy_cube(limit, (40, 2000, 1000), "u1", lambda *key: None, (2000, 1000), 2_000_000)
    assert cube.chunksize == (40, 1310, 1000)
    # Whatever is allowed for a single allocation, computing needs several of this size.
    cube = lazy_cube(Limit(tmp_path, 10**10), (400, 2000, 1000), "f4", None, (2000, 1000))
    assert cube.chunksize == (400, 167, 1000)


@pytest.mark.parametrize("codec", [numcodecs.BZ2(), numcodecs.LZMA()])
def test_codecs_that_unpack_without_a_bound_are_not_read(tmp_path, codec):
    path = tmp_path / "scene.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=2)
    cube = group.create_array("cube", shape=(2, 3, 4), dtype="u1", compressors=codec)
    cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
    with pytest.raises(SceneError, match=f"asks for the codec {codec.codec_id}"):
        read_scene(path)


@pytest.mark.parametrize("n_written", [1, 120])
def test_chunks_that_are_missing_are_not_looked_for_one_by_one(tmp_path, n_written):
    path = tmp_path / "scene.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=2)
    options = {"shape": (2, 110, 100), "chunks": (2, 1, 1), "dtype": "u1", "fill_value": 3}
    cube = group.create_array("cube", **options, compressors=numcodecs.Zstd())
    cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
    cube[:, :2, : n_written // 2] = 1
    if n_written == 1:
        cube[0, 0, 0] = 1
        with pytest.raises(SceneError, match="cube declares 11000 chunks but holds 3 files"):
            read_scene(path)
        assert read_scene(path, max_bytes=10**8).shape == (2, 110, 100)
    else:
        assert (read_scene(path).isel(y=0).values == 1).sum() == 2 * 60
