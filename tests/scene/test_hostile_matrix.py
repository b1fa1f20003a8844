"""Each format under each attack: the command prints one line and exits with 2, quickly.

All files are given to one process, after good ones, so that imports do not count.
"""

import json
import os
import struct
import subprocess
import sys
import zlib

import h5py
import numpy as np
import pytest
from scene_sample import full_scene
from scipy.io import savemat
from test_emit import write_emit
from test_limits import enlarge_tiles, tiff

from fuzz.product_files import header_text, metadata, write_desis, write_enmap
from fuzz.sensor_files import (
    PRISMA_FIELDS,
    TANAGER_GRID,
    TANAGER_SWATH,
    write_aviris,
    write_neon,
    write_prisma,
    write_tanager,
)
from selfdict.scene import write_scene

# For each path: the exit code, the lines on both streams, seconds, and growth of memory in MiB.
COMMAND = """
import contextlib, io, json, os, resource, sys, time
from selfdict.cli import main
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
for path in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    code, before, began = None, used(), time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(["info", path])
        except SystemExit as end:
            code = end.code
    seconds = time.process_time() - began
    sys.__stdout__.write(json.dumps({
        "code": code, "out": out.getvalue(), "err": err.getvalue(),
        "seconds": seconds, "mebibytes": used() - before}) + chr(10))
"""


def write_swath(path):
    return write_tanager(path, swath=True)


def write_emit_file(path):
    return write_emit(path, np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 4)))


def write_any(path):
    with h5py.File(path, "w") as file:
        file["group/cube"] = np.random.default_rng(0).random((4, 5, 3))
        file["group/wavelength"] = np.array([400.0, 500.0, 600.0])
    return path


def write_matlab_7(path):
    with h5py.File(path, "w") as file:
        file["cube"] = np.random.default_rng(0).random((4, 5, 6))
    return path


# Formats that are HDF5 inside: the writer, the suffix, and the cube or what leads to it.
HDF5 = {
    "emit": (write_emit_file, ".nc", "reflectance"),
    "aviris": (write_aviris, ".nc", "reflectance/reflectance"),
    "prisma": (write_prisma, ".he5", f"{PRISMA_FIELDS}/VNIR_Cube"),
    "neon": (write_neon, ".h5", "SERC/Reflectance/Reflectance_Data"),
    "tanager": (write_tanager, ".h5", f"{TANAGER_GRID}/Data Fields/surface_reflectance"),
    "tanager swath": (write_swath, ".h5", f"{TANAGER_SWATH}/Data Fields/surface_reflectance"),
    "any HDF5": (write_any, ".h5", "group/cube"),
    "matlab 7.3": (write_matlab_7, ".mat", "cube"),
}


def write_tiff(path):
    return write_scene(full_scene(), path)


def write_envi(path):
    return write_scene(full_scene(), path)


def write_matlab_5(path):
    savemat(path, {"cube": np.random.default_rng(0).random((4, 5, 6))})
    return path


def write_enmap_image(path):
    return write_enmap(path.parent)[0]


def write_desis_image(path):
    return write_desis(path.parent)[0]


OTHERS = {
    "geotiff": (write_tiff, ".tif"),
    "enmap": (write_enmap_image, ".tif"),
    "desis": (write_desis_image, ".tif"),
    "envi": (write_envi, ".hdr"),
    "matlab 5": (write_matlab_5, ".mat"),
}


def truncate(kind, path):
    """Leave a third of a file; of ENVI the data file, of a product the image."""
    if kind == "envi":
        path = path.with_suffix(".img")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def new_cube(path, cube, **options):
    with h5py.File(path, "r+") as file:
        dtype = file[cube].dtype
        del file[cube]
        file.create_dataset(cube, dtype=dtype, **options)


def lie_about_sizes(kind, path):
    if kind in HDF5:
        shape = (10**6, 10**6, 10**6)
        new_cube(path, HDF5[kind][2], shape=shape, chunks=(16, 16, 16))
    elif kind == "envi":
        path.write_text(path.read_text().replace("lines = ", "lines = 1000000000"))
    elif kind == "matlab 5":
        data = path.read_bytes()
        sizes = struct.pack("<3i", 4, 5, 6)
        path.write_bytes(data.replace(sizes, struct.pack("<3i", 40_000, 50_000, 60_000)))
    else:
        tiff(path, 60_000, 50_000, (256, 256), 8)
        if kind == "desis":
            header = path.with_suffix(".hdr")
            header.write_text(header_text({"samples": 60_000, "lines": 50_000}))


