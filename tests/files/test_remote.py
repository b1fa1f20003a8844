"""Files on a server: ranges, STAC items, servers that fail, and files that name addresses."""

import json
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from checks import refused
from range_server import serve
from sensor_files import write_image, write_neon

from selfdict.cli.source import Source
from selfdict.scene import SceneError, read_scene

CUBE = np.random.default_rng(0).integers(1, 9000, (30, 64, 80)).astype("int16")


def test_products_in_hdf5(tmp_path):
    path = write_neon(tmp_path / "neon.h5")
    with serve(tmp_path) as server:
        scene = read_scene(f"{server.address}/neon.h5")
        np.testing.assert_array_equal(scene.values, read_scene(path).values)
        assert scene.attrs["scale_factor"] == 1e-4


def write_holes(path):
    """Write a file of 1 GB without a value in it, which takes little of the disk."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((1, 100, 100))
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((200, 2000, 1250))
    with h5py.File(path, "w") as file:
        h5py.h5d.create(file.id, b"cube", h5py.h5t.NATIVE_INT16, space, creation)
        file["wavelength"] = np.linspace(400, 2500, 200)


def test_the_command_says_that_all_is_transferred(tmp_path, capsys):
    write_image(tmp_path / "cube.tif", CUBE)
    with serve(tmp_path) as server:
        Source(Path(f"{server.address}/cube.tif")).read(at_once=False)
    assert "from the server" in capsys.readouterr().err


def test_only_what_is_used_is_transferred(tmp_path):
    """Ten bands of 200 × 200 pixels are 0.8 MB of 1 GB."""
    write_holes(tmp_path / "cube.h5")
    assert (tmp_path / "cube.h5").stat().st_size > 1e9
    with serve(tmp_path) as server:
        scene = read_scene(f"{server.address}/cube.h5")
        part = scene.isel(band=slice(100, 110), y=slice(500, 700), x=slice(400, 600))
        assert part.values.nbytes == 800_000
        assert server.n_bytes < 4_000_000


def test_s3_at_another_endpoint(tmp_path, monkeypatch):
    """GDAL reads GeoTIFF there; test_every_format_on_s3 reads other files."""
    (tmp_path / "some-bucket").mkdir()
    write_image(tmp_path / "some-bucket" / "cube.tif", CUBE)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with serve(tmp_path) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
        np.testing.assert_array_equal(read_scene("s3://some-bucket/cube.tif").values, CUBE)
        refused("s3://some-bucket/missing.tif")


def write_zarr(path, values=CUBE, consolidated=True):
    dims = ("band", "y", "x")
    data = xr.Dataset({"cube": (dims, values)}, {"wavelength": ("band", np.arange(400.0, 430))})
    data.to_zarr(path, zarr_format=2, consolidated=consolidated)


def test_zarr(tmp_path):
    pytest.importorskip("aiohttp")
    write_zarr(tmp_path / "cube.zarr")
    write_zarr(tmp_path / "plain.zarr", consolidated=False)
    with serve(tmp_path) as server:
        scene = read_scene(f"{server.address}/cube.zarr")
        np.testing.assert_array_equal(scene.values, CUBE)
        assert scene.wavelength.values[0] == 400
        refused(f"{server.address}/plain.zarr")
        refused(f"{server.address}/missing.zarr")


def write(path, values=CUBE):
    """Write a cube in the format of the file's name; the library for its reader may be missing."""
    if path.suffix == ".zarr":
        pytest.importorskip("aiohttp")
        write_zarr(path, values)
    elif path.suffix == ".tif":
        write_image(path, values)
    else:
        with h5py.File(path, "w") as file:
            file["cube"] = values
            file["wavelength"] = np.arange(400.0, 430)


@pytest.mark.parametrize("name", ["cube.tif", "cube.h5", "cube.zarr"])
def test_passwords_are_not_sent_without_encryption(tmp_path, monkeypatch, name):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login someone password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / name)
    with serve(tmp_path) as server:
        read_scene(f"{server.address}/{name}", at_once=False)
        assert server.credentials == {None}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
@pytest.mark.parametrize("name", ["cube.tif", "cube.h5", "cube.zarr"])
def test_a_certificate_of_its_own(tmp_path, monkeypatch, name):
    write(tmp_path / name)
    certificate = tmp_path / "certificate.pem"
    command = "openssl req -x509 -nodes -newkey rsa:2048 -days 2 -subj /CN=127.0.0.1"
    command += f" -addext subjectAltName=IP:127.0.0.1 -out {certificate} -keyout {certificate}.key"
    subprocess.run(command.split(), check=True, capture_output=True)
    with certificate.open("a") as file:
        file.write((tmp_path / "certificate.pem.key").read_text())
    with serve(tmp_path, certificate=certificate) as server:
        refused(f"{server.address}/{name}")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        np.testing.assert_array_equal(read_scene(f"{server.address}/{name}").values, CUBE)


