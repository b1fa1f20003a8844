"""The GeoTIFFs that are written are cloud-optimised: checked by a small reader of TIFF."""

import struct

import numpy as np
import pytest
import rasterio
from range_server import serve

from selfdict.datasets import make_scene
from selfdict.scene import build_scene, read_scene, unmix, write_dominant, write_scene

# The sizes of the types of fields in bytes, by their numbers.
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 12: 8, 16: 8}
FORMATS = {1: "B", 3: "H", 4: "I", 16: "Q"}
# Numbers of fields.
SUBFILE, WIDTH, HEIGHT, STRIPS, PLANAR, TILE_WIDTH, TILES = 254, 256, 257, 273, 284, 322, 324


def directories(path):
    """Return the directories of a little-endian TIFF: where each is, and its numbers by field."""
    data = path.read_bytes()
    assert data[:4] == b"II*\0"
    (place,) = struct.unpack_from("<I", data, 4)
    found = []
    while place:
        (n_fields,) = struct.unpack_from("<H", data, place)
        fields = {}
        for k in range(n_fields):
            start = place + 2 + 12 * k
            number, kind, count = struct.unpack_from("<HHI", data, start)
            where = start + 8
            if count * SIZES[kind] > 4:
                (where,) = struct.unpack_from("<I", data, where)
            if kind in FORMATS:
                fields[number] = struct.unpack_from(f"<{count}{FORMATS[kind]}", data, where)
        found.append((place, fields))
        (place,) = struct.unpack_from("<I", data, place + 2 + 12 * n_fields)
    return found


def assert_optimised(path, tile, n_overviews):
    found = directories(path)
    assert len(found) == 1 + n_overviews
    places = [place for place, _ in found]
    assert places == sorted(places)
    assert places[0] < 300
    size = max(found[0][1][WIDTH][0], found[0][1][HEIGHT][0])
    first_data = []
    for _, fields in found:
        assert STRIPS not in fields
        assert fields[TILE_WIDTH] == (tile,)
        first_data.append(min(offset for offset in fields[TILES] if offset))
    # All directories come before all data, and small overviews before large ones.
    assert places[-1] < min(first_data)
    assert first_data == sorted(first_data, reverse=True)
    for level, (_, fields) in enumerate(found[1:], start=1):
        assert fields[SUBFILE] == (1,)
        assert max(fields[WIDTH][0], fields[HEIGHT][0]) == -(-size // 2**level)
    last = found[-1][1]
    assert max(last[WIDTH][0], last[HEIGHT][0]) <= tile


@pytest.mark.parametrize(
    ("shape", "tile", "n_overviews"),
    [
        ((3, 40, 60), 512, 0),
        ((2, 700, 1100), 512, 2),
        ((30, 300, 90), 256, 1),
        ((80, 9, 130), 128, 1),
    ],
)
def test_scenes(tmp_path, shape, tile, n_overviews):
    values = np.random.default_rng(0).random(shape).astype("float32")
    scene = build_scene(values, wavelength=400.0 + np.arange(shape[0]))
    write_scene(scene, tmp_path / "cube.tif")
    assert_optimised(tmp_path / "cube.tif", tile, n_overviews)
    assert [path.name for path in tmp_path.iterdir()] == ["cube.tif"]
    read = read_scene(tmp_path / "cube.tif")
    np.testing.assert_array_equal(read.values, values)
    np.testing.assert_array_equal(read.wavelength, scene.wavelength)


def test_gdal_calls_maps_cloud_optimised(tmp_path):
    scene = make_scene(shape=(30, 600), n_endmembers=3, random_state=0).scene
    result = unmix(scene, 3, method="spa")
    write_scene(result.abundances, tmp_path / "abundances.tif")
    write_dominant(result, tmp_path / "dominant.tif")
    for name in ("abundances.tif", "dominant.tif"):
        assert_optimised(tmp_path / name, 512, 1)
        with rasterio.open(tmp_path / name) as file:
            assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
    with rasterio.open(tmp_path / "dominant.tif", overview_level=0) as file:
        overview = file.read(1)
        assert file.colormap(1)[1] != (0, 0, 0, 255)
    with rasterio.open(tmp_path / "dominant.tif") as file:
        classes = file.read(1)
    # Nearest neighbours: an overview holds pixels of the image.
    np.testing.assert_array_equal(overview, classes[::2, ::2])


def test_some_bands_transfer_little(tmp_path):
    """Ten bands of four tiles are 1.3 MB of 64 MB."""
    values = np.random.default_rng(0).integers(0, 30_000, (150, 450, 480)).astype("int16")
    write_scene(build_scene(values), tmp_path / "cube.tif")
    assert (tmp_path / "cube.tif").stat().st_size > 60e6
    with serve(tmp_path) as server:
        part = read_scene(f"{server.address}/cube.tif").isel(band=slice(50, 60))
        part = part.isel(y=slice(150, 350), x=slice(150, 350))
        np.testing.assert_array_equal(part.values, values[50:60, 150:350, 150:350])
        assert server.n_bytes < 4e6
