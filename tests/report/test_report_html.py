"""The page of the report: its size, what it refers to, and input at the edges."""

import re
from dataclasses import replace

import dask.array
import numpy as np
import pytest
from report_sample import make_pixel_result, make_proof, make_result

from selfdict._display import class_colours, line_styles
from selfdict.datasets import make_scene
from selfdict.report import render_report, write_report
from selfdict.report.charts import band_axis, band_labels, label_positions, nice_axis
from selfdict.report.page import own_row
from selfdict.report.pictures import Maps
from selfdict.scene import SceneError, unmix


def page_of(result, **options):
    return render_report(result, **options)


def shows_nan(page):
    """Whether a number of the page, outside its images, is not a number."""
    body = re.sub(r'(data:image/png;base64,|"bytes": ")[^"]*', "", page.split("</style>")[1])
    return re.search(r"(?<![a-z])nan(?![a-z])", body, re.IGNORECASE) is not None


@pytest.mark.parametrize("r", [6, 12])
def test_stays_small_even_for_noise(r):
    # noise compresses worst
    result = make_result(r=r, shape=(512, 512), n_bands=60)
    noise = np.random.default_rng(0)
    maps = {
        name: getattr(result, name).copy(data=noise.random(getattr(result, name).shape))
        for name in ("abundances", "residual", "uncertainty", "brightness")
    }
    assert len(page_of(replace(result, **maps)).encode()) < 4_000_000


def test_of_millions_of_pixels_some_rows_and_columns_are_read():
    result = make_result(shape=(41, 60))
    maps = Maps(result, most_pixels=400)
    assert maps.every == 3
    assert maps.abundances.shape == (3, 14, 20)
    np.testing.assert_array_equal(maps.of("residual"), result.residual.values[::3, ::3])
    image, labels = maps.false_colour()
    assert image.shape == (3, 14, 20)
    assert labels[0] == "Band 10 · 884.62 nm"


def test_maps_in_files_are_read_thinned():
    largest = []

    def read(block):
        # what one task returns is what is in memory
        largest.append(block.size)
        return block

    result = make_result(shape=(400, 400))
    chunks = dask.array.from_array(result.abundances.values, chunks=(3, 50, 50)).map_blocks(read)
    lazy = replace(result, abundances=result.abundances.copy(data=chunks))
    largest.clear()
    thinned = Maps(lazy, most_pixels=1600).abundances
    np.testing.assert_array_equal(thinned, result.abundances.values[:, ::10, ::10])
    assert max(largest) == 3 * 50 * 50


def test_the_comparison_is_of_pure_pixels_and_of_the_seconds_of_the_choice():
    row = own_row(make_result())
    assert (row.method, row.error, row.seconds) == ("FGNSR-100", 0.0275, 0.75)
    page = page_of(make_result(comparison=(row,)))
    assert page.count('<td class="num">0.75</td>') == 2
    assert "3 of 3" in page


@pytest.mark.parametrize("unknown", [slice(None), slice(3, 5)])
def test_bands_without_wavelength_are_numbered(unknown):
    scene = make_scene(shape=(12, 12), n_bands=30, n_endmembers=3, random_state=0).scene
    scene["wavelength"].values[unknown] = np.nan
    result = unmix(scene, 2, method="spa")
    good = np.flatnonzero(scene["good_band"].values) + 1
    assert len(good) < 30  # the others are left out, and these keep their numbers
    positions, label = band_axis(result.endmembers)
    np.testing.assert_array_equal(positions, good)
    assert label == "Band"
    assert band_labels(result.endmembers)[4] == f"Band {good[4]}"
    assert not shows_nan(render_report(result))


def test_refers_to_nothing_outside():
    page = page_of(make_result())
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []
    assert "http" not in page.replace("http-equiv", "")
    assert "@import" not in page
    assert "url(" not in page


