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


def test_several_objects_at_once_behind_preprocessing(neighbour, cube):
    ramanspy = neighbour("ramanspy")
    axis = np.linspace(400.0, 1800.0, 30)
    image = ramanspy.SpectralImage(cube[0], axis)
    single = ramanspy.Spectrum(cube[0][0, 0], axis)
    pipeline = ramanspy.preprocessing.Pipeline(
        [ramanspy.preprocessing.misc.Cropper(region=(500, 1700))]
    )
    image, single = pipeline.apply([image, single])
    maps, spectra = as_step(ramanspy, FGNSR(4)).apply([image, single])
    assert maps[0][0].shape == (10, 12)
    assert maps[1][2] == pytest.approx(maps[0][2][0, 0])  # the spectrum is a pixel of the image
    assert len(spectra[0]) == image.spectral_axis.size
