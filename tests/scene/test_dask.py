"""Unmixing on a dask cluster: the bits of one process, for any file, also if a worker dies."""

import json
import os
import pickle
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster
from distributed.protocol.pickle import dumps as distributed_dumps

from selfdict.cli.app import app
from selfdict.columns.block_columns import _first_sums, _Pass, kept_bytes
from selfdict.datasets import make_scene
from selfdict.scene import SceneError, read_scene, unmix, write_scene
from selfdict.scene.blocks import blocks, in_row_chunks
from selfdict.scene.choose import SceneBlocks
from selfdict.scene.passes import _cut_to_pickle, map_blocks

SHAPE = (60, 40)
OPTIONS = {"candidates": 60, "max_pixels": 500, "random_state": 0}


@contextmanager
def two_workers():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="2GiB"
    ) as cluster:
        yield cluster


@contextmanager
def client_of(cluster):
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with client_of(cluster) as client:
        yield client


@pytest.fixture
def mortal_client():
    """Of a cluster of its own: dask does not always restart a worker that was killed."""
    with two_workers() as cluster, client_of(cluster) as client:
        yield client


def kill_a_worker(client):
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)
    return pid


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 30 * SHAPE[1] * 4 * 10)
    monkeypatch.setattr("selfdict.files.lazy.BLOCK_BYTES", 30 * SHAPE[1] * 4 * 10)
    monkeypatch.setattr("selfdict.scene.write_formats._TILE_SIZES", (16,))


@pytest.fixture(scope="module")
def truth():
    return make_scene(SHAPE, n_bands=30, n_endmembers=4, noise=0.005, n_outliers=2, random_state=0)


@pytest.fixture
def expected(truth):
    return unmix(truth.scene, 4, **OPTIONS)


def assert_same(result, expected):
    np.testing.assert_array_equal(result.pixels, expected.pixels)
    np.testing.assert_array_equal(result.solution_pixels, expected.solution_pixels)
    np.testing.assert_array_equal(result.valid.values, expected.valid.values)
    np.testing.assert_allclose(result.abundances, expected.abundances, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result.residual, expected.residual, rtol=1e-4, atol=1e-6)
    assert result.relative_error == pytest.approx(expected.relative_error, rel=1e-6)
    assert result.parameters == expected.parameters


def test_a_file_gives_what_one_process_gives(tmp_path, client, truth):
    scene = read_scene(write_scene(truth.scene, tmp_path / "cube.tif"))
    assert len(blocks(scene)) > 1
    expected = unmix(scene, 4, **OPTIONS)
    assert expected.parameters["n_fitted"] < 510 < expected.n_valid
    result = unmix(scene, 4, client=client, maps=tmp_path / "maps", **OPTIONS)
    assert result.abundances.chunks is not None  # read when asked for
    assert_same(result, expected)
    stored = read_scene(tmp_path / "maps" / "abundances.zarr")
    np.testing.assert_array_equal(stored.values, result.abundances.values)
    assert stored.band_name.values.tolist() == [f"endmember {k}" for k in (1, 2, 3, 4)]
    np.testing.assert_array_equal(stored.x.values, truth.scene.x.values)


def test_a_scene_in_memory_and_another_method(client, truth):
    options = {"method": "spa", "max_pixels": 500, "random_state": 3, "abundances": "fcls"}
    result = unmix(truth.scene, 4, client=client, **options)
    expected = unmix(truth.scene, 4, **options)
    np.testing.assert_array_equal(result.pixels, expected.pixels)
    np.testing.assert_allclose(result.abundances, expected.abundances, rtol=1e-5, atol=1e-6)


def test_losing_a_worker_changes_no_result(tmp_path, mortal_client, truth, expected):
    scene = read_scene(write_scene(truth.scene, tmp_path / "cube.zarr"))
    killed = []

    def kill_one(name, share):
        if name == "abundances" and not killed:
            killed.append(kill_a_worker(mortal_client))

    result = unmix(
        scene, 4, client=mortal_client, maps=tmp_path / "maps", progress=kill_one, **OPTIONS
    )
    assert killed
    assert_same(result, expected)


def test_losing_a_worker_in_a_pass_over_all_pixels_changes_no_result(
    tmp_path, monkeypatch, mortal_client, truth
):
    scene = read_scene(write_scene(truth.scene, tmp_path / "cube.zarr"))
    options = {"candidates": None, "tol": 1e-2, "random_state": 0, "prove": False}
    monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
    expected = unmix(scene, 4, **options)
    monkeypatch.setattr("selfdict.scene.plan._MAX_CLIENT_BYTES", 0)
    killed = []
    run = SceneBlocks.run

    def run_and_kill(blocks, task, parts):
        is_phase = isinstance(task, _Pass) and getattr(task.function, "func", None) is _first_sums
        for answer in run(blocks, task, parts):
            # in the middle of a pass: some of its tasks are done, others wait on the workers
            if is_phase and not killed:
                killed.append(kill_a_worker(mortal_client))
            yield answer

    monkeypatch.setattr(SceneBlocks, "run", run_and_kill)
    result = unmix(scene, 4, client=mortal_client, **options)
    assert killed
    assert expected.check.gap <= 1e-2
    assert result.check.objective == pytest.approx(expected.check.objective, rel=1e-9)
    assert result.check.dual_bound == pytest.approx(expected.check.dual_bound, rel=1e-9)
    np.testing.assert_array_equal(result.pixels, expected.pixels)
    assert not any(mortal_client.run(kept_bytes).values())


