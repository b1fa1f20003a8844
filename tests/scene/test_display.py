"""How results show themselves: text, HTML with small images, a figure, a Dataset."""

import base64
import io
import re
import sys
from dataclasses import replace

import dask.array
import matplotlib.figure
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot
from PIL import Image

from selfdict import FGNSR, Problem, Solution, prove_groups, working_set
from selfdict._display import at_most
from selfdict.datasets import make_mixtures, make_scene
from selfdict.scene import build_library, unmix


@pytest.fixture(scope="module")
def truth():
    return make_scene(shape=(20, 24), n_endmembers=3, n_outliers=0, random_state=0)


@pytest.fixture(scope="module")
def result(truth):
    return unmix(truth.scene, 3, candidates=60, prove="auto")


def test_text_for_people(result):
    text = repr(result)
    assert len(text.splitlines()) < 16
    assert f"{100 * result.relative_error:.3g} %" in text
    assert at_most(result.gap) in text
    assert "20 × 24" in text
    for row, column in result.pixels:
        assert f"({row}, {column})" in text
    assert result.proof.sentence in text
    assert "what was skipped" in repr(replace(result, skipped=("what was skipped",)))


def test_what_the_preflight_found_is_shown(truth):
    cube = truth.scene.values.copy()
    cube[:, :3, :3] = -9999.0  # in a plain array nothing says that this means no data
    found = unmix(np.moveaxis(cube, 0, -1), 3, candidates=60, prove=False)
    sentence = next(text for text in found.preflight.sentences if "-9999" in text)
    for text in (repr(found), found._repr_html_(), found.to_dataset().attrs["preflight"]):
        assert sentence in text


def images_of(page):
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    return [Image.open(io.BytesIO(base64.b64decode(text))) for text in found]


def test_a_notebook_shows_the_figure_of_plot(result):
    page = result._repr_html_()
    (image,) = images_of(page)
    figure = matplotlib.figure.Figure()
    result.plot(figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=72)
    np.testing.assert_array_equal(np.array(image), np.array(Image.open(stream)))
    assert pyplot.get_fignums() == []  # the notebook would show it once more
    assert len(page) < 150_000
    many = np.zeros((3, 2000, 1500), dtype=np.float32)
    maps = xr.DataArray(many, dims=("endmember", "y", "x"))
    large = replace(result, abundances=maps, residual=maps[0], uncertainty=None)
    assert len(large._repr_html_()) < 150_000


def test_without_matplotlib_the_facts_are_shown(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = result._repr_html_()
    assert "relative error" in page
    assert "selfdict[report]" in page


def test_maps_in_files_are_not_read_for_a_picture(result):
    def never(block):
        pytest.fail("read")

    zeros = dask.array.zeros((3, 3000, 2000), chunks=(3, 500, 500))
    lazy = zeros.map_blocks(never, dtype=float, meta=np.empty((0, 0, 0)))
    maps = xr.DataArray(lazy, dims=("endmember", "y", "x"))
    large = replace(result, abundances=maps, residual=maps[0])
    assert images_of(large._repr_html_()) == []
    assert "UnmixResult" in repr(large)


def test_names_are_text_not_markup(result):
    names = ("endmember", ["<script>alert(1)</script>", "a & b", "c"])
    page = replace(result, endmembers=result.endmembers.assign_coords(name=names))._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.fixture(autouse=True)
def no_figures_are_left():
    yield
    pyplot.close("all")


def test_a_figure(result):
    figure = result.plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    spectra, *maps = [axes for axes in figure.axes if axes.get_title() or axes.lines]
    assert len(spectra.lines) == 3
    drawn = np.array(spectra.lines[1].get_data())
    known = drawn[:, np.isfinite(drawn[0])]  # NaN breaks the line where bands are missing
    np.testing.assert_array_equal(known[0], result.endmembers["wavelength"])
    np.testing.assert_array_equal(known[1], result.endmembers.values[1])
    assert [axes.get_title() for axes in maps] == [*result.labels, "residual"]
    picture = Image.open(io.BytesIO(figure._repr_png_()))  # as a notebook asks for it
    assert len(np.unique(np.array(picture.convert("L")))) > 50


@pytest.mark.parametrize("is_last", [True, False])
def test_a_notebook_shows_the_figure_once(result, is_last, tmp_path, monkeypatch):
    """As IPython does it: the value of the last line first, then all that pyplot still holds."""
    (tmp_path / "like_inline.py").write_text(
        "from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = pyplot.get_backend()
    pyplot.switch_backend("module://like_inline")
    try:
        figure = result.plot()
        shown = []
        if is_last:
            figure._repr_mimebundle_(include=None, exclude=None)
            shown.append(figure)
        shown += [pyplot.figure(number) for number in pyplot.get_fignums()]
    finally:
        pyplot.close("all")
        pyplot.switch_backend(before)
    assert shown == [figure]


def test_a_dataset_survives_a_file(result, tmp_path):
    dataset = result.to_dataset()
    dataset.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")
    again = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    np.testing.assert_array_equal(again["abundance"], result.abundances)
    np.testing.assert_array_equal(again["spectrum"], result.endmembers)
    np.testing.assert_array_equal(again["uncertainty"], result.uncertainty)
    np.testing.assert_array_equal(again["wavelength"], result.endmembers["wavelength"])
    np.testing.assert_array_equal(again["pixel_row"], result.pixels[:, 0])
    assert again["residual"].dims == ("y", "x")
    assert again.attrs["certified_gap"] == result.gap
    assert again.attrs["method"] == "fgnsr"
    assert again.rio.crs.to_epsg() == int(result.crs.removeprefix("EPSG:"))
    assert list(again["label"].values) == result.labels


def test_other_methods_and_libraries(truth):
    plain = unmix(truth.scene, 3, method="spa", uncertainty=False)
    assert "certified gap" not in repr(plain)
    assert "uncertainty" not in plain.to_dataset()
    library = build_library(
        truth.endmembers, ["lime", "clay", "sand"], truth.scene["wavelength"].values
    )
    found = unmix(truth.scene, 2, library=library, candidates=60)
    assert found.labels[0] in repr(found)
    assert list(found.to_dataset()["label"].values) == found.labels
    assert len(found.plot().axes) >= 3
    assert found.labels[0] in found._repr_html_()


def test_small_results_are_one_line():
    M, _, pure = make_mixtures(20, 100, 3, noise=0.01, random_state=0)
    solution = working_set(M, 0.1)
    assert f"{100 * solution.gap:.3g} %" in repr(solution)
    assert str(solution.status) in solution._repr_html_()
    unknown = Solution.from_matrix(np.eye(2), Problem(np.eye(2)))
    proof = prove_groups(solution, [[k] for k in pure])
    assert proof.sentence in repr(proof)
    assert proof.sentence[:20] in proof._repr_html_()
    for each in (solution, unknown, proof, FGNSR(3).fit(M.T).solution_):
        assert "\n" not in repr(each)
        assert len(repr(each)) < 400
