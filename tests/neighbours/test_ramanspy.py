"""RamanSPy: an estimator as a step that takes its images and spectra."""

import numpy as np
import pytest

from selfdict import FGNSR

pytestmark = pytest.mark.filterwarnings("ignore")  # those of RamanSPy and of what it uses


def as_step(ramanspy, estimator):
    """The step of docs/neighbours.md."""

    def method(spectra):
        return estimator.fit_transform(spectra), estimator.components_

    return ramanspy.analysis.Step.AnalysisStep(method)


def test_a_step_takes_images_and_returns_maps_and_spectra(neighbour, cube):
    ramanspy = neighbour("ramanspy")
    axis = np.linspace(400.0, 1800.0, 30)
    image = ramanspy.SpectralImage(cube[0], axis)
    model = FGNSR(4)
    maps, spectra = as_step(ramanspy, model).apply(image)
    assert [each.shape for each in maps] == [(10, 12)] * 4
    H = model.transform(cube[0].reshape(-1, 30)).reshape(10, 12, 4)
    for k in range(4):
        np.testing.assert_allclose(maps[k], H[..., k])
        np.testing.assert_array_equal(spectra[k], model.components_[k])