def test_undecodable_names_can_be_written(tmp_path):
    # b"\xff" in a file name reaches Python as a lone surrogate, which UTF-8 cannot hold
    result = make_result()
    bands = {"band_name": ("band", ["\udcff"] * 40)}
    result = replace(result, endmembers=result.endmembers.assign_coords(bands))
    path = write_report(
        result,
        tmp_path / "report.html",
        title="a\udcff\x1b[31m\u202eb",
        parameters={"File": "\udcff"},
    )
    text = path.read_text(encoding="utf-8")
    assert "a\ufffd\ufffd[31m\ufffdb" in text
    assert "\x1b" not in text


def test_a_file_is_replaced_only_on_request(tmp_path):
    result = make_pixel_result()
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(SceneError):
        write_report(result, path)
    assert path.read_text() == "mine"
    write_report(result, path, overwrite=True)
    assert path.read_text().endswith("</html>\n")


def test_gaps_and_constant_data():
    result = make_result()
    endmembers = result.endmembers.copy(data=np.full((3, 40), 0.5))
    endmembers[0, 3:6] = np.nan
    flat = replace(result, endmembers=endmembers, spread=None, residual=0 * result.residual)
    assert not shows_nan(page_of(flat))


@pytest.mark.parametrize(("r", "shape", "n_bands"), [(1, (3, 1), 1), (30, (20, 30), 40)])
def test_every_material_has_a_line(r, shape, n_bands):
    proof = make_proof([0.0] * r)
    for result in (
        make_result(r=r, shape=shape, n_bands=n_bands, proof=proof),
        make_pixel_result(r=r, shape=shape, n_bands=n_bands),
    ):
        assert page_of(result).count('class="line"') == r


def test_a_large_scene_is_thinned_and_says_so():
    page = page_of(make_result(shape=(1200, 450)))
    assert 'viewBox="0 0 150 400"' in page
    assert "Shown at one pixel in 3 along each side" in page


def test_uncertainty_that_is_not_known_is_not_shown():
    unknown = make_result().uncertainty.copy(data=np.full((3, 20, 30), np.nan))
    for nothing in (None, unknown):
        page = page_of(make_result(uncertainty=nothing))
        assert 'id="uncertainty"' not in page
        assert page.count(">not known<") == 3
    some = make_result().uncertainty.copy()
    some[:, 5] = np.nan
    page = page_of(make_result(uncertainty=some))
    assert 'id="uncertainty"' in page
    assert not shows_nan(page)


def test_sections_without_content_are_left_out():
    result = make_pixel_result()
    page = page_of(replace(result, preflight=replace(result.preflight, findings=())))
    navigation = re.search(r"<nav.*?</nav>", page, re.DOTALL)[0]
    assert re.findall(r'href="#(\w+)"', navigation) == re.findall(r'<section id="(\w+)"', page)
    assert 'id="findings"' in page_of(make_result())
    assert 'id="findings"' not in page


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


def test_labels_keep_clear_of_points_and_edges():
    points = np.array([[1.0, 1.0], [50.0, 50.0], [52.0, 50.0], [99.0, 99.0]])
    labels = label_positions(points, 100, 100, 5.0)
    assert (labels > 0).all()
    assert (labels < 100).all()
    distances = np.linalg.norm(labels[:, None] - np.vstack([points, labels])[None], axis=2)
    assert distances[distances > 0].min() > 3


def test_colours_differ_for_colour_blind_readers():
    # linear RGB seen by protanopes and deuteranopes (Viénot, Brettel & Mollon 1999)
    rgb = (np.array(class_colours(16)) / 255) ** 2.2
    protan = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
    deutan = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    # and by tritanopes (Machado, Oliveira & Fernandes 2009)
    tritan = np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]
    )
    for seen in (rgb, rgb @ protan.T, rgb @ deutan.T, rgb @ tritan.T):
        shade = np.clip(seen, 0, 1) ** (1 / 2.2)
        distances = np.linalg.norm(shade[:, None] - shade[None], axis=2)
        assert distances[np.triu_indices(16, 1)].min() > 0.1
    # grey and white stand for missing data
    assert np.ptp(np.array(class_colours(16)), axis=1).min() > 45


def test_line_styles_do_not_repeat():
    assert len(set(line_styles(64))) == 64
