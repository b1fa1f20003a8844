"""The reader process: what it gives, how it fails, and when it ends."""

import gc
import os
import pickle
import sys
import threading
import time

import misbehaving
import numpy as np
import pytest
from checks import noted, refused, run
from scene_sample import full_scene

from selfdict.files import reader as module
from selfdict.files.formats import FORMATS
from selfdict.files.reader import Reader
from selfdict.scene import SceneError, read_scene, write_scene

WHOLE = [[0, 2], [0, 3], [0, 4]]


def write(folder, word):
    path = folder / f"{word}.bad"
    path.write_text(word)
    return path


def pid_of(scene):
    """Return the process that reads a scene of the format for tests."""
    (pid,) = np.unique(scene.values)
    return int(pid)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid):
    """Whether a process ends within some seconds."""
    for _ in range(200):
        if not is_running(pid):
            return True
        time.sleep(0.05)
    return False


REASONS = {
    "crash": "SIGSEGV",
    "hang": "seconds",
    "swell": "MiB",
    "leave": "code 3",
    "babble": "several$",
}


@pytest.mark.parametrize("when", ["open", "read"])
@pytest.mark.parametrize("word", REASONS)
def test_a_reader_that_fails_is_one_sentence(tmp_path, word, when, capfd):
    seconds = 1 if word == "hang" else None
    reader = Reader(write(tmp_path, word), FORMATS["misbehaving"], {"when": when}, seconds=seconds)

    def read():
        reader.open()
        reader.read(WHOLE, np.dtype("int64"))

    with pytest.raises(SceneError, match=REASONS[word]):
        read()
    assert capfd.readouterr() == ("", "")


def test_the_process_ends_with_the_scene(tmp_path):
    scene = read_scene(write(tmp_path, "fine"))
    pid = pid_of(scene)
    assert pid != os.getpid()
    assert is_running(pid)
    del scene
    gc.collect()
    assert ends(pid)


def test_a_process_that_was_killed_is_replaced(tmp_path):
    scene = read_scene(write(tmp_path, "fine"))
    pid = pid_of(scene)
    os.kill(pid, 9)
    with pytest.raises(SceneError):
        scene.compute()
    assert pid_of(scene) != pid


def test_a_scene_is_pickled_without_its_process(tmp_path):
    scene = read_scene(write(tmp_path, "fine"))
    other = pickle.loads(pickle.dumps(scene))
    assert pid_of(other) != pid_of(scene)
    path = write_scene(full_scene(), tmp_path / "cube.nc")
    read = pickle.loads(pickle.dumps(read_scene(path)))
    np.testing.assert_array_equal(read.values, full_scene().values)


@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_has_its_own(tmp_path):
    scene = read_scene(write(tmp_path, "fine"))
    pid = pid_of(scene)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            values = scene.compute(scheduler="synchronous").values
            os.write(theirs, f"{values.flat[0]}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    other = int(os.read(ours, 20))
    assert other not in (pid, os.getpid())
    assert ends(other)
    # The first one still reads for us.
    assert pid_of(scene) == pid


@pytest.mark.filterwarnings("ignore:This process")
def test_a_process_that_is_forked_while_another_thread_reads(tmp_path):
    """Its copy of the lock is never released."""
    reader = Reader(write(tmp_path, "fine"), FORMATS["misbehaving"], {})
    reader.open()
    is_locked = threading.Event()
    may_go = threading.Event()

    def hold():
        with reader._lock:
            is_locked.set()
            may_go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    is_locked.wait(60)
    child = os.fork()
    if child == 0:
        reader.read(WHOLE, np.dtype("int64"))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    may_go.set()
    thread.join()


def test_warnings_that_are_errors_do_not_matter(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    path = write_scene(full_scene(), tmp_path / "cube.tif")
    np.testing.assert_array_equal(read_scene(path).values, full_scene().values)


def test_threads_share_a_process(tmp_path):
    scene = read_scene(write(tmp_path, "fine"))
    found = []
    threads = [threading.Thread(target=lambda: found.append(pid_of(scene))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert len(set(found)) == 1


def test_few_processes_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MOST_PROCESSES", 2)
    scenes = [read_scene(write(tmp_path, f"fine {k}")) for k in range(4)]
    pids = [pid_of(scene) for scene in scenes]
    assert sum(is_running(pid) for pid in pids) <= 2
    # Those that were ended are read again.
    assert len({pid_of(scene) for scene in scenes}) == 4


def test_no_process_outlives_its_parent(tmp_path):
    code = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
import misbehaving
from selfdict.scene import read_scene
scene = read_scene(sys.argv[1])
print(int(scene.values.flat[0]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    pid, _ = run(code, write(tmp_path, "fine"), os.path.dirname(misbehaving.__file__))
    assert ends(int(pid))


@pytest.mark.parametrize("executable", ["/usr/bin/some-application", "", "/no/such/python"])
def test_without_a_python_to_start_the_file_is_read_here(tmp_path, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    scene = read_scene(write(tmp_path, "fine"))
    assert pid_of(scene) == os.getpid()
    assert "read in this process" in noted(scene)


def test_a_format_of_a_script_is_read_there(tmp_path):
    code = """
import sys
import numpy as np
from selfdict.files import StoredCube, file_format
from selfdict.scene import read_scene
@file_format("script", suffixes=(".bad",))
def read(path):
    return StoredCube.from_array(np.ones((2, 3, 4)))
print(read_scene(sys.argv[1]).attrs["selfdict_notes"])
"""
    notes, errors = run(code, write(tmp_path, "fine"))
    assert "read in this process" in notes, errors


def test_relative_paths_are_those_of_the_time_of_opening(tmp_path, monkeypatch):
    write_scene(full_scene(), tmp_path / "cube.hdr")
    monkeypatch.chdir(tmp_path)
    scene = read_scene("cube.hdr")
    monkeypatch.chdir("/")
    other = pickle.loads(pickle.dumps(scene))
    np.testing.assert_array_equal(other.values, full_scene().values)
    refused("missing.hdr")


def test_errors_name_the_file_as_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "cube.hdr").write_text("no header")
    (tmp_path / "cube.img").write_bytes(b"1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SceneError) as caught:
        read_scene("cube.img")
    assert caught.value.path == "cube.hdr"


@pytest.mark.parametrize("suffix", [".hdr", ".npy", ".tif"])
def test_a_file_that_is_cut_short_while_it_is_used(tmp_path, suffix):
    path = tmp_path / f"cube{suffix}"
    data = path
    if suffix == ".npy":
        np.save(path, np.random.default_rng(0).random((20, 300, 40)))
    else:
        write_scene(full_scene().pad(y=(0, 4000), mode="edge"), path)
        if suffix == ".hdr":
            data = tmp_path / "cube.img"
    scene = read_scene(path).chunk(y=1000)
    os.truncate(data, 200)
    with pytest.raises(SceneError) as caught:
        scene.compute()
    assert "previous exception" not in caught.value.reason


def test_reading_imports_no_library_of_files(tmp_path):
    write_scene(full_scene(), tmp_path / "cube.nc")
    write_scene(full_scene(), tmp_path / "cube.tif")
    code = """
import sys
from pathlib import Path
from selfdict.files.formats import FORMATS
from selfdict.files.reader import Reader
for name, format in (("cube.nc", "netcdf"), ("cube.tif", "geotiff")):
    assert Reader(Path(sys.argv[1], name), FORMATS[format], {}).open()["shape"] == [5, 6, 7]
print(sorted({"h5py", "rasterio", "scipy", "xarray", "zarr"} & sys.modules.keys()))
"""
    assert run(code, tmp_path) == ("[]", "")
