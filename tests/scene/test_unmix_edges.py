"""What unmixing answers at the edges: negative values, one pixel, one material, any order."""

import numpy as np
import pytest

from selfdict import FGNSR, InputError, nnls
from selfdict.datasets import make_scene
from selfdict.scene import build_scene, matrix, unmix


@pytest.fixture(scope="module")
def dark():
    """A scene with an offset taken off its first bands, so that they are partly negative."""
    truth = make_scene((20, 22), n_bands=40, n_endmembers=3, n_outliers=0, random_state=1)
    values = truth.scene.values.copy()
    inside = values != truth.scene.attrs["_FillValue"]
    values[:10] -= np.float32(0.15)
    values[~inside] = -9999
    return build_scene(values, nodata=-9999)


def test_negative_values_are_used_as_they_are(dark):
    result = unmix(dark, 3, candidates=None, endmembers="pixels", random_state=0)
    M = matrix(dark)
    (said,) = (each for each in result.preflight.findings if each.kind == "negative values")
    assert f"{np.count_nonzero(M < 0):,} " in said.sentence
    assert f"down to {M.min():.6g}" in said.sentence
    # as in the file, and as the estimator sees them
    values = dark.values[:, result.pixels[:, 0], result.pixels[:, 1]]
    assert values.min() < 0
    np.testing.assert_array_equal(result.endmembers.values, values.T)
    assert result.spread is None
    assert result.counts is None
    model = FGNSR(3, random_state=0).fit(M.T)
    assert result.pixel_error == pytest.approx(model.reconstruction_err_, rel=1e-5)
    U = values.astype(np.float64)
    error = np.linalg.norm(M - U @ nnls(U, M)) / np.linalg.norm(M)
    assert result.pixel_error == pytest.approx(error, rel=1e-4)


def test_one_pixel():
    scene = build_scene(np.random.default_rng(0).random((10, 1, 1)))
    result = unmix(scene, 1, prove=True, random_state=0)
    assert result.relative_error < 1e-12
    assert result.abundances.values.tolist() == [[[1.0]]]
    assert [group.tolist() for group in result.groups] == [[[0, 0]]]
    assert (result.spread.values == 0).all()
    assert result.proof.complete
    with pytest.raises(InputError):
        unmix(scene, 2)


def test_all_pixels_alike():
    spectrum = np.random.default_rng(0).random((10, 1, 1))
    scene = build_scene(np.tile(spectrum, (1, 5, 6)))
    result = unmix(scene, 1, prove=True, random_state=0)
    assert len(result.groups[0]) == 30  # the group is the whole scene
    np.testing.assert_allclose(result.endmembers.values[0], spectrum[:, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(result.uncertainty.values, 0.0, atol=1e-12)
    assert result.proof.is_needed.all()
    with pytest.raises(InputError):
        unmix(scene, 2, random_state=0)


def test_one_band():
    scene = build_scene(np.random.default_rng(0).random((1, 4, 5)))
    result = unmix(scene, 1, random_state=0)
    assert result.relative_error < 1e-12
    assert np.isnan(result.uncertainty.values).all()  # nothing is left that could tell the noise


def test_as_many_materials_as_pixels():
    scene = build_scene(np.random.default_rng(0).random((8, 2, 2)))
    result = unmix(scene, 4, prove=True, random_state=0)
    assert sorted(map(tuple, result.pixels.tolist())) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert result.relative_error < 1e-12
    assert [len(group) for group in result.groups] == [1, 1, 1, 1]


def spectra_of(result):
    """Return the spectra in an order that does not depend on that of the materials."""
    spectra = result.endmembers.values.astype(np.float64)
    return spectra[np.argsort(spectra[:, 0])]


@pytest.mark.parametrize("candidates", [None, 60])
def test_any_order_of_the_pixels_and_either_precision_give_the_same_spectra(candidates):
    truth = make_scene((18, 20), n_bands=30, n_endmembers=4, n_outliers=0, random_state=3)
    inside = truth.scene.isel(y=slice(2, -2), x=slice(2, -2))
    values = inside.values.astype(np.float64)
    expected = spectra_of(unmix(build_scene(values), 4, candidates=candidates, random_state=0))
    order = np.random.default_rng(1).permutation(values[0].size)
    mixed = values.reshape(30, -1)[:, order].reshape(values.shape)
    for other in (mixed, values.astype(np.float32), mixed.astype(np.float32)):
        found = spectra_of(unmix(build_scene(other), 4, candidates=candidates, random_state=0))
        np.testing.assert_allclose(found, expected, rtol=0.01)
