"""Files that crash, hang or swell the library that reads them, or lead it to other files.

Each function writes one into a folder and returns its path. ``REFUSED`` must be refused; what
``EITHER`` damages may not be looked at, so that they may be read as well.
"""

import os
import struct
import zipfile
import zlib

import h5py
import numcodecs
import numpy as np
import rasterio
import zarr
from affine import Affine
from scipy.io import savemat
from sensor_files import (
    metadata,
    write_aviris,
    write_desis,
    write_enmap,
    write_neon,
    write_prisma,
)
from zarr.codecs import BloscCodec, BytesCodec, ShardingCodec

from selfdict.scene import build_scene, write_scene

REFUSED = []
EITHER = []
CUBE = np.random.default_rng(0).random((4, 5, 30))


def refused(make):
    REFUSED.append(make)
    return make


def either(make):
    EITHER.append(make)
    return make


def scene():
    return build_scene(CUBE.astype("f4"), wavelength=[1.0, 2.0, 3.0, 4.0], crs="EPSG:32633")


def replace_bytes(path, *changes):
    """Write other bytes at places of a file."""
    data = bytearray(path.read_bytes())
    for place, new in changes:
        data[place : place + len(new)] = new
    path.write_bytes(data)
    return path


# What is no plain file


@refused
def a_pipe(folder):
    os.mkfifo(folder / "cube.npy")
    return folder / "cube.npy"


@refused
def a_link_to_a_device(folder):
    (folder / "cube.npz").symlink_to("/dev/zero")
    return folder / "cube.npz"


@refused
def a_link_out_of_a_zarr_store(folder):
    path = write_scene(scene(), folder / "cube.zarr")
    (path / "reflectance" / "1.0.0").symlink_to("/etc/passwd")
    return path


@refused
def a_pipe_beside_a_geotiff(folder):
    path = write_scene(scene(), folder / "cube.tif")
    os.mkfifo(folder / "cube.tif.aux.xml")
    return path


@refused
def an_envi_header_that_is_a_device(folder):
    (folder / "cube.hdr").symlink_to("/dev/zero")
    (folder / "cube.img").write_bytes(b"1234")
    return folder / "cube.img"


# Truncated files


