"""Files elsewhere: ``https://`` and ``s3://`` addresses and STAC items, read in blocks.

GeoTIFF is read by GDAL's virtual files, zarr and everything on S3 but GeoTIFF through fsspec.
Variables that only some of these libraries know are translated for the others.
"""

import io
import json
import netrc
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from collections.abc import Mapping
from http.cookiejar import CookieJar
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin, urlsplit

from selfdict._errors import SceneError
from selfdict._imports import optional
from selfdict.files.cube import StoredCube
from selfdict.files.formats import FileFormat, format_by_suffix

FORMAT = FileFormat("a remote file", "selfdict.files.remote")
_BLOCK_BYTES = 2**16  # read at least, and kept
_SECONDS = 30  # to wait for a server
_TRIES = 3


def address_of(path: Any) -> str | None:
    """Return the address that a path is, or None; a path has lost one of its slashes."""
    match = re.fullmatch(r"(https?|s3):/{1,2}([^/].*)", str(path))
    if match is None:
        return None
    return f"{match[1]}://{match[2]}"


class RangeFile:
    """A file on an HTTP server, read by ranges, with the methods that h5py needs."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._position = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._opener = _opener(address)
        start, headers = self._request(0, 0)
        total = re.fullmatch(r"bytes 0-0/([0-9]+)", headers.get("Content-Range", ""))
        if total is None or len(start) != 1:
            raise SceneError(address, "its server sends whole files only: download it first")
        self.size = int(total[1])

    def _request(self, first: int, last: int) -> tuple[bytes, Mapping[str, str]]:
        """Return the bytes from the first to the last, and the headers of the answer."""
        request = urllib.request.Request(self._address, headers={"Range": f"bytes={first}-{last}"})
        for attempt in range(_TRIES):
            try:
                with self._opener.open(request, timeout=_SECONDS) as answer:
                    # A server that ignores the range would send everything.
                    data = answer.read(last - first + 1)
                    if answer.status == 206 and len(data) == last - first + 1:
                        return data, answer.headers
                    if answer.status != 206:
                        return b"", {}
                    reason = "sends less than it announces"
            except urllib.error.HTTPError as error:
                reason = f"answers {error.code} {error.reason}"
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, ValueError) as error:
                cause = getattr(error, "reason", error)
                if isinstance(cause, ssl.SSLCertVerificationError):
                    reason = (
                        f"has a certificate that cannot be verified ({cause.verify_message}); "
                        "SSL_CERT_FILE=FILE names one to trust"
                    )
                    break
                reason = f"does not answer ({cause})"
            time.sleep(attempt)
        raise SceneError(self._address, f"its server {reason}")

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position, counted from the start or from the end."""
        self._position = offset
        if whence == io.SEEK_END:
            self._position += self.size
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def read(self, n_bytes: int) -> bytes:
        """Return what follows; blocks that are missing come in as few requests as possible."""
        start = self._position
        n_bytes = min(n_bytes, self.size - start)
        if n_bytes <= 0:
            return b""
        self._position += n_bytes
        numbers = range(start // _BLOCK_BYTES, (start + n_bytes - 1) // _BLOCK_BYTES + 1)
        missing = [number for number in numbers if number not in self._blocks]
        if missing:
            first = missing[0] * _BLOCK_BYTES
            last = min((missing[-1] + 1) * _BLOCK_BYTES, self.size) - 1
            data, _ = self._request(first, last)
            for number in range(missing[0], missing[-1] + 1):
                offset = number * _BLOCK_BYTES - first
                self._blocks[number] = data[offset : offset + _BLOCK_BYTES]
        joined = b"".join(self._blocks[number] for number in numbers)
        for number in numbers:
            self._blocks.move_to_end(number)
        while len(self._blocks) > 2048:
            self._blocks.popitem(last=False)
        offset = start - numbers[0] * _BLOCK_BYTES
        return joined[offset : offset + n_bytes]


def _opener(address: str) -> urllib.request.OpenerDirector:
    """Return what opens addresses, with the user's passwords for the servers that ask for them."""
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    try:
        known = netrc.netrc()
    except (OSError, netrc.NetrcParseError):
        known = None
    if known is not None:
        # Archives redirect to a server of their own for signing in.
        for host, (login, _, password) in known.hosts.items():
            passwords.add_password(None, f"https://{host}/", login, password or "")
    return urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(CookieJar()),
        urllib.request.HTTPBasicAuthHandler(passwords),
    )


def read(path: Path, *, address: str, **options: Any) -> StoredCube:
    """Read the file at an address, or the asset of a STAC item at it."""
    suffix = PurePosixPath(urlsplit(address).path).suffix.lower()
    if suffix in (".json", ".geojson"):
        return _read_item(path, address, **options)
    name = format_by_suffix(Path(PurePosixPath(urlsplit(address).path).name))
    if name == "geotiff":
        return _read_geotiff(address, **options)
    if name == "zarr":
        return _read_zarr(address, **options)
    if name in ("netcdf", "hdf5"):
        return _read_hdf5(path, address, **options)
    raise SceneError(
        address, "only GeoTIFF, NetCDF 4, HDF5 and zarr can be read from an address: download it"
    )


