"""The figures for papers show the numbers they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from report_sample import make_pixel_result, make_result

from selfdict import InputError
from selfdict._display import class_colours
from selfdict.report import (
    plot_abundances,
    plot_dominant,
    plot_map,
    plot_matches,
    plot_scene,
    plot_spectra,
)
from selfdict.scene import Match, build_library
from selfdict.scene.identification import Candidate

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def test_scene_marks_the_pure_pixels():
    result = make_result()
    ax = plot_scene(result)
    marks = np.array([[line.get_ydata()[0], line.get_xdata()[0]] for line in ax.lines])
    np.testing.assert_array_equal(marks, result.pixels)
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3"]


@pytest.mark.parametrize("r", [1, 5])
def test_abundance_maps_share_one_scale(r):
    figure = plot_abundances(make_result(r=r))
    images = [ax.images[0] for ax in figure.axes if ax.images]
    assert len(images) == r
    assert len({image.get_clim() for image in images}) == 1
    assert images[0].get_array().mask[:2].all()


@pytest.mark.parametrize("name", ["residual", "brightness", "uncertainty"])
def test_maps_are_drawn_into_given_axes(name):
    result = make_result()
    ax = pyplot.subplots()[1]
    assert plot_map(result, name, ax) is ax
    expected = getattr(result, name).values
    if name == "uncertainty":
        expected = expected.max(axis=0)
    valid = result.valid.values
    np.testing.assert_allclose(ax.images[0].get_array()[valid], expected[valid])


def test_what_a_method_does_not_give_is_not_drawn():
    with pytest.raises(InputError):
        plot_map(make_pixel_result(), "uncertainty")
    with pytest.raises(InputError):
        plot_map(make_result(), "weights")


def test_spectra_have_the_band_of_their_spread():
    result = make_result()
    ax = plot_spectra(result)
    assert len(ax.collections) == 3
    edges = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert edges.max() == pytest.approx((result.endmembers + result.spread).values[1].max())
    assert not plot_spectra(make_pixel_result()).collections


def test_the_dominant_material_has_its_colour():
    result = make_result()
    ax = plot_dominant(result)
    image = ax.images[0].get_array()
    largest = result.abundances.values.argmax(axis=0)
    for k in range(3):
        colours = np.unique(image[result.valid.values & (largest == k)], axis=0)
        assert colours.tolist() == [list(class_colours(3)[k])]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == result.labels


def test_matches_are_drawn_beside_the_endmembers_and_break_at_gaps():
    wavelength = np.concatenate([np.arange(400.0, 800.0, 10), np.arange(1500.0, 1900.0, 10)])
    spectra = np.random.default_rng(0).random((4, 80))
    endmembers = build_library(spectra, list("abcd"), wavelength)
    candidate = Candidate("$quartz", "$quartz GDS31", 4.0)
    matches = [Match(None, (candidate,), 2 * spectrum) for spectrum in spectra]
    figure = plot_matches(endmembers, matches)
    # The second row has one chart and two empty places.
    assert len([ax for ax in figure.axes if ax.lines]) == 4
    own, library = figure.axes[1].lines
    assert np.isnan(own.get_xdata()[40])
    np.testing.assert_array_equal(np.delete(own.get_ydata(), 40), spectra[1])
    np.testing.assert_array_equal(np.delete(library.get_ydata(), 40), 2 * spectra[1])
    assert figure.axes[1].get_title() == "2: no match ($quartz GDS31, 4.0°)"