def truncated(write, name):
    @refused
    def make(folder):
        path = write(folder / name)
        os.truncate(path, path.stat().st_size // 3)
        return path

    make.__name__ = f"truncated_{write.__name__.removeprefix('write_')}_{name}"


def write_own(path):
    return write_scene(scene(), path)


def write_matlab(path):
    savemat(path, {"cube": CUBE})
    return path


def write_plain(path):
    with h5py.File(path, "w") as file:
        file["cube"] = CUBE
    return path


truncated(write_own, "cube.tif")
truncated(write_matlab, "cube.mat")
truncated(write_plain, "cube.h5")


# Sizes that lie


@refused
def a_cube_of_exabytes(folder):
    with h5py.File(folder / "cube.h5", "w") as file:
        file.create_dataset("cube", (10**6, 10**6, 10**6), "f4", chunks=(16, 16, 16))
    return folder / "cube.h5"


@refused
def chunks_of_single_values(folder):
    """HDF5 takes 1.6 GB to look for them."""
    with h5py.File(folder / "cube.h5", "w") as file:
        cube = file.create_dataset("cube", (300, 300, 300), "f4", chunks=(1, 1, 1))
        cube[0, 0, 0] = 1
    return folder / "cube.h5"


def write_tiff(path, width, height, tile, count=1):
    profile = {"width": width, "height": height, "count": count, "dtype": "uint8"}
    tiles = {"tiled": True, "blockxsize": tile, "blockysize": tile, "interleave": "pixel"}
    grid = {"transform": Affine.scale(2), "sparse_ok": True}
    with rasterio.open(path, "w", driver="GTiff", **profile, **tiles, **grid):
        pass
    return path


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
    return path


@either
def one_large_tile(folder):
    return enlarge_tiles(write_tiff(folder / "cube.tif", 10, 10, 16, 8), 32_000, 28_000)


@refused
def a_sparse_tiff(folder):
    return write_tiff(folder / "cube.tif", 60_000, 50_000, 256, 8)


@refused
def a_packed_array_of_matlab(folder):
    """120 numbers are declared, and 256 MiB of zeros are packed."""
    path = write_matlab(folder / "cube.mat")
    n_bytes = 2**28
    name = struct.pack("<HH4s", 1, 4, b"cube")
    flags = struct.pack("<4I", 6, 8, 9, 0)
    sizes = struct.pack("<2I4i", 5, 12, 40_000, 50_000, 60_000, 0)
    body = flags + sizes + name + struct.pack("<2I", 2, n_bytes)
    packed = zlib.compress(struct.pack("<2I", 14, len(body) + n_bytes) + body + bytes(n_bytes))
    path.write_bytes(path.read_bytes()[:128] + struct.pack("<2I", 15, len(packed)) + packed)
    return path


@refused
def a_long_header_of_numpy(folder):
    """It unpacks to 1.2 GB."""
    length = 1_200_000_000
    with (
        zipfile.ZipFile(folder / "cube.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("cube.npy", "w", force_zip64=True) as member,
    ):
        member.write(b"\x93NUMPY\x02\x00" + length.to_bytes(4, "little"))
        for _ in range(20):
            member.write(bytes(length // 20))
    return folder / "cube.npz"


@refused
def an_array_of_numpy_that_lies(folder):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000, 1000000), }"
    head = head.ljust(117) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(100)
    with zipfile.ZipFile(folder / "cube.npz", "w") as archive:
        archive.writestr("cube.npy", data)
    return folder / "cube.npz"


def write_zarr(path, shape, chunks, compressors, values=None, dtype="u1"):
    group = zarr.open_group(path, mode="w", zarr_format=2)
    cube = group.create_array(
        "cube", shape=shape, chunks=chunks, dtype=dtype, compressors=compressors
    )
    cube.attrs["_ARRAY_DIMENSIONS"] = ["band", "y", "x"]
    if values is not None:
        cube[...] = values
    return path


@refused
def large_chunks_of_zarr(folder):
    path = write_zarr(folder / "cube.zarr", (2, 3, 4), (2, 40_000, 20_000), numcodecs.Zstd())
    # in the old form of zstd: frames that follow one another
    packed = numcodecs.Zstd().encode(bytes(2**24)) * 96
    (path / "cube" / "0.0.0").write_bytes(packed)
    return path


@refused
def millions_of_missing_chunks(folder):
    return write_zarr(folder / "cube.zarr", (4, 1000, 800), (1, 1, 1), numcodecs.Zstd())


@refused
def a_long_coordinate(folder):
    with h5py.File(folder / "cube.nc", "w") as file:
        cube = file.create_dataset("cube", (1, 1, 10**9), "u1", chunks=(1, 1, 10**6))
        file["band"] = [1.0]
        file["y"] = [1.0]
        file.create_dataset("x", (10**9,), "f8", chunks=(10**6,))
        for axis, name in enumerate(("band", "y", "x")):
            file[name].make_scale(name)
            cube.dims[axis].attach_scale(file[name])
    return folder / "cube.nc"


@refused
def a_look_up_table_of_emit(folder):
    with h5py.File(folder / "cube.nc", "w") as file:
        file["reflectance"] = CUBE.astype("f4")
        file["sensor_band_parameters/wavelengths"] = np.arange(400.0, 430.0)
        for name in ("location/glt_x", "location/glt_y"):
            file.create_dataset(name, (30_000, 30_000), "i4", chunks=(1000, 1000), fillvalue=1)
        file.attrs["geotransform"] = np.array([-110.0, 0.5, 0.0, 40.0, 0.0, -0.25])
    return folder / "cube.nc"


# Entities of XML


LAUGHS = "<!DOCTYPE x [<!ENTITY a 'ha'>"
for level in range(1, 30):
    LAUGHS += f"<!ENTITY a{level} '{f'&a{level - 1 or str()};' * 10}'>"
LAUGHS += "]>"


@refused
def entities_of_entities(folder):
    path, sidecar = write_enmap(folder)
    sidecar.write_text(metadata(head=LAUGHS, extra="&a29;"))
    return path


@refused
def an_entity_of_another_file(folder):
    path, sidecar = write_enmap(folder)
    other = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    sidecar.write_text(metadata(head=other, extra="&f;"))
    return path


@refused
def deep_elements(folder):
    path, sidecar = write_enmap(folder)
    sidecar.write_text("<a>" * 1_000_000)
    return path


@refused
def a_sidecar_of_gigabytes(folder):
    path, sidecar = write_desis(folder)
    with sidecar.open("r+b") as file:
        file.truncate(2**33)
    return path


# Text, names and lists inside HDF5 files


@refused
def a_heap_without_end(folder):
    """HDF5 never leaves it: its free space has the size 0."""
    path = write_aviris(folder / "cube.nc")
    data = path.read_bytes()
    position = data.index(b"GCOL\1\0\0\0") + 16
    while data[position : position + 2] != b"\0\0":
        size = int.from_bytes(data[position + 8 : position + 16], "little")
        position += 16 + size + -size % 8
    return replace_bytes(path, (position + 8, bytes(8)))


@refused
def names_without_end(folder):
    """The first free block of a heap of names is its own successor."""
    path = write_plain(folder / "cube.h5")
    data = path.read_bytes()
    heap = data.index(b"HEAP\0")
    first = int.from_bytes(data[heap + 16 : heap + 24], "little")
    address = int.from_bytes(data[heap + 24 : heap + 32], "little")
    return replace_bytes(path, (address + first, first.to_bytes(8, "little")))


@refused
def a_text_of_gigabytes(folder):
    """A text claims to have 2 GiB, which HDF5 allocates before it looks."""
    path = folder / "cube.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["cube"] = CUBE
        file["cube"].attrs["_FillValue"] = "reflectance"
    data = path.read_bytes()
    address = data.find(b"GCOL") - 512
    reference = data.find((11).to_bytes(4, "little") + address.to_bytes(8, "little"))
    return replace_bytes(path, (reference, (2**31).to_bytes(4, "little")))


def write_with_dimensions(path):
    """Write a cube with named dims and a text, without checksums, which find most damage."""
    with h5py.File(path, "w") as file:
        cube = file.create_dataset("cube", data=np.ones((3, 4, 5)))
        for axis, dimension in enumerate(("band", "y", "x")):
            file[dimension] = np.arange(float(cube.shape[axis]))
            file[dimension].make_scale(dimension)
            cube.dims[axis].attach_scale(file[dimension])
        cube.attrs["source"] = "a text of any length"
    return path


_REFERENCES = b"\x10\0\0\0\x17\0\0\0\x08\0\0\0"


@refused
def a_damaged_kind_of_lists(folder):
    """HDF5 crashes."""
    path = write_with_dimensions(folder / "cube.h5")
    return replace_bytes(path, (path.read_bytes().index(_REFERENCES) - 3, b"\x0f"))


@refused
def dimensions_of_gigabytes(folder):
    path = write_with_dimensions(folder / "cube.nc")
    return replace_bytes(path, (path.read_bytes().index(_REFERENCES) + 11, b"\xff"))


@either
def damaged_lists_of_dimensions(folder):
    """HDF5 takes the list for what it should be, and reads beyond its end."""
    path = write_with_dimensions(folder / "cube.h5")
    with h5py.File(path, "a") as file:
        cube = file["cube"]
        del cube.attrs["DIMENSION_LIST"]
        stored_type = h5py.h5t.py_create(h5py.vlen_dtype(h5py.ref_dtype), logical=True)
        space = h5py.h5s.create_simple((2, 2))
        h5py.h5a.create(cube.id, b"DIMENSION_LIST", stored_type, space)
    return path


@refused
def groups_in_groups(folder):
    """The search for arrays took a minute for 3,000 of them, and four times that for twice them."""
    with h5py.File(folder / "cube.h5", "w") as file:
        group = file
        for _ in range(3000):
            group = group.create_group("g")
        group["cube"] = CUBE
    return folder / "cube.h5"


# Links to a file that waits for ever when it is opened


def leading_elsewhere(write, name, top):
    @refused
    def make(folder):
        path = write(folder / name)
        os.mkfifo(folder / "outside")
        with h5py.File(path, "r+") as file:
            del file[top]
            file[top] = h5py.ExternalLink(str(folder / "outside"), "/")
        return path

    make.__name__ = f"link_of_{write.__name__.removeprefix('write_')}_{name}"


leading_elsewhere(write_plain, "cube.h5", "cube")
leading_elsewhere(write_prisma, "cube.he5", "HDFEOS")
leading_elsewhere(write_neon, "cube.h5", "SERC")


@refused
def a_virtual_dataset(folder):
    os.mkfifo(folder / "outside")
    with h5py.File(folder / "cube.h5", "w") as file:
        layout = h5py.VirtualLayout((4, 5, 6), "f4")
        layout[...] = h5py.VirtualSource(str(folder / "outside"), "cube", (4, 5, 6))
        file.create_virtual_dataset("cube", layout)
    return folder / "cube.h5"


@refused
def external_storage(folder):
    os.mkfifo(folder / "outside")
    with h5py.File(folder / "cube.h5", "w") as file:
        file.create_dataset("cube", (4, 5, 6), "u1", external=[(str(folder / "outside"), 0, 120)])
    return folder / "cube.h5"


@refused
def a_virtual_image(folder):
    """GDAL has a format that names files elsewhere."""
    os.mkfifo(folder / "outside")
    source = f"<SourceFilename>{folder / 'outside'}</SourceFilename>"
    band = f'<VRTRasterBand band="1"><SimpleSource>{source}</SimpleSource></VRTRasterBand>'
    path = folder / "cube.tif"
    path.write_text(f'<VRTDataset rasterXSize="5" rasterYSize="6">{band}</VRTDataset>')
    return path


# Damaged types of MATLAB, and of what Blosc packs


@either
def a_damaged_type_of_matlab(folder):
    """scipy crashes."""
    return replace_bytes(write_matlab(folder / "cube.mat"), (185, b"\5"))


BLOSC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}


def damaged_blosc(place):
    @either
    def make(folder):
        """Blosc trusts the sizes at the head of what it unpacks, and reads beyond its end."""
        values = CUBE.astype("f4")
        write_zarr(folder / "cube.zarr", values.shape, values.shape, BLOSC, values, "f4")
        chunk = folder / "cube.zarr" / "cube" / "0.0.0"
        replace_bytes(chunk, (place, struct.pack("<I", 1_400_000_000)))
        return folder / "cube.zarr"

    make.__name__ = f"a_size_of_blosc_at_{place}"


for byte in (4, 12):
    damaged_blosc(byte)


@refused
def a_short_shard(folder):
    group = zarr.open_group(folder / "cube.zarr", mode="w", zarr_format=3)
    cube = group.create_array(
        "cube",
        shape=CUBE.shape,
        dtype="f8",
        chunks=CUBE.shape,
        serializer=ShardingCodec(chunk_shape=(2, 5, 15), codecs=[BytesCodec(), BloscCodec()]),
        compressors=None,
        dimension_names=["band", "y", "x"],
    )
    cube[...] = CUBE
    chunk = folder / "cube.zarr" / "cube" / "c" / "0" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:40])
    return folder / "cube.zarr"


@refused
def a_pickle_in_zarr(folder):
    path = write_zarr(folder / "cube.zarr", (2, 3, 4), (2, 3, 4), numcodecs.Zstd())
    described = path / "cube" / ".zarray"
    described.write_text(described.read_text().replace('"zstd"', '"pickle"'))
    return path