def where(number):
    from distributed import get_worker

    time.sleep(0.02)  # so that the others have time to do their share
    return get_worker().address


def test_items_return_to_their_workers(client):
    first = list(map_blocks(client, where, zip(range(30))))
    second = list(map_blocks(client, where, zip(range(30))))
    same = sum(one == other for one, other in zip(first, second, strict=True))
    assert len(set(first)) == 2
    assert same >= 20  # 15 by chance


def test_items_are_taken_as_results_arrive(client):
    items = iter([(k, 1) for k in range(50)])
    answers = map_blocks(client, pow, items)
    assert [next(answers), next(answers)] == [0, 1]
    assert len(list(items)) >= 42  # two threads, three tasks each


def test_errors_in_tasks_are_raised(tmp_path, client, truth):
    scene = read_scene(write_scene(truth.scene, tmp_path / "cube.zarr"))
    for chunk in (tmp_path / "cube.zarr" / "reflectance").glob("0.*"):
        chunk.write_bytes(b"not a chunk")
    with pytest.raises(SceneError):
        unmix(scene, 4, client=client, maps=tmp_path / "maps", **OPTIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["cube.zarr"]


@pytest.mark.parametrize("dumps", [pickle.dumps, distributed_dumps])
def test_tasks_are_small(tmp_path, monkeypatch, truth, dumps):
    scene = read_scene(write_scene(truth.scene, tmp_path / "cube.hdr"), bands=range(20))
    monkeypatch.setattr("selfdict.scene.passes._BLOCKS_PER_GROUP", 2)
    block = list(_cut_to_pickle(in_row_chunks(scene), blocks(scene)))[1]
    packed = dumps(block)
    assert len(packed) < 20_000 < scene.nbytes / len(blocks(scene))
    again = pickle.loads(packed)
    np.testing.assert_array_equal(
        again.scene.values, truth.scene.values[:20, block.rows, block.columns]
    )


def test_interrupted_maps_leave_nothing_behind(tmp_path, truth):
    def interrupt(step, share):
        if step == "abundances":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unmix(truth.scene, 4, maps=tmp_path / "maps", progress=interrupt, **OPTIONS)
    assert list(tmp_path.iterdir()) == []
    first = unmix(truth.scene, 4, maps=tmp_path / "maps", **OPTIONS)
    with pytest.raises(SceneError):
        unmix(truth.scene, 3, maps=tmp_path / "maps", **OPTIONS)
    assert first.abundances.values.shape == (4, *SHAPE)


@pytest.mark.parametrize("format", ["zarr", "geotiff"])
def test_the_command(tmp_path, monkeypatch, cluster, truth, format):
    write_scene(truth.scene, tmp_path / "cube.hdr")
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    words = ["unmix", "cube.hdr", "-r", "4", "--candidates", "60", "--json", "--format", format]
    records = []
    for name, more in (("one", []), ("many", ["--scheduler", cluster.scheduler_address])):
        result = CliRunner().invoke(app, [*words, "-o", name, *more])
        assert result.exit_code == 0, result.output
        records.append(json.loads(result.stdout))
    one, many = records
    assert one["pure_pixels"] == many["pure_pixels"]
    assert one["input"] == many["input"]
    assert "--scheduler tcp://" in many["command"]
    files = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("one", "many")]
    assert files[0] == files[1]
    for name in ("abundances", "residual", "uncertainty"):
        (file,) = (tmp_path / "many").glob(f"{name}.*")
        first, second = (read_scene(tmp_path / folder / file.name) for folder in ("one", "many"))
        np.testing.assert_allclose(second.values, first.values, rtol=1e-4, atol=1e-6)
        assert first.rio.crs == second.rio.crs


def test_missing_scheduler_is_an_error(tmp_path, truth):
    path = write_scene(truth.scene, tmp_path / "cube.hdr")
    result = CliRunner().invoke(
        app, ["unmix", str(path), "-r", "4", "-o", str(tmp_path / "out"), "--scheduler", "x://y"]
    )
    assert result.exit_code == 2
    assert "x://y" in result.stderr
    assert not (tmp_path / "out").exists()


def test_representatives_of_blocks_fit_as_well_as_those_of_the_scene(truth, expected):
    whole = unmix(truth.scene, 4, candidates=60, random_state=0)
    assert expected.parameters["n_fitted"] < 510 < whole.n_valid
    assert expected.pixel_error < 1.05 * whole.pixel_error
