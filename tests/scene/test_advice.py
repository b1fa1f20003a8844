"""The number of materials of a scene: the same from ``advise_rank`` and from "auto"."""

import numpy as np
import pytest

from selfdict import InputError
from selfdict.datasets import make_scene
from selfdict.scene import advise_rank, build_scene, unmix


@pytest.fixture(scope="module")
def varied():
    """Return a scene of four materials whose spectra vary."""
    return make_scene(
        (24, 24), 30, 4, noise=0.002, variability=0.05, n_outliers=0, random_state=4
    ).scene


def test_auto_is_the_same_recommendation(varied):
    advice = advise_rank(varied)
    result = unmix(varied, "auto", uncertainty=False, candidates=40)
    assert result.rank_advice.sentences == advice.sentences
    assert result.parameters["r"] == len(result.pixels) == advice.r
    # the same pixels, searched for among all of them
    assert result.pixel_error <= 1.02 * advice.errors[advice.r - 1]


def test_a_limit(varied):
    assert advise_rank(varied, 2).r == 2
    with pytest.raises(InputError):
        advise_rank(varied, 0)


def test_a_scene_without_data():
    with pytest.raises(InputError):
        unmix(build_scene(np.zeros((5, 6, 7))), "auto")
    with pytest.raises((InputError, TypeError)):
        unmix(build_scene(np.ones((5, 6, 7))), "many")
