"""What the report says about groups, proofs, errors and kinds of abundances."""

import re

import numpy as np
import pytest
from report_sample import make_data, make_group_data

from selfdict.datasets import make_scene
from selfdict.report import Certificate, GroupProof, method_result, render_report, report_data
from selfdict.report.charts import svg_band
from selfdict.report.evidence import proof_notes, statements
from selfdict.scene import SceneCheck, unmix


def text_of(page):
    """Return the text that a reader sees, with ordinary spaces."""
    body = page.split("</style>")[1].split('<script type="application/json"')[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).replace("\u00a0", " ").split())


def said(d):
    return {statement.title: (statement.value, statement.text) for statement in statements(d)}


def test_the_card_says_what_is_proven():
    found = said(make_group_data())
    assert found["Enough"] == (
        "within 1.4 %",
        "Using nothing but these 3 groups of pixels is at most 1.4 % worse than the best possible "
        "use of all 100 candidates.",
    )
    assert found["Needed"] == (
        "3 of 3",
        "Without Material 3 the result is at least 0.19 % worse, without Material 1 at least 45 %.",
    )
    assert found["Weights"][0] == "within 0.004 %"
    # about candidates: the limit is one for them, not for the scene
    assert "Limit of the error" not in found
    notes = " ".join(proof_notes(make_group_data()))
    assert "100 candidates, each of which stands for a cluster" in notes
    page = text_of(render_report(make_group_data()))
    for value, text in found.values():
        assert value in page
        assert text in page


def test_all_pixels_as_candidates():
    proof = GroupProof(0.01, np.array([0.1]), 0.02, 0.9, n_candidates=540)
    d = make_group_data(r=1, proof=proof, n_valid=540, error=0.03)
    found = said(d)
    assert "all 540 pixels" in found["Enough"][1]
    assert found["Needed"] == ("1 of 1", "Without Material 1 the result is at least 10 % worse.")
    assert found["Limit of the error"][0] == "2 %"
    assert "No single spectrum whatsoever" in found["Limit of the error"][1]
    assert "stands for a cluster" not in " ".join(
        proof_notes(make_group_data(certificate=Certificate(1, 1, 0, 1, "", 540, 3), n_valid=540))
    )


def test_the_limit_of_the_error_is_rounded_down():
    proof = GroupProof(0.01, np.array([0.1]), 0.029996, 0.9, n_candidates=540)
    found = said(make_group_data(r=1, proof=proof, n_valid=540, error=0.03))
    assert found["Limit of the error"][0] == "2.9 %"


def test_a_sample_is_not_called_clusters_and_the_check_is_shown():
    check = SceneCheck(2.0, 1.9875, 0.00625)
    d = make_group_data(n_valid=540, check=check, candidates_reason="These are a sample.")
    assert said(d)["All pixels"] == (
        "within 0.63 %",
        "Counted over all 540 pixels, no other weights of the candidates are better by more than "
        "this.",
    )
    page = text_of(render_report(d))
    assert (
        "All statements but that about all pixels are about 100 of 540 pixels. These are a sample. "
        "All pixels were then unmixed."
    ) in page
    assert "The program looked at 100 of 540 pixels and asked" in page
    assert "cluster" not in page
    assert "stand for all" not in page
    unbounded = make_group_data(check=SceneCheck(2.0, -np.inf, np.inf))
    assert said(unbounded)["All pixels"][0] == "not proven"


def test_a_report_of_a_scene_solved_in_blocks(monkeypatch):
    monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
    monkeypatch.setattr("selfdict.scene.points.SAMPLE_SIZE", 150)
    scene = make_scene(shape=(20, 20), n_bands=30, n_endmembers=3, random_state=0).scene
    result = unmix(scene, 3, candidates=None, random_state=0)
    data = report_data(scene, result)
    assert data.certificate.n_candidates < data.n_valid
    page = text_of(render_report(data))
    assert "The pure pixels were chosen from a random sample" in page
    assert "Counted over all" in page
    assert "cluster" not in page


def test_what_is_not_proven_is_said():
    open_end = GroupProof(np.inf, np.array([0.02, 0.0, 0.0]), 0.02, 0.5, 100, complete=False)
    d = make_group_data(proof=open_end)
    found = said(d)
    assert found["Enough?"][0] == "not proven"
    assert found["Needed"][0] == "1 of 3"
    assert "Not proven to be needed: Material 2 and Material 3." in found["Needed"][1]
    assert "the time was up" in " ".join(proof_notes(d))
    none = make_group_data(proof=GroupProof(0.5, np.zeros(3), 0.02, 0.5, 100))
    assert said(none)["Needed?"][0] == "0 of 3"
    without = make_group_data(proof=None)
    assert "the option --prove does it" in " ".join(proof_notes(without))
    assert text_of(render_report(without)).count("not proven") >= 3  # one for each material
    unbounded = make_data(certificate=Certificate(2.0, -np.inf, np.inf, 0.1, "", 100, 3))
    assert said(unbounded)["Weights"][0] == "not proven"


