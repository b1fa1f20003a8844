"""torch and SPy: their arrays give what plain ones give."""

import numpy as np
import pytest

from selfdict import FGNSR, SPA, InputError, Problem, WorkingSet, nnls, spa
from selfdict.datasets import make_scene
from selfdict.scene import matrix, read_scene, unmix, write_scene


@pytest.mark.usefixtures("one_torch_thread")
def test_tensors(neighbour, cube):
    torch = neighbour("torch")
    X = cube[0].reshape(-1, 30)
    tensor = torch.from_numpy(X)
    expected = FGNSR(4).fit(X)
    model = FGNSR(4).fit(tensor)
    np.testing.assert_array_equal(model.indices_, expected.indices_)
    assert isinstance(model.transform(tensor), np.ndarray)
    np.testing.assert_array_equal(model.transform(tensor), expected.transform(X))
    np.testing.assert_array_equal(SPA(4).fit(tensor).indices_, SPA(4).fit(X).indices_)
    theirs, ours = (unmix(data.reshape(10, 12, 30), 4, method="spa") for data in (tensor, X))
    np.testing.assert_array_equal(theirs.pixels, ours.pixels)


@pytest.mark.usefixtures("one_torch_thread")
def test_tensors_that_record_gradients_are_refused(neighbour, cube):
    torch = neighbour("torch")
    X = torch.from_numpy(cube[0].reshape(-1, 30)).requires_grad_()
    M = X.T
    for call in (
        lambda: FGNSR(4).fit(X),
        lambda: SPA(4).fit_transform(X),
        lambda: unmix(X.reshape(10, 12, 30), 4),
        lambda: WorkingSet().solve(Problem(M, 0.1)),
        lambda: spa(M, 4),
        lambda: nnls(M[:, :4], M),
    ):
        with pytest.raises(InputError):
            call()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    scene = make_scene(shape=(20, 18), n_endmembers=3, n_outliers=0, random_state=0).scene
    inner = scene.isel(y=slice(3, -3), x=slice(3, -3), band=scene["good_band"].values)
    return write_scene(inner, tmp_path_factory.mktemp("spy") / "scene.hdr")


def test_images_of_spy(neighbour, file):
    spectral = neighbour("spectral")
    image = spectral.open_image(str(file))
    expected = unmix(read_scene(file), 3)
    for data in (image, image.load()):
        result = unmix(data, 3)
        np.testing.assert_array_equal(result.pixels, expected.pixels)
        np.testing.assert_allclose(
            result.endmembers["wavelength"], expected.endmembers["wavelength"], rtol=1e-6
        )
    np.testing.assert_allclose(
        image.load().reshape(-1, image.nbands).T, matrix(read_scene(file)), rtol=1e-6
    )
