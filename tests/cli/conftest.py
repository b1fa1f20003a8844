"""A scene on disk."""

import pytest

from selfdict.datasets import make_scene
from selfdict.scene import write_scene


@pytest.fixture(scope="session")
def cube(tmp_path_factory):
    scene = make_scene(
        shape=(16, 18), n_bands=30, n_endmembers=3, n_outliers=0, random_state=0
    ).scene
    return write_scene(scene, tmp_path_factory.mktemp("scene") / "cube.hdr")
