"""The figures for papers show the numbers they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from report_sample import make_data

from selfdict.report import plot_abundances, plot_residual, plot_scene, plot_spectra, plot_weights

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