def test_every_material_has_its_group_its_weight_and_its_proof():
    page = text_of(render_report(make_group_data()))
    assert "Material 1 40 1.20 45 %" in page
    assert "Material 3 42 0.60 0.19 %" in page


def test_weights_are_those_of_groups():
    d = make_group_data()
    page = render_report(d)
    bars = re.findall(r"<rect [^>]*><title>([^<]*)</title>", page)
    elsewhere = d.weights.sum() + d.other_weights.sum() - d.group_weights.sum()
    assert bars == [
        "Material 1: 1.2",
        "Material 2: 0.9",
        "Material 3: 0.6",
        f"Outside the groups: {elsewhere:.3g}",
    ]


def test_only_shares_are_called_shares():
    page = text_of(render_report(make_group_data()))
    assert "Mean share" in page
    assert "Part of the area, in %" in page
    assert "the shares of a pixel sum to 100 %" in page
    assert "points" in page
    coefficients = make_group_data(abundance_kind="nnls", abundances=2.3 * np.ones((3, 20, 30)))
    page = text_of(render_report(coefficients))
    assert "hare" not in page.replace("share their weight", "").replace("Pure pixels shared", "")
    assert "Mean coefficient" in page
    assert "mean 2.3, typically ± 0.03" in page
    assert "230 %" not in page
    parts = text_of(render_report(make_group_data(abundance_kind="fcls")))
    assert "brightness counts as a difference of material" in parts


def test_the_error_is_said_to_be_that_of_the_averages():
    page = text_of(render_report(make_group_data()))
    assert "Mixtures of 3 average spectra, each pixel at its own brightness, reproduce" in page
    assert "of pure pixels 2.75 %" in page
    # methods are compared by their pure pixels
    assert "FGNSR-100 2.75 %" in page
    assert "The averages shown above are not compared here" in page
    pixels = text_of(render_report(make_data()))
    assert "Mixtures of 3 pure pixels reproduce this scene" in pixels
    assert "FGNSR-100 3.14 %" in pixels


def test_the_spread_is_drawn_and_can_be_read():
    page = render_report(make_group_data())
    assert page.count('class="spread"') == 3
    assert '"spread": [[' in page
    assert "one standard deviation of its pixels" in page
    page = render_report(make_data())
    assert 'class="spread"' not in page
    assert '"spread": null' in page


def test_a_band_breaks_where_the_line_does():
    x = np.array([0.0, 1, 2, 3, 50, 51, 52])
    low = np.array([0.0, 1, np.nan, 1, 1, 1, 1])
    assert svg_band(x, low, low + 1).count("Z") == 3


def test_uncertainty_that_is_not_known_is_not_shown():
    page = text_of(render_report(make_group_data()))
    assert "How uncertain that is" in page
    assert "from how much the pixels of one group differ" in page
    blind = make_group_data(group_sizes=None)
    assert "these errors are too small where it does" in text_of(render_report(blind))
    for nothing in (None, np.full((3, 20, 30), np.nan)):
        page = text_of(render_report(make_group_data(uncertainty=nothing)))
        assert "How uncertain that is" not in page
        assert "not known" in page
    some = make_group_data().uncertainty.copy()
    some[:, 5] = np.nan
    assert "nan" not in text_of(render_report(make_group_data(uncertainty=some)))


def test_findings_are_shown():
    page = render_report(make_group_data())
    assert "<li>12 values (0.01\u00a0%) in 3 bands are negative and used as they are</li>" in page
    assert 'id="findings"' not in render_report(make_data())


@pytest.mark.parametrize("prove", [False, True])
def test_a_report_of_a_scene(prove):
    scene = make_scene(shape=(20, 20), n_bands=30, n_endmembers=3, random_state=0).scene
    result = unmix(scene, 3, candidates=40, prove=prove, random_state=0)
    data = report_data(scene, result)
    np.testing.assert_array_equal(data.group_sizes, [len(group) for group in result.groups])
    np.testing.assert_array_equal(data.spread, result.spread.values.T)
    assert data.pixel_error == result.pixel_error == method_result(result).error
    assert (data.proof is not None) == prove
    page = text_of(render_report(data))
    for k in range(3):
        assert f"Material {k + 1} {len(result.groups[k])} {result.group_weights[k]:.2f}" in page