def _open(address: str) -> Any:
    """Return a file at an address, and with it its size, to be read in blocks."""
    if not address.startswith("s3://"):
        return RangeFile(address)
    system = _s3fs(address).S3FileSystem(anon=_is_anonymous())
    return system.open(address, "rb", block_size=_BLOCK_BYTES)


def _is_anonymous() -> bool:
    """Whether requests to S3 are not signed, by the variable that GDAL has for it."""
    return os.environ.get("AWS_NO_SIGN_REQUEST", "").upper() in ("YES", "TRUE", "1")


def _s3fs(address: str) -> Any:
    try:
        return import_module("s3fs")
    except ModuleNotFoundError:
        raise SceneError(
            address, "reading this format from S3 needs s3fs: pip install s3fs"
        ) from None


def _read_geotiff(address: str) -> StoredCube:
    import rasterio

    from selfdict.files import geotiff

    name = f"/vsicurl/{address}"
    if address.startswith("s3://"):
        name = f"/vsis3/{address.removeprefix('s3://')}"
        held = None
    else:
        # Errors of the server are clearer than those of GDAL.
        held = RangeFile(address).size
    environment = rasterio.Env(**_gdal_settings(address))
    environment.__enter__()  # for as long as the process reads the file
    cube = geotiff.describe(rasterio.open(name, driver="GTiff"))
    cube.held = held or 4 * cube.shape[0] * cube.shape[1] * cube.shape[2]
    return cube


def _gdal_settings(address: str) -> dict[str, Any]:
    """Return settings of GDAL, among them those of variables that it does not know."""
    settings: dict[str, Any] = {
        # Nothing beside the file is looked for.
        "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
        "GDAL_HTTP_TIMEOUT": _SECONDS,
        "GDAL_HTTP_MAX_RETRY": _TRIES - 1,
        "GDAL_HTTP_RETRY_DELAY": 1,  # seconds; its default is 30
        "CPL_VSIL_CURL_CHUNK_SIZE": _BLOCK_BYTES,
    }
    if address.startswith("http://"):
        settings["GDAL_HTTP_NETRC"] = "NO"  # its passwords are not for servers without encryption
    certificates = os.environ.get("SSL_CERT_FILE")
    if certificates:
        settings["GDAL_CURL_CA_BUNDLE"] = certificates
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint and "AWS_S3_ENDPOINT" not in os.environ:
        parts = urlsplit(endpoint)
        settings["AWS_S3_ENDPOINT"] = parts.netloc + parts.path.rstrip("/")
        # Servers other than Amazon's have no host name for each bucket.
        settings["AWS_VIRTUAL_HOSTING"] = "FALSE"
        if parts.scheme == "http":
            settings["AWS_HTTPS"] = "NO"
    return settings


def _read_hdf5(path: Path, address: str, **options: Any) -> StoredCube:
    from selfdict.files import hdf5

    source = _open(address)
    if source.read(3) == b"CDF":
        raise SceneError(address, "NetCDF 3 is not read from elsewhere: download it first")
    cube = hdf5.read_file(hdf5.Hdf5File(path, source), **options)
    cube.held = source.size
    return cube


def _read_zarr(
    address: str, *, variable: str | None = None, layout: str | None = None
) -> StoredCube:
    from selfdict.files import zarr_store

    # zarr imports them itself, with a message that does not tell what to install.
    if address.startswith("s3://"):
        _s3fs(address)
        settings: dict[str, Any] = {"anon": _is_anonymous()}
    else:
        optional("aiohttp")
        # It then reads ~/.netrc, whose passwords are not for servers without encryption.
        settings = {"client_kwargs": {"trust_env": address.startswith("https://")}}
    return zarr_store.read_group(address, variable, layout, settings=settings)


def _read_item(path: Path, address: str, **options: Any) -> StoredCube:
    """Read the asset of a STAC item that is a cube, or the one that ``variable`` names."""
    from selfdict.files.wavelengths import add_stac_bands

    file = _open(address)
    item = json.loads(file.read(file.size))
    if not isinstance(item, dict) or not isinstance(item.get("assets"), dict):
        raise SceneError(address, "is not a STAC item: it has no assets")
    wanted = options.pop("variable", None)
    fitting = {}
    for key, asset in item["assets"].items():
        kind = str(asset.get("type", "")).lower()
        is_data = "data" in asset.get("roles", ["data"])
        is_cube = is_data and re.search("geotiff|netcdf|hdf5|zarr|x-hdf", kind) is not None
        if key == wanted or (is_cube and wanted is None):
            fitting[key] = asset
    if len(fitting) != 1:
        listed = ", ".join(list(fitting or item["assets"])[:12])
        raise SceneError(address, f"name one asset by variable=…; there are: {listed}")
    ((key, asset),) = fitting.items()
    href = urljoin(address, str(asset.get("href")))
    if address_of(href) is None:
        raise SceneError(address, f"the asset {key} has no address that can be read: {href[:80]!r}")
    cube = read(path, address=href, **options)
    cube.notes.append(f"the asset {key} of the item is read, {href}")
    if cube.wavelength is None:
        add_stac_bands(cube, asset.get("eo:bands", asset.get("bands")))
    return cube
