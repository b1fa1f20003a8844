"""Time to open, and time and memory to unmix, files of 1.5 GB in the layouts of sensors.

``python -m benchmarks sensors`` prints a line for each. Files are made of one block of mixed
spectra with noise, compressed once and repeated, in a temporary folder. Each is opened by
``read_scene`` in a process of its own, and unmixed by the command ``selfdict unmix FILE -r 6`` in
another one, maps and report included. Seconds of unmixing are those of the processor, all cores
together; the peak of memory is that of the whole process (``ru_maxrss``).
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from selfdict.datasets import make_scene

RANK = 6
MOST_SECONDS = 1800  # of the processor, for one file
_OPEN = """
import json, sys, time
from selfdict.scene import read_scene
began = time.perf_counter()
scene = read_scene(sys.argv[1])
seconds = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "bytes": scene.nbytes, "shape": scene.shape}))
"""


@dataclass(frozen=True)
class Layout:
    """How a cube is stored: bands and block (rows, columns) of a chunk, and the order of axes."""

    n_bands: int
    n_rows: int
    n_columns: int
    chunk: tuple[int, int, int]  # bands, rows, columns
    axes: tuple[int, int, int]  # where the file has band, row and column
    dtype: str

    def stored(self, values: tuple[int, int, int]) -> tuple[int, ...]:
        """Return sizes or offsets of band, row and column in the order of the file."""
        ordered = [0, 0, 0]
        for axis, value in zip(self.axes, values):
            ordered[axis] = value
        return tuple(ordered)


def run(quick: bool = False) -> None:
    """Print a line for each kind of file; ``quick`` takes a twentieth of the rows."""
    for name, write in WRITERS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder), 20 if quick else 1)
            measure(name, path, Path(folder) / "out")


def measure(name: str, path: Path, output: Path, *options: str) -> None:
    """Open and unmix a file, with further options of the command, and print what it took."""
    words = [sys.executable, "-c", _OPEN, str(path)]
    opened = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    shape = " × ".join(str(size) for size in opened["shape"])
    print(
        f"sensors: {name}, {shape}, {opened['bytes'] / 1e9:.2f} GB in a file of "
        f"{path.stat().st_size / 1e9:.2f} GB: opened in {opened['seconds']:.2f} s, ",
        end="",
        flush=True,
    )
    words = [sys.executable, "-m", "selfdict", "unmix", str(path), "-r", str(RANK)]
    code, usage = run_limited([*words, "-o", str(output), "--quiet", *options])
    seconds = usage.ru_utime + usage.ru_stime
    if code != 0:
        print(f"not unmixed after {seconds:.0f} s (exit code {code})", flush=True)
        return
    record = json.loads((output / "run.json").read_text(encoding="utf-8"))
    print(
        f"unmixed in {seconds:.0f} s, peak {usage.ru_maxrss * 1024 / 1e9:.2f} GB, "
        f"relative error {record['relative_error']:.2%}",
        flush=True,
    )


def run_limited(words: list[str]) -> tuple[int, resource.struct_rusage]:
    """Run a command for at most ``MOST_SECONDS``; return its exit code and what it has used."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))

    process = subprocess.Popen(words, preexec_fn=limit)
    # Other than Popen.wait it tells what the process has used.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def write_cube(file: Any, name: str, layout: Layout, encode: Callable[[Any], Any]) -> Any:
    """Write a cube of repeated blocks; ``encode`` turns reflectance into stored numbers."""
    shape = layout.stored((layout.n_bands, layout.n_rows, layout.n_columns))
    options = {"chunks": layout.stored(layout.chunk), "compression": "gzip"}
    cube = file.create_dataset(name, shape, layout.dtype, **options)
    spectra = make_scene((16, 16), n_bands=layout.n_bands, n_endmembers=RANK, random_state=0)
    n_bands, n_rows, n_columns = layout.chunk
    rng = np.random.default_rng(0)
    abundances = rng.dirichlet(np.ones(RANK), n_rows * n_columns).T.astype(np.float32)
    abundances[:, :RANK] = np.eye(RANK)
    for band in range(0, layout.n_bands, n_bands):
        some = spectra.endmembers[:, band : band + n_bands].T.astype(np.float32)
        block = np.ones((n_bands, n_rows * n_columns), np.float32)  # the last one may be padded
        block[: len(some)] = some @ abundances
        block += 0.002 * rng.standard_normal(block.shape, dtype=np.float32)
        stored = encode(np.clip(block, 0.001, 1.2)).astype(layout.dtype)
        stored = stored.reshape(n_bands, n_rows, n_columns).transpose(np.argsort(layout.axes))
        packed = zlib.compress(np.ascontiguousarray(stored).tobytes(), 1)
        for row in range(0, layout.n_rows, n_rows):
            for column in range(0, layout.n_columns, n_columns):
                cube.id.write_direct_chunk(layout.stored((band, row, column)), packed)
    return cube


