"""GeoTIFF against rasterio."""

import struct

import numpy as np
import pytest
import rasterio
from affine import Affine
from scene_sample import TRANSFORM, assert_same, full_scene

from selfdict.scene import SceneError, build_scene, read_scene, transform_of, write_scene

DTYPES = ["uint8", "int16", "int32", "float32", "float64", "uint16", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("nodata", [None, 200])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rasterio_reads_what_we_write(tmp_path, dtype, nodata):
    scene = full_scene(dtype, nodata)
    write_scene(scene, tmp_path / "cube.tif")
    with rasterio.open(tmp_path / "cube.tif") as image:
        np.testing.assert_array_equal(image.read(), scene.values)
        assert image.nodata == nodata
        assert image.crs.to_epsg() == 32633
        assert image.transform == TRANSFORM
        assert list(image.descriptions) == scene.band_name.values.tolist()
        assert [
            float(image.tags(band)["wavelength"]) for band in image.indexes
        ] == scene.wavelength.values.tolist()
    assert_same(read_scene(tmp_path / "cube.tif"), scene)


@pytest.mark.parametrize("tiled", [True, False])
@pytest.mark.parametrize("interleave", ["band", "pixel"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_we_read_what_rasterio_writes(tmp_path, dtype, interleave, tiled):
    values = np.arange(3 * 40 * 50).reshape(3, 40, 50).astype(dtype)
    profile = {
        "driver": "GTiff",
        "count": 3,
        "height": 40,
        "width": 50,
        "dtype": dtype,
        "interleave": interleave,
    }
    if tiled:
        profile |= {"tiled": True, "blockxsize": 16, "blockysize": 16}
    turned = Affine(0.6, 0.8, 10.0, 0.8, -0.6, 20.0)
    with rasterio.open(
        tmp_path / "cube.tif", "w", crs="EPSG:3035", transform=turned, **profile
    ) as image:
        image.write(values)
        image.scales, image.offsets = (0.5,) * 3, (-1.0,) * 3
        for band in image.indexes:
            image.update_tags(
                band, ns="IMAGERY", CENTRAL_WAVELENGTH_UM=str(band / 10), FWHM_UM="0.01"
            )
    scene = read_scene(tmp_path / "cube.tif")
    np.testing.assert_array_equal(scene.values, values)
    assert scene.dtype == dtype
    assert scene.rio.crs.to_epsg() == 3035
    assert transform_of(scene).almost_equals(turned)
    assert scene.wavelength.values.tolist() == [100.0, 200.0, 300.0]
    assert scene.fwhm.values.tolist() == [10.0] * 3
    assert scene.attrs == {"scale_factor": 0.5, "add_offset": -1.0}


def test_without_a_place(tmp_path):
    scene = build_scene(np.ones((2, 3, 4), dtype=np.uint8))
    write_scene(scene, tmp_path / "cube.tif")
    read = read_scene(tmp_path / "cube.tif")
    assert transform_of(read) is None
    assert read.rio.crs is None
    np.testing.assert_array_equal(read.values, scene.values)


def test_no_data_that_does_not_fit(tmp_path):
    with pytest.raises(SceneError):
        write_scene(
            build_scene(np.ones((2, 3, 4), dtype=np.uint8), nodata=-9999), tmp_path / "cube.tif"
        )


def test_complex_values_are_refused(tmp_path):
    profile = {
        "driver": "GTiff",
        "count": 1,
        "height": 2,
        "width": 2,
        "dtype": "complex64",
        "transform": TRANSFORM,
    }
    with rasterio.open(tmp_path / "cube.tif", "w", **profile) as image:
        image.write(np.ones((1, 2, 2), dtype=np.complex64))
    with pytest.raises(SceneError):
        read_scene(tmp_path / "cube.tif")


# An error message of GDAL about this file quotes a byte that is not UTF-8.
NOISY = """
import sys
from selfdict.scene import SceneError, read_scene
try:
    read_scene(sys.argv[1])
except SceneError as error:
    print(error.reason)
"""


DAMAGES = {
    "metadata": [(b"<GDALMetadata>", b"<GDALMetadat\xff>")],
    # No projection, and an unknown unit of angles, which PROJ looks for in its data.
    "projection": [
        (struct.pack("<4H", 3072, 0, 1, 32633), struct.pack("<4H", 0, 0, 1, 32633)),
        (struct.pack("<4H", 2054, 0, 1, 9102), struct.pack("<4H", 2054, 0, 1, 32910)),
    ],
}
