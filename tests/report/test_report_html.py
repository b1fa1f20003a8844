"""The text of the report: its size, its words, and input at the edges."""

import re

import numpy as np
import pytest
from report_sample import make_data
from sklearn.exceptions import ConvergenceWarning

from selfdict.datasets import make_scene
from selfdict.readout import Guarantee
from selfdict.report import Certificate, method_result, render_report, report_data, write_report
from selfdict.report.charts import label_positions, nice_axis, svg_path
from selfdict.report.palette import line_styles
from selfdict.report.words import certificate_paragraphs, percent
from selfdict.scene import unmix


def test_stays_small_even_for_noise():
    # noise compresses worst; 300 x 300 with twelve materials
    page = render_report(make_data(r=12, shape=(300, 300), n_bands=224))
    assert len(page.encode()) < 5_000_000


def test_the_comparison_is_of_the_seconds_of_the_choice():
    truth = make_scene(shape=(20, 20), n_endmembers=3, random_state=0)
    result = unmix(truth.scene, 3, method="spa")
    result.seconds.update(select=2.25, total=9.5)
    page = render_report(report_data(truth.scene, result, comparison=[method_result(result)]))
    assert page.count('<td class="num">2.25</td>') == 2


def test_without_time_for_groups_nothing_is_called_an_average():
    scene = make_scene(shape=(20, 20), n_endmembers=3, n_outliers=0, random_state=0).scene
    with pytest.warns(ConvergenceWarning, match="not averages over groups"):
        result = unmix(scene, 3, max_seconds=0)
    assert (result.counts == 1).all()
    page = render_report(report_data(scene, result))
    assert "Mixtures of 3 pure pixels" in page
    assert "average of its group" not in page
    assert "; single pixels" in repr(result)
    assert "averages over 1" not in repr(result)


def test_large_scene_is_thinned_and_says_so():
    page = render_report(make_data(shape=(900, 450)))
    assert 'viewBox="0 0 150 300"' in page
    assert "every 3th" not in page
    assert "Shown at one pixel in 3 along each side" in page


def test_a_scene_of_millions_of_pixels_is_not_loaded(monkeypatch):
    monkeypatch.setattr("selfdict.report.collect._MAX_PIXELS", 400)
    truth = make_scene(shape=(41, 60), n_endmembers=3, random_state=0)
    result = unmix(truth.scene, 3, method="spa")
    data = report_data(truth.scene, result)
    assert data.every == 3
    assert data.abundances.shape == (3, 14, 20)
    np.testing.assert_array_equal(data.residual, result.residual.values[::3, ::3])
    page = render_report(data)
    assert f"{result.n_valid:,}" in page
    assert "with data, of 2,460" in page
    assert "Shown at one pixel in 3 along each side" in page
    _, column = result.pixels[0]
    assert f"{(column + 0.5) / 3:.2f}".rstrip("0") in page


def test_weights_are_those_of_the_chosen_pixels_and_of_the_others():
    scene = make_scene(shape=(20, 20), n_bands=30, n_endmembers=3, random_state=0).scene
    result = unmix(scene, 3, candidates=40, random_state=0)
    data = report_data(scene, result)
    place = [result.solution_pixels.tolist().index(pixel) for pixel in result.pixels.tolist()
             if pixel in result.solution_pixels.tolist()]  # fmt: skip
    assert sorted(data.weights[data.weights > 0]) == sorted(
        w for w in result.solution.diagonal[place] if w > 0
    )
    together = np.concatenate([data.weights[data.weights > 0], data.other_weights])
    np.testing.assert_array_equal(
        np.sort(together), np.sort(result.solution.diagonal[result.solution.diagonal > 0])
    )
    assert (np.diff(data.other_weights) <= 0).all()


@pytest.mark.parametrize("unknown", [slice(None), slice(3, 5)])
def test_bands_without_wavelength_are_numbered(unknown):
    scene = make_scene(shape=(12, 12), n_bands=30, n_endmembers=3, random_state=0).scene
    scene["wavelength"].values[unknown] = np.nan
    data = report_data(scene, unmix(scene, 2, method="spa"))
    good = np.flatnonzero(scene["good_band"].values) + 1
    assert len(good) < 30  # the others are left out, and these keep their numbers
    np.testing.assert_array_equal(data.band_positions, good)
    assert data.axis_label == "Band"
    assert data.band_labels[4] == f"Band {good[4]}"
    assert (
        "nan" not in render_report(data).split("<script")[0].split("</style>")[1].split("<img")[0]
    )


def test_refers_to_nothing_outside():
    page = render_report(make_data())
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []
    assert "http" not in page.replace("http-equiv", "")
    assert "@import" not in page
    assert "url(" not in page


