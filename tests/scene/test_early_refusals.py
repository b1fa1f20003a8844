"""Faults of a request: found before the scene is read, and told in one sentence."""

import numpy as np
import pytest
import xarray as xr

from selfdict import InputError
from selfdict.datasets import make_scene
from selfdict.scene import SceneError, unmix


@pytest.fixture(scope="module")
def scene():
    return make_scene((16, 16), n_bands=12, n_endmembers=3, random_state=0).scene


def refused(scene, **options):
    """Return the sentence, and see that nothing was read."""
    steps = []
    with pytest.raises(InputError) as error:
        unmix(scene, 3, progress=lambda step, share: steps.append(step), **options)
    assert steps == []
    return str(error.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tolerance": 1}, "tolerance"),
        ({"n_components": 3}, "n_components"),
        ({"mu": -1}, "mu must"),
        ({"mu": "foo"}, "mu must"),
        ({"tol": "tight"}, "'tol'"),
        ({"solver": "typo"}, "'typo'"),
        ({"method": "spa", "solver": "working_set"}, "solver"),
        ({"max_pixels": 0}, "max_pixels must be at least 1, got 0"),
    ],
)
def test_options_are_checked_before_the_scene_is_read(scene, options, named):
    assert named in refused(scene, **options)


def test_a_folder_that_exists_is_refused_before_the_scene_is_read(scene, tmp_path):
    assert refused(scene, maps=tmp_path).endswith("exists already: choose another folder")
    with pytest.raises(SceneError):
        unmix(scene, 3, maps=tmp_path)


@pytest.mark.parametrize("max_pixels", [2.5, "a", True])
def test_max_pixels_is_a_count(scene, max_pixels):
    with pytest.raises(TypeError, match="max_pixels must be an integer"):
        unmix(scene, 3, max_pixels=max_pixels)


@pytest.mark.parametrize("candidates", ["auto", None])
def test_a_sample_is_called_one(scene, candidates):
    result = unmix(scene, 3, candidates=candidates, max_pixels=20, random_state=np.int64(4))
    assert result.parameters["candidates_reason"] == (
        "A random sample of about 20 of 256 pixels, and extreme ones, are the candidates, "
        "as max_pixels asks for."
    )
    assert result.parameters["max_pixels"] == 20
    assert result.parameters["random_state"] == 4
    assert result.solution.diagonal.size < 60


def test_without_a_sample_all_pixels_are_candidates(scene):
    for max_pixels in (None, 256):
        result = unmix(scene, 3, max_pixels=max_pixels, random_state=0)
        assert result.parameters["candidates_reason"].startswith("All 256 points")
        assert result.parameters["max_pixels"] == max_pixels


def test_a_dataset_is_told_to_be_taken_apart(scene):
    dataset = xr.Dataset({"cube": scene, "mask": scene.isel(band=0, drop=True)})
    with pytest.raises(TypeError, match=r"pass one of its variables.* there are: cube, mask"):
        unmix(dataset, 3)