def test_a_stac_item(tmp_path):
    write_image(tmp_path / "cube.tif", CUBE)
    bands = [{"center_wavelength": 0.4 + 0.01 * k} for k in range(30)]
    image = {"href": "./cube.tif", "type": "image/tiff; application=geotiff", "roles": ["data"]}
    preview = {"href": "cube.png", "type": "image/png", "roles": ["thumbnail"]}
    item = {"type": "Feature", "assets": {"image": image | {"eo:bands": bands}, "look": preview}}
    (tmp_path / "item.json").write_text(json.dumps(item))
    item["assets"] |= {"second": image, "local": image | {"href": "file:///etc/passwd"}}
    (tmp_path / "two.json").write_text(json.dumps(item))
    with serve(tmp_path) as server:
        scene = read_scene(f"{server.address}/item.json")
        np.testing.assert_array_equal(scene.values, CUBE)
        np.testing.assert_allclose(scene.wavelength.values, 400 + 10 * np.arange(30))
        with pytest.raises(SceneError, match="image, second"):
            read_scene(f"{server.address}/two.json")
        assert read_scene(f"{server.address}/two.json", variable="second").shape == CUBE.shape
        refused(f"{server.address}/two.json", variable="local")


def test_servers_that_fail(tmp_path):
    write_neon(tmp_path / "neon.h5")
    with serve(tmp_path) as server:
        server.failures = [503, 503]
        assert read_scene(f"{server.address}/neon.h5").sizes["band"] == 6
        for failures in ([403], [503] * 3):
            server.failures = failures
            with pytest.raises(SceneError, match=str(failures[0])) as caught:
                read_scene(f"{server.address}/neon.h5")
            assert caught.value.path == f"{server.address}/neon.h5"
        refused(f"{server.address}/missing.h5")
        refused(f"{server.address}/cube.mat")
        refused(f"{server.address}/neon.h5", mask=f"{server.address}/neon.h5")
        address = server.address
    refused(f"{address}/neon.h5")


@pytest.mark.parametrize("name", ["cube.tif", "cube.h5", "cube.zarr"])
def test_a_server_that_fails_in_the_middle(tmp_path, name):
    write(tmp_path / name, np.full((30, 300, 400), 3.0))
    with serve(tmp_path) as server:
        scene = read_scene(f"{server.address}/{name}", at_once=False)
        server.failures = [503] * 50
        with pytest.raises(SceneError) as caught:
            scene.values  # noqa: B018
        assert caught.value.path == f"{server.address}/{name}"
        server.failures = []
        assert scene.values.shape == scene.shape


def test_a_file_of_netcdf_3(tmp_path):
    xr.Dataset({"cube": (("band", "y", "x"), CUBE)}).to_netcdf(tmp_path / "a.nc", engine="scipy")
    with serve(tmp_path) as server, pytest.raises(SceneError):
        read_scene(f"{server.address}/a.nc")


@pytest.mark.parametrize("name", ["neon.h5", "cube.tif"])
def test_a_server_without_ranges_is_refused(tmp_path, name):
    write_neon(tmp_path / "neon.h5")
    write_image(tmp_path / "cube.tif", CUBE)
    with serve(tmp_path, has_ranges=False) as server:
        refused(f"{server.address}/{name}")
        assert server.n_bytes < 2**20


def test_no_file_makes_the_program_open_an_address(tmp_path):
    write_image(tmp_path / "cube.tif", CUBE)
    with serve(tmp_path) as server:
        address = f"/vsicurl/{server.address}/cube.tif"
        source = f"<SourceFilename>{address}</SourceFilename><SourceBand>1</SourceBand>"
        band = f'<VRTRasterBand dataType="Int16" band="1"><SimpleSource>{source}'
        text = f'<VRTDataset rasterXSize="80" rasterYSize="64">{band}</SimpleSource>'
        (tmp_path / "a.tif").write_text(f"{text}</VRTRasterBand></VRTDataset>")
        header = "ENVI\nsamples = 80\nlines = 64\nbands = 30\ndata type = 2\n"
        (tmp_path / "b.hdr").write_text(f"{header}data file = {server.address}/cube.tif\n")
        for name in ("a.tif", "b.hdr"):
            refused(tmp_path / name)
        assert server.requests == []


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """The address of a bucket at a server of moto with a cube in each format."""
    s3fs = pytest.importorskip("s3fs")
    moto_server = pytest.importorskip("moto.server")
    names = ("cube.tif", "cube.h5", "cube.nc", "cube.zarr")
    for name in names:
        write(tmp_path / name)
    server = moto_server.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    system = s3fs.S3FileSystem(skip_instance_cache=True)
    system.mkdir("some-bucket")
    for name in names:
        system.put(str(tmp_path / name), f"some-bucket/{name}", recursive=True)
    yield "s3://some-bucket"
    server.stop()


def test_every_format_on_s3(bucket):
    for name in ("cube.tif", "cube.h5", "cube.nc", "cube.zarr"):
        np.testing.assert_array_equal(read_scene(f"{bucket}/{name}").values, CUBE)
    for name in ("missing.tif", "missing.h5", "missing.zarr"):
        assert refused(f"{bucket}/{name}").startswith(f"{bucket}/{name}: ")
