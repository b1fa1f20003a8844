"""Maps of a large scene beside the speed of reading: ``python -m benchmarks maps``.

An ENVI file and a GeoTIFF, compressed by deflate, with 3 GB of values are generated, read block by
block, and mapped: nonnegative coefficients, residuals and, if asked for, standard errors, held in
memory. The files are removed at the end. The table has MB of values per second; *bytes* are those
of the file, read as they are.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import rasterio
from rasterio.windows import Window

from benchmarks.measuring import Table, quickest
from selfdict.scene import build_scene, read_scene, write_scene
from selfdict.scene.blocks import blocks, stored_matrix
from selfdict.scene.maps import FitBlock
from selfdict.scene.passes import over_blocks

N_BANDS = 162
N_COLUMNS = 1000
N_ROWS = 64  # of the strip that the files repeat
RANKS = (6, 12)


def run(quick: bool = False) -> None:
    """Print the rates of reading and of mapping."""
    n_strips = 72
    if quick:
        n_strips = 2
    gigabytes = 4e-9 * N_BANDS * N_COLUMNS * N_ROWS * n_strips
    print(f"maps: {gigabytes:.2f} GB of float32, {N_BANDS} bands, nnls; MB/s and % of reading")
    columns = ["format:<8|file, GB:8.2f|bytes:7.0f|reading:8.0f"]
    columns += [f"r = {r}{also}:>18" for r in RANKS for also in ("", " with errors")]
    table = Table("|".join(columns))
    for name, write in (("ENVI", _write_envi), ("GeoTIFF", _write_geotiff)):
        with tempfile.TemporaryDirectory() as folder:
            path, data = write(Path(folder), n_strips)
            stored = data.stat().st_size / 1e9
            plain = stored / _seconds(partial(_read_bytes, data))
            reading = gigabytes / _seconds(partial(_read, path))
            rates = []
            for r in RANKS:
                for with_errors in (False, True):
                    bands = np.ones(N_BANDS, dtype=bool)
                    task = FitBlock(bands, _spectra(r), "nnls", with_uncertainty=with_errors)
                    rate = gigabytes / _seconds(partial(_fit, path, task))
                    rates.append(f"{1e3 * rate:.0f} ({100 * rate / reading:.0f} %)")
            table.row(name, stored, 1e3 * plain, 1e3 * reading, *rates)


def _seconds(task: Callable[[], None]) -> float:
    seconds, _ = quickest(task, 2)
    return seconds


def _read_bytes(path: Path) -> None:
    buffer = bytearray(1 << 25)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def _fit(path: Path, task: FitBlock) -> None:
    for _ in over_blocks(read_scene(path), task):
        pass


def _read(path: Path) -> None:
    scene = read_scene(path)
    for part in blocks(scene):
        stored_matrix(scene.isel(y=part[0], x=part[1]))


def _spectra(r: int) -> np.ndarray:
    rng = np.random.default_rng(r)
    steps = rng.standard_normal((N_BANDS, r)).cumsum(axis=0)
    return (0.5 + 0.4 * steps / np.abs(steps).max(axis=0)).astype(np.float32)


def _strip() -> np.ndarray:
    """Return some rows of mixtures of six spectra (band, y, x)."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(0.3 * np.ones(6), (N_ROWS, N_COLUMNS)).astype(np.float32)
    values = np.tensordot(_spectra(6), shares, axes=([1], [2]))
    values += 0.005 * rng.standard_normal(values.shape, dtype=np.float32)
    return values


def _write_envi(folder: Path, n_strips: int) -> tuple[Path, Path]:
    """Write the strip so many times, and return the paths of the header and the data."""
    header = write_scene(build_scene(_strip()), folder / "scene.hdr", interleave="bil")
    data = header.with_suffix(".img")
    strip = data.read_bytes()
    with data.open("ab") as file:
        for _ in range(n_strips - 1):
            file.write(strip)
    text = header.read_text()
    header.write_text(text.replace(f"lines = {N_ROWS}", f"lines = {N_ROWS * n_strips}"))
    return header, data


def _write_geotiff(folder: Path, n_strips: int) -> tuple[Path, Path]:
    """Do the same in tiles of whole spectra."""
    strip = _strip()
    profile = dict(driver="GTiff", dtype="float32", count=N_BANDS, width=N_COLUMNS)
    profile |= dict(height=N_ROWS * n_strips, interleave="pixel", bigtiff="yes")
    profile |= dict(crs="EPSG:32632", transform=rasterio.Affine(30, 0, 0, 0, -30, 0))
    profile |= dict(tiled=True, blockxsize=64, blockysize=N_ROWS, compress="deflate", zlevel=1)
    path = folder / "scene.tif"
    with rasterio.open(path, "w", **profile) as file:
        for k in range(n_strips):
            file.write(strip, window=Window(0, N_ROWS * k, N_COLUMNS, N_ROWS))
    return path, path
