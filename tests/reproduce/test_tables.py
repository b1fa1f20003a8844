"""Tables 1 to 4 in their quick versions, the printed values, and the files scenes come from."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from reproduce.__main__ import EXPERIMENTS
from reproduce.outcome import Request
from scipy.io import savemat

from reproduce import paper, rows, scenes, tables
from selfdict import FGNSR, InputError, h2nmf
from selfdict.readout import select_indices


@pytest.fixture(scope="module")
def table2():
    return tables.table2(Request(quick=True))


def test_table2_fgnsr_beats_every_other_method(table2):
    error = {row["method"]: row["relative_error"] for row in table2.tables["table2"]}
    peers = {method: value for method, value in error.items() if not method.startswith("FGNSR")}
    assert len(peers) == 15
    assert error["FGNSR-40"] < min(peers.values())
    assert error["FGNSR-100"] < min(peers.values())
    assert error[rows.OURS] < min(peers.values())
    assert error[rows.OURS] <= 1.01 * min(error.values())


def test_table2_certifies_what_is_solved_to_the_end(table2):
    gap = {row["method"]: row["gap"] for row in table2.tables["table2"]}
    assert gap[rows.OURS] <= 1e-3
    assert gap["FGNSR-100"] > 1e-3  # a thousand iterations are no optimum
    assert gap["SPA"] is None


def test_table2_leaves_out_printed_values_that_belong_to_another_scene(table2):
    assert "paper_error" not in table2.tables["table2"][0]
    summary = table2.tables["table2_summary"][0]
    assert summary["svd_limit"] < summary["default"] < summary["best_peer"]


def test_table1_measures_every_method_beside_its_printed_line():
    lines = {row["method"]: row for row in tables.table1(Request(quick=True)).tables["table1"]}
    assert len(lines) == 6
    assert lines["SNPA"]["paper_seconds"] == "0.10"
    peak = {name.split(" (")[0]: row["peak_kib"] for name, row in lines.items()}
    assert peak["SPA"] < 8 * 50 * 55 / 1024  # no copy of the data
    assert 10 * peak["FGNSR"] < peak["SOCP"]
    assert all(0 < row["least_seconds"] <= row["mean_seconds"] for row in lines.values())


def test_fgnsr_on_candidates_is_what_the_estimator_does():
    scene = scenes.generated(4, size=22)
    clusters = h2nmf(scene.M, 40)
    K = select_indices(rows.fgnsr_on(scene.M, clusters, 4, 3), 4, method="spa")
    options = dict(candidates=40, solver="fast_gradient", tol=0, postprocess="spa", random_state=3)
    assert np.array_equal(K, FGNSR(4, **options).fit(scene.M.T).indices_)


def test_printed_tables_are_complete_and_fgnsr_is_the_best_entry_of_each():
    for scene in (paper.URBAN, paper.SAN_DIEGO, paper.TERRAIN):
        for r in scene.ranks:
            errors = {method: error for method, (_, error) in scene.printed(r).items()}
            assert len(errors) == 17
            assert min(errors, key=errors.get).startswith("FGNSR")
    assert paper.URBAN.printed(8)["FGNSR-500"] == (39.49, 4.08)
    assert paper.URBAN.printed(7) == {}


def test_authors_results_belong_to_scenes_of_their_size():
    results = paper.authors_results((162, 5929), 6)
    assert min(error for error, _, _ in results.values()) == pytest.approx(4.786632)
    assert set(results) >= {"SPA", "VCA-100 (mean of 10)", "FGNSR-500-spaX"}
    assert paper.authors_results((162, 307 * 307), 6) == {}


@pytest.fixture
def small_urban(tmp_path, monkeypatch):
    """A folder with a file called urban, and rows that need no computing."""
    scene = scenes.generated(3, size=12, n_bands=20)
    n = int(np.sqrt(scene.M.shape[1]))
    np.savez(tmp_path / "urban.npz", Y=scene.M, nRow=n, nCol=n, M=scene.reference)
    np.savez(tmp_path / "urban_truth.npz", M=scene.reference)
    maps = np.ones((scene.reference.shape[1], n * n))
    np.savez(tmp_path / "urban_maps.npz", M=scene.reference, A=maps, nRow=n, nCol=n)

    def stub(scene, r, seed, candidates):
        for method in ("SPA", "H2NMF-100", rows.OURS):
            yield rows.row(scene, r, method, np.arange(r), 0.0)

    monkeypatch.setattr(tables, "scene_rows", stub)
    return tmp_path


def test_printed_values_stand_beside_ours_for_the_scene_of_the_paper(small_urban, monkeypatch):
    scene = scenes.load(small_urban / "urban.npz")
    monkeypatch.setattr(
        tables, "URBAN", replace(paper.URBAN, bands=scene.shape[0], pixels=scene.shape[1])
    )
    lines = tables.table2(Request(data=small_urban)).tables["table2"]
    assert [(row["r"], row["method"], row["paper_error"]) for row in lines] == [
        (6, "SPA", 9.58),
        (6, "H2NMF-100", 7.11),
        (6, rows.OURS, None),
        (8, "SPA", 9.45),
        (8, "H2NMF-100", 6.14),
        (8, rows.OURS, None),
    ]


def test_scenes_of_another_size_are_not_taken_for_the_papers(small_urban):
    with pytest.raises(InputError):
        tables.table2(Request(data=small_urban))
    outcome = tables.table2(Request(data=small_urban / "urban.npz", ranks=[2]))
    assert "paper_error" not in outcome.tables["table2"][0]


def test_scenes_takes_every_scene_of_a_folder_and_its_own_rank(small_urban):
    lines = tables.scenes(Request(data=small_urban)).tables["scenes"]
    assert {(row["scene"], row["r"]) for row in lines} == {("urban", 3), ("urban", 5)}
    assert all(row["mrsa"] is not None for row in lines)


@pytest.mark.parametrize(
    "name", ["table2", "table3", "table4", "cuprite", "scenes", "endmembers", "abundance-maps"]
)
def test_experiments_on_scenes_need_data(name):
    with pytest.raises(InputError):
        EXPERIMENTS[name](Request())


def test_matlab_files_of_both_versions_are_read(tmp_path):
    scene = scenes.generated(3, size=12, n_bands=20)
    n = int(np.sqrt(scene.M.shape[1]))
    savemat(tmp_path / "five.mat", {"Y": scene.M, "nRow": n, "nCol": n, "M": scene.reference})
    with h5py.File(tmp_path / "seven.mat", "w") as file:
        file.update({"Y": scene.M.T, "nRow": [[n]], "nCol": [[n]]})
    five, seven = scenes.load_all(tmp_path)
    assert np.allclose(five.reference, scene.reference)
    assert seven.reference is None
    assert np.allclose(five.M, seven.M)
    # pixels run down the columns in the file, along the rows here
    assert np.allclose(five.M[:, 1], scene.M[:, n])


def test_a_scene_without_reference_needs_a_rank(tmp_path):
    np.savez(tmp_path / "field.npz", Y=np.random.default_rng(0).random((5, 12)), nRow=3, nCol=4)
    with pytest.raises(InputError):
        tables.scenes(Request(data=tmp_path))


@pytest.mark.parametrize(
    "arrays",
    [
        {"Y": np.full((5, 12), np.nan)},
        {"M": np.array([["a", 1]], dtype=object)},
        {"M": np.ones((5, 0))},
    ],
)
def test_invalid_files_are_refused(tmp_path, arrays):
    contents = {"Y": np.random.default_rng(0).random((5, 12)), "nRow": 3, "nCol": 4} | arrays
    np.savez(tmp_path / "field.npz", **contents)
    with pytest.raises(InputError):
        tables.scenes(Request(data=tmp_path / "field.npz"))
