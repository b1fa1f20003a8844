"""The figures for papers show the numbers they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from report_sample import make_data, make_group_data

from selfdict import InputError
from selfdict.report import (
    plot_abundances,
    plot_dominant,
    plot_matches,
    plot_residual,
    plot_scene,
    plot_spectra,
    plot_uncertainty,
    plot_weights,
)
from selfdict.scene import Match, build_library
from selfdict.scene.identify import Candidate

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def test_scene_marks_the_pure_pixels():
    data = make_data()
    ax = plot_scene(data)
    marks = np.array([[line.get_ydata()[0], line.get_xdata()[0]] for line in ax.lines])
    np.testing.assert_array_equal(marks, data.pixels)
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3"]


def test_spectra_break_at_dropped_bands():
    data = make_data()
    positions = data.band_positions.copy()
    positions[20:] += 1000
    ax = plot_spectra(make_data(band_positions=positions))
    y = ax.lines[1].get_ydata()
    assert np.flatnonzero(np.isnan(y)).tolist() == [20]
    np.testing.assert_array_equal(np.delete(y, 20), data.endmembers[:, 1])


@pytest.mark.parametrize("r", [1, 5])
def test_abundance_maps_share_one_scale(r):
    figure = plot_abundances(make_data(r=r))
    images = [ax.images[0] for ax in figure.axes if ax.images]
    assert len(images) == r
    assert len({image.get_clim() for image in images}) == 1
    assert images[0].get_array().mask[:2].all()


def test_residual_and_weights_draw_into_given_axes():
    data = make_data()
    figure, (left, right) = pyplot.subplots(1, 2)
    assert plot_residual(data, left) is left
    assert plot_weights(data, right, limit=4) is right
    heights = [bar.get_height() for bar in right.patches]
    np.testing.assert_allclose(heights, [*data.weights, *data.other_weights[:4]])
    figure.canvas.draw()


def test_spectra_have_the_band_of_their_spread():
    data = make_group_data()
    ax = plot_spectra(data)
    assert len(ax.collections) == 3
    edges = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert edges.max() == pytest.approx((data.endmembers + data.spread)[:, 1].max())
    assert not plot_spectra(make_data()).collections


def test_weights_of_groups():
    data = make_group_data()
    heights = [bar.get_height() for bar in plot_weights(data).patches]
    together = data.weights.sum() + data.other_weights.sum()
    np.testing.assert_allclose(heights, [*data.group_weights, together - data.group_weights.sum()])


def test_uncertainty_is_the_largest_of_a_pixel():
    data = make_group_data()
    shown = plot_uncertainty(data).images[0].get_array()
    np.testing.assert_allclose(shown[data.mask], data.uncertainty.max(axis=0)[data.mask])
    with pytest.raises(InputError, match="no standard errors"):
        plot_uncertainty(make_data())


def test_the_dominant_material_has_its_colour():
    data = make_group_data()
    ax = plot_dominant(data)
    image = ax.images[0].get_array()
    largest = data.abundances.argmax(axis=0)
    for k in range(3):
        assert len(np.unique(image[data.mask & (largest == k)], axis=0)) == 1
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["Material 1", "Material 2", "Material 3"]


def test_matches_are_drawn_beside_the_endmembers_and_break_at_gaps():
    wavelength = np.concatenate([np.arange(400.0, 800.0, 10), np.arange(1500.0, 1900.0, 10)])
    spectra = np.random.default_rng(0).random((4, 80))
    endmembers = build_library(spectra, list("abcd"), wavelength)
    candidate = Candidate("$quartz", "$quartz GDS31", 0, 4.0)
    matches = [Match(None, (candidate,), 2 * spectrum) for spectrum in spectra]
    figure = plot_matches(endmembers, matches)
    # The second row has one chart and two empty places.
    assert len([ax for ax in figure.axes if ax.lines]) == 4
    own, library = figure.axes[1].lines
    assert np.isnan(own.get_xdata()[40])
    np.testing.assert_array_equal(np.delete(own.get_ydata(), 40), spectra[1])
    np.testing.assert_array_equal(np.delete(library.get_ydata(), 40), 2 * spectra[1])
    assert figure.axes[1].get_title() == "2: no match ($quartz GDS31, 4.0°)"