def write_prisma(folder: Path, divisor: int) -> Path:
    """Write PRISMA L2D, the bands of a chunk complete."""
    path = folder / "prisma.he5"
    with h5py.File(path, "w") as file:
        for detector, ends, n_bands in (("Vnir", (402, 973), 66), ("Swir", (943, 2497), 174)):
            layout = Layout(
                n_bands, 2860 // divisor, 1250, (n_bands, 26, 1250), (1, 0, 2), "uint16"
            )
            name = f"HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields/{detector.upper()}_Cube"
            write_cube(file, name, layout, lambda values: values / 1.25 * 65535)
            wavelength = np.linspace(*ends, n_bands)[::-1]
            file.attrs[f"List_Cw_{detector}"] = wavelength
            file.attrs[f"List_Fwhm_{detector}"] = np.full(n_bands, 10.0)
            file.attrs[f"List_Cw_{detector}_Flags"] = np.ones(n_bands, np.uint8)
            file.attrs[f"L2Scale{detector}Min"] = 0.0
            file.attrs[f"L2Scale{detector}Max"] = 1.25
    return path


def write_neon(folder: Path, divisor: int) -> Path:
    """Write NEON AOP reflectance in small chunks."""
    path = folder / "neon.h5"
    layout = Layout(426, 2400 // divisor, 1000, (54, 60, 50), (2, 0, 1), "int16")
    with h5py.File(path, "w") as file:
        name = "SITE/Reflectance/Reflectance_Data"
        cube = write_cube(file, name, layout, lambda values: values * 10000)
        cube.attrs["Scale_Factor"] = 10000.0
        cube.attrs["Data_Ignore_Value"] = -9999.0
        wavelength = np.linspace(381, 2511, 426)
        file["SITE/Reflectance/Metadata/Spectral_Data/Wavelength"] = wavelength
    return path


def write_tanager(folder: Path, divisor: int) -> Path:
    """Write a Tanager ortho product whose chunks are planes of one band."""
    path = folder / "tanager.h5"
    n_rows = 1050 // divisor
    layout = Layout(426, n_rows, 1000, (1, n_rows, 1000), (0, 1, 2), "float32")
    with h5py.File(path, "w") as file:
        name = "HDFEOS/GRIDS/HYP/Data Fields/surface_reflectance"
        cube = write_cube(file, name, layout, lambda values: values)
        cube.attrs["wavelengths"] = np.linspace(376, 2499, 426)
    return path


def write_aviris(folder: Path, divisor: int) -> Path:
    """Write AVIRIS-3 L2A in chunks of some bands."""
    path = folder / "aviris.nc"
    layout = Layout(284, 1536 // divisor, 1024, (2, 64, 256), (0, 1, 2), "float32")
    with h5py.File(path, "w") as file:
        write_cube(file, "reflectance/reflectance", layout, lambda values: values)
        file["reflectance/wavelength"] = np.linspace(380, 2500, 284)
    return path


def write_emit(folder: Path, divisor: int) -> Path:
    """Write EMIT L2A, whose table turns the swath by 30 degrees on the map."""
    path = folder / "emit.nc"
    layout = Layout(285, 1280 // divisor, 1242, (32, 64, 46), (2, 0, 1), "float32")
    with h5py.File(path, "w") as file:
        write_cube(file, "reflectance", layout, lambda values: values)
        file["sensor_band_parameters/wavelengths"] = np.linspace(381, 2493, 285)
        file.attrs["geotransform"] = [-110.0, 0.0005, 0.0, 40.0, 0.0, -0.0005]
        # The map is as large as the diagonal of the swath in both directions.
        size = int(np.hypot(layout.n_rows, layout.n_columns))
        y, x = np.mgrid[0:size, 0:size] - size / 2
        angle = np.radians(30)
        row = np.round(np.cos(angle) * y - np.sin(angle) * x + layout.n_rows / 2)
        column = np.round(np.sin(angle) * y + np.cos(angle) * x + layout.n_columns / 2)
        seen = (row >= 0) & (row < layout.n_rows) & (column >= 0) & (column < layout.n_columns)
        # Counted from 1; 0 is a pixel that the sensor did not see.
        file["location/glt_y"] = np.where(seen, row + 1, 0).astype(np.int32)
        file["location/glt_x"] = np.where(seen, column + 1, 0).astype(np.int32)
    return path


def write_any(folder: Path, divisor: int) -> Path:
    """Write an array (y, x, band) that no reader knows."""
    path = folder / "cube.h5"
    layout = Layout(200, 2280 // divisor, 1000, (200, 19, 100), (2, 0, 1), "float32")
    with h5py.File(path, "w") as file:
        write_cube(file, "group/cube", layout, lambda values: values)
    return path


WRITERS = {
    "PRISMA L2D": write_prisma,
    "NEON AOP": write_neon,
    "Tanager": write_tanager,
    "AVIRIS-3 L2A": write_aviris,
    "EMIT L2A": write_emit,
    "any HDF5": write_any,
}

if __name__ == "__main__":
    run()
