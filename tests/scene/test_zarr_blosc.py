"""What is packed by Blosc: sizes at its head that are false crash the process or allocate."""

import struct

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, ShardingCodec, ZstdCodec

from selfdict.scene import read_scene, valid_mask
from selfdict.scene.errors import SceneError

BLOSC_2 = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
BLOSC_3 = (BloscCodec(),)
VALUES = np.random.default_rng(0).random((3, 40, 50)).astype(np.float32)
KIND = {"shape": VALUES.shape, "dtype": VALUES.dtype}


def version_2(path):
    group = zarr.open_group(path, mode="w", zarr_format=2)
    cube = group.create_array("cube", **KIND, chunks=(3, 20, 50), compressors=BLOSC_2)
    cube[...] = VALUES
    cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
    return path / "cube" / "0.0.0"


def version_3(path, compressors=BLOSC_3, **options):
    group = zarr.open_group(path, mode="w", zarr_format=3)
    cube = group.create_array(
        "cube",
        **KIND,
        chunks=(3, 10, 25),
        compressors=compressors,
        dimension_names=["band", "y", "x"],
        **options,
    )
    cube[...] = VALUES
    return path / "cube" / "c" / "0" / "0" / "0"


def with_checksum(path):
    return version_3(path, compressors=(BloscCodec(), Crc32cCodec()))


def shards(path):
    return version_3(path, shards=(3, 20, 50))


def shards_by_codec(path, codecs, **options):
    group = zarr.open_group(path, mode="w", zarr_format=3)
    cube = group.create_array(
        "cube",
        **KIND,
        chunks=(3, 20, 50),
        serializer=ShardingCodec(chunk_shape=(3, 10, 25), codecs=codecs, **options),
        compressors=None,
        dimension_names=["band", "y", "x"],
    )
    cube[...] = VALUES
    return path / "cube" / "c" / "0" / "0" / "0"


def shards_with_index_first(path):
    return shards_by_codec(path, [BytesCodec(), BloscCodec()], index_location="start")


STORES = [version_2, version_3, with_checksum, shards, shards_with_index_first]


def first_head(store):
    """Where the first packed chunk of a file begins."""
    # Four chunks of 16 bytes each in the index, and its checksum.
    return 4 * 16 + 4 if store is shards_with_index_first else 0


@pytest.mark.parametrize("store", STORES)
def test_valid_chunks_are_read(store, tmp_path):
    store(tmp_path / "scene.zarr")
    scene = read_scene(tmp_path / "scene.zarr")
    np.testing.assert_array_equal(scene.values, VALUES)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("place", "message"), [(12, "declares 1400000000 bytes but holds"), (4, "declares 1400000000")]
)
def test_false_sizes_are_refused(store, place, message, tmp_path):
    chunk = store(tmp_path / "scene.zarr")
    data = bytearray(chunk.read_bytes())
    struct.pack_into("<I", data, first_head(store) + place, 1_400_000_000)
    chunk.write_bytes(data)
    with pytest.raises(SceneError, match=message):
        valid_mask(read_scene(tmp_path / "scene.zarr"))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("left", [0, 8, 40])
def test_a_chunk_that_is_cut_short_is_refused(store, left, tmp_path):
    chunk = store(tmp_path / "scene.zarr")
    chunk.write_bytes(chunk.read_bytes()[:left])
    with pytest.raises(SceneError, match=r"too short|but holds"):
        valid_mask(read_scene(tmp_path / "scene.zarr"))


def test_blosc_below_another_codec_cannot_be_examined(tmp_path):
    version_3(tmp_path / "scene.zarr", compressors=(BloscCodec(), ZstdCodec()))
    with pytest.raises(SceneError, match="by Blosc and then by zstd"):
        read_scene(tmp_path / "scene.zarr")


def test_shards_inside_shards_cannot_be_examined(tmp_path):
    inner = ShardingCodec(chunk_shape=(3, 5, 5), codecs=[BytesCodec(), BloscCodec()])
    shards_by_codec(tmp_path / "scene.zarr", [inner])
    with pytest.raises(SceneError, match="shards inside shards"):
        read_scene(tmp_path / "scene.zarr")


def test_files_that_are_no_chunks_do_not_matter(tmp_path):
    chunk = version_2(tmp_path / "scene.zarr")
    (chunk.parent / "notes.txt").write_text("flown on a Sunday")
    np.testing.assert_array_equal(read_scene(tmp_path / "scene.zarr").values, VALUES)