def enlarge_chunks(kind, path):
    if kind in HDF5:
        options = {"shape": (4, 5, 6), "chunks": (3000, 3000, 200), "maxshape": (None,) * 3}
        new_cube(path, HDF5[kind][2], **options, compression="gzip")
    elif kind == "matlab 5":
        # 120 numbers are declared, and 256 MiB of zeros are packed.
        n_bytes = 2**28
        name = struct.pack("<HH4s", 1, 4, b"cube")
        flags = struct.pack("<4I", 6, 8, 9, 0)
        sizes = struct.pack("<2I4i", 5, 12, 4, 5, 6, 0)
        body = flags + sizes + name + struct.pack("<2I", 2, n_bytes)
        packed = zlib.compress(struct.pack("<2I", 14, len(body) + n_bytes) + body + bytes(n_bytes))
        start = path.read_bytes()[:128]
        path.write_bytes(start + struct.pack("<2I", 15, len(packed)) + packed)
    else:
        tiff(path, 10, 10, (16, 16), 8)
        enlarge_tiles(path, 32_000, 28_000)
        if kind == "desis":
            path.with_suffix(".hdr").write_text(header_text({"samples": 10, "lines": 10}))


def link_elsewhere(kind, path):
    """Let the file refer to another one, which waits for ever when it is opened."""
    outside = path.parent / "outside"
    os.mkfifo(outside)
    if kind in HDF5:
        top = HDF5[kind][2].split("/")[0]
        with h5py.File(path, "r+") as file:
            del file[top]
            file[top] = h5py.ExternalLink(str(outside), "/")
    elif kind == "envi":
        path.write_text(path.read_text() + f"data file = {outside}\n")
    elif kind == "enmap":
        entity = f'<!DOCTYPE x [<!ENTITY f SYSTEM "file://{outside}">]>'
        sidecar = next(path.parent.glob("*METADATA.XML"))
        sidecar.write_text(metadata(head=entity, extra="&f;"))
    else:
        # GDAL has a format that names files elsewhere.
        source = f"<SimpleSource><SourceFilename>{outside}</SourceFilename></SimpleSource>"
        band = f'<VRTRasterBand dataType="Byte" band="1">{source}</VRTRasterBand>'
        path.write_text(f'<VRTDataset rasterXSize="5" rasterYSize="6">{band}</VRTDataset>')


def rename_badly(kind, path):
    """Give names that are no UTF-8 to what leads to the cube, or to the file itself."""
    if kind in HDF5:
        top = HDF5[kind][2].split("/")[0]
        with h5py.File(path, "r+") as file:
            file.move(top, b"\xff\xfe")
        return path
    renamed = os.fsencode(path.parent) + b"/\xff\xfe" + os.fsencode(path.name)
    os.rename(path, renamed)
    return renamed


ATTACKS = {
    "truncated": truncate,
    "sizes": lie_about_sizes,
    "chunks": enlarge_chunks,
    "links": link_elsewhere,
    "names": rename_badly,
}
# ENVI and version 5 of MATLAB have no part that could be a link or a chunk of its own.
WITHOUT = {("envi", "chunks"), ("matlab 5", "links")}
# Python opens a file of any name; the other libraries take text only.
HARMLESS = {("matlab 5", "names")}
CASES = []
for format in (*HDF5, *OTHERS):
    CASES += [(format, attack) for attack in ATTACKS if (format, attack) not in WITHOUT]


def write(kind, folder):
    folder.mkdir()
    writer, suffix = (HDF5 | OTHERS)[kind][:2]
    return writer(folder / f"file{suffix}")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the command answers, by format and attack."""
    pytest.importorskip("resource")
    folder = tmp_path_factory.mktemp("matrix")
    paths = [write(kind, folder / kind) for kind in (*HDF5, *OTHERS)]
    n_good = len(paths)
    for kind, attack in CASES:
        path = write(kind, folder / f"{kind} {attack}")
        paths.append(ATTACKS[attack](kind, path) or path)
    words = [sys.executable, "-c", COMMAND, *(os.fsencode(path) for path in paths)]
    done = subprocess.run(words, capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["code"] for answer in lines[:n_good]] == [0] * n_good, lines[:n_good]
    return dict(zip(CASES, lines[n_good:], strict=True))


@pytest.mark.parametrize(("kind", "attack"), CASES)
def test_one_line_and_exit_code_2(answers, kind, attack):
    answer = answers[kind, attack]
    assert answer["seconds"] < 20
    if (kind, attack) in HARMLESS:
        assert (answer["code"], answer["err"]) == (0, "")
        return
    assert answer["code"] == 2, answer
    assert answer["out"] == ""
    (line,) = answer["err"].splitlines()
    assert line.startswith("error: ")


def test_memory(answers):
    assert sum(answer["mebibytes"] for answer in answers.values()) < 150, answers