def test_undecodable_names_can_be_written(tmp_path):
    # b"\xff" in a file name reaches Python as a lone surrogate, which UTF-8 cannot hold
    data = make_data(
        title="a\udcff\x1b[31m\u202eb", parameters={"File": "\udcff"}, band_labels=["\udcff"] * 40
    )
    text = write_report(data, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "a\ufffd\ufffd[31m\ufffdb" in text
    assert "\x1b" not in text


def test_method_without_proof_shows_no_weights():
    page = render_report(make_data(certificate=None, method="SPA", comparison=[]))
    assert "Nothing: SPA picks pure pixels without proving anything" in page
    assert '<div class="plot bars"' not in page
    assert 'id="comparison"' not in page
    assert '<th scope="col" class="num">Weight</th>' not in page
    assert 'class="statements"' not in page


def test_the_guarantee_is_shown_where_it_applies():
    missed = Guarantee(rank=3, kappa=0.05, beta=0.9, epsilon_observed=0.8, nonnegative=True)
    assert "Theory:" not in render_report(make_data(guarantee=missed))
    held = Guarantee(rank=3, kappa=0.5, beta=0.2, epsilon_observed=0.001, nonnegative=True)
    assert "Theory: The selected columns have κ = 0.5" in render_report(make_data(guarantee=held))
    assert "Theory:" not in render_report(make_data())


def test_gaps_and_constant_data():
    endmembers = np.full((40, 3), 0.5)
    endmembers[3:6, 0] = np.nan
    page = render_report(make_data(endmembers=endmembers, residual=np.zeros((20, 30))))
    assert "NaN" not in page
    assert "nan" not in re.findall(r' d="[^"]*"', page)[0]


def test_one_pixel_one_band():
    data = make_data(r=1, shape=(3, 1), n_bands=1, comparison=[])
    assert "1 pure pixel reproduces" in render_report(data)


def test_certificate_in_words():
    words = " ".join(
        certificate_paragraphs(Certificate(2.0, 1.9, 0.05, 0.1, "", 500, 31), "FGNSR-500", 9025)
    )
    assert "500 candidates that stand for all 9,025 pixels" in words
    assert "at most 5 % smaller" in words
    assert "better weights may exist" in words
    words = " ".join(
        certificate_paragraphs(Certificate(2.0, 1.999, 5e-4, 0.1, "", 500, 31), "FGNSR-500", 9025)
    )
    assert "the best there are" in words
    assert "better weights may exist" not in words
    open_end = Certificate(2.0, -np.inf, np.inf, 0.1, "", 9025, 31)
    words = " ".join(certificate_paragraphs(open_end, "FGNSR", 9025))
    assert "all 9,025 pixels at once" in words
    assert "nothing is proved" in words


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1e-9, "less than 0.001 %"),
        (0.00012, "0.012 %"),
        (0.05, "5 %"),
        (0.123, "12.3 %"),
        (np.inf, "unknown"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (400.0, 2500.0), (-3e-7, 2e-7), (0.0, 1e9), (5.0, 5.0)]
)
def test_ticks_are_round_and_inside(low, high):
    axis = nice_axis(low, high)
    assert 3 <= len(axis.ticks) <= 12
    assert all(-1e-6 <= tick.position <= 100 + 1e-6 for tick in axis.ticks)
    values = [float(tick.label) for tick in axis.ticks]
    assert axis.position(np.array(values)) == pytest.approx(
        [tick.position for tick in axis.ticks], abs=1e-3
    )


def test_dropped_bands_are_not_bridged():
    x = np.array([0.0, 1, 2, 3, 50, 51, 52])
    assert svg_path(x, np.zeros(7)).count("M") == 2


def test_labels_keep_clear_of_points_and_edges():
    points = np.array([[1.0, 1.0], [50.0, 50.0], [52.0, 50.0], [99.0, 99.0]])
    labels = label_positions(points, 100, 100, 5.0)
    assert (labels > 0).all()
    assert (labels < 100).all()
    distances = np.linalg.norm(labels[:, None] - np.vstack([points, labels])[None], axis=2)
    assert distances[distances > 0].min() > 3


def test_colours_differ_for_colour_blind_readers():
    # linear RGB seen by protanopes and deuteranopes (Viénot, Brettel & Mollon 1999)
    rgb = (
        np.array([[int(s.colour[k : k + 2], 16) / 255 for k in (1, 3, 5)] for s in line_styles(7)])
        ** 2.2
    )
    protan = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
    deutan = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    for seen in (rgb @ protan.T, rgb @ deutan.T):
        shade = np.clip(seen, 0, 1) ** (1 / 2.2)
        distances = np.linalg.norm(shade[:, None] - shade[None], axis=2)
        assert distances[np.triu_indices(7, 1)].min() > 0.1


def test_line_styles_do_not_repeat():
    assert len(set(line_styles(28))) == 28


def test_names_of_a_library_are_shown_with_their_curves():
    from selfdict.scene.identify import Candidate, Match

    data = make_data()
    nearest = (
        Candidate("Kaolinite", "Kaolinite CM9", 4, 3.25),
        Candidate("Dickite", "Dickite NMNH106242", 7, 12.5),
    )
    curve = data.endmembers[:, 0] * 1.01
    curve[:5] = np.nan
    far = tuple(Candidate(c.material, c.name, c.spectrum, c.angle + 40) for c in nearest)
    match = Match("Kaolinite", nearest, curve)
    page = render_report(make_data(matches=[match, Match(None, far, curve), match]))
    assert 'href="#names"' in page
    assert page.count('class="line library"') == 3
    assert "Material 1 (Kaolinite)" in page
    assert "Material 2: No match" in page
    assert "Material 2 (" not in page
    assert '<td>Dickite NMNH106242</td><td class="num">12.5°</td>' in page
    assert "no match, the nearest is farther than 20°" in page
    assert 'id="names"' not in render_report(data)
