"""Files on S3, at a server of moto's on this machine.

Neither package is among those of the tests: ``pip install 'moto[server]' s3fs`` first.
"""

import h5py
import numpy as np
import pytest
import xarray as xr
from sensor_files import write_image

from selfdict.scene import SceneError, read_scene

s3fs = pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")

CUBE = np.random.default_rng(0).integers(1, 9000, (30, 64, 80)).astype("int16")
WAVELENGTH = np.arange(400.0, 430)


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """Return the address of a bucket with a cube in each format."""
    write_image(tmp_path / "cube.tif", CUBE)
    with h5py.File(tmp_path / "cube.h5", "w") as file:
        file["cube"] = CUBE
        file["wavelength"] = WAVELENGTH
    data = xr.Dataset({"cube": (("band", "y", "x"), CUBE)}, {"wavelength": ("band", WAVELENGTH)})
    data.to_netcdf(tmp_path / "cube.nc", engine="netcdf4")
    data.to_zarr(tmp_path / "cube.zarr", zarr_format=2)
    server = moto_server.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    system = s3fs.S3FileSystem(skip_instance_cache=True)
    system.mkdir("some-bucket")
    for name in ("cube.tif", "cube.h5", "cube.nc", "cube.zarr"):
        system.put(str(tmp_path / name), f"some-bucket/{name}", recursive=True)
    yield "s3://some-bucket"
    server.stop()


def test_every_format(bucket):
    for name in ("cube.tif", "cube.h5", "cube.nc", "cube.zarr"):
        np.testing.assert_array_equal(read_scene(f"{bucket}/{name}").values, CUBE)
    for name in ("missing.tif", "missing.h5", "missing.zarr"):
        with pytest.raises(SceneError) as caught:
            read_scene(f"{bucket}/{name}")
        assert caught.value.path == f"{bucket}/{name}"
