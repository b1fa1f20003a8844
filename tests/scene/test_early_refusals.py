"""Faults of a request: found before the scene is read, and told in one sentence."""

import numpy as np
import pytest

from selfdict import InputError
from selfdict.datasets import make_scene
from selfdict.scene import build_library, unmix


@pytest.fixture(scope="module")
def scene():
    return make_scene((16, 16), n_bands=12, n_endmembers=3, random_state=0).scene


@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": 1},
        {"n_components": 3},
        {"dictionary": np.ones((12, 3))},
        {"mu": -1},
        {"mu": "foo"},
        {"tol": "tight"},
        {"solver": "typo"},
        {"method": "magic"},
        {"method": "spa", "solver": "working_set"},
        {"method": "spa", "endmembers": "average"},
        {"method": "spa", "max_seconds": 5},
        {"method": "spa", "candidates": 5},
        {"method": "spa", "mu": 0.1},
        {"method": "vca", "prove": True},
        {"prove": "always"},
        {"endmembers": "mean"},
        {"abundances": "percent"},
        {"max_pixels": 0},
        {"mask": np.ones((3, 3), dtype=bool)},
        {"maps": "."},
        {"compare": ["typo"]},
        {"compare": ["spa-3"]},
        {"compare": ["fgnsr-0"]},
        {"compare": ["fgnsr-x"]},
        {"names": build_library(np.ones((5, 12)), list("abcde"))},
        {"compare": ["spa"], "library": build_library(np.ones((5, 12)), list("abcde"))},
    ],
)
def test_options_are_checked_before_the_scene_is_read(scene, options):
    steps = []
    with pytest.raises(InputError):
        unmix(scene, 3, progress=lambda step, share: steps.append(step), **options)
    assert steps == []


@pytest.mark.parametrize(
    "options",
    [
        {"max_pixels": 2.5},
        {"library": "usgs.sli"},
        {"names": np.ones((3, 12))},
        {"compare": True},
        {"compare": "spa"},
    ],
)
def test_values_of_another_kind(scene, options):
    with pytest.raises(TypeError):
        unmix(scene, 3, **options)


def test_refusals_after_a_look_at_the_scene(scene):
    with pytest.raises(InputError):
        unmix(scene.assign_coords(valid=("y", np.ones(16, dtype=bool))), 3)
    with pytest.raises(InputError, match=r"^r must"):
        unmix(np.ones((6, 10, 20)), 3)
    with pytest.raises(InputError):
        unmix(scene.isel(y=slice(5, 7), x=slice(5, 7)), 5, method="spa")
    with pytest.raises(InputError):
        unmix(scene, 3, method="spa", mask=np.ones((16, 16), dtype=bool))


@pytest.mark.parametrize("candidates", ["auto", None])
def test_a_sample_is_called_one(scene, candidates):
    result = unmix(scene, 3, candidates=candidates, max_pixels=20, random_state=np.int64(4))
    assert "sample of about 20 of 256 pixels" in result.parameters["candidates_reason"]
    assert result.parameters["max_pixels"] == 20
    assert result.parameters["random_state"] == 4
    assert result.solution.diagonal.size < 60


def test_without_a_sample_all_pixels_are_candidates(scene):
    for max_pixels in (None, 256):
        result = unmix(scene, 3, max_pixels=max_pixels, random_state=0)
        assert result.parameters["candidates_reason"].startswith("All 256 points")
        assert result.parameters["max_pixels"] == max_pixels
