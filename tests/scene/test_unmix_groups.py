"""Averages, shares and proofs of scenes."""

import numpy as np
import pytest

from selfdict import FGNSR, InputError, shares
from selfdict.datasets import make_scene
from selfdict.scene import matrix, unmix


@pytest.fixture(scope="module")
def truth():
    return make_scene(shape=(24, 20), n_endmembers=3, noise=0.02, n_outliers=0, random_state=0)


@pytest.fixture(scope="module")
def result(truth):
    return unmix(
        truth.scene,
        3,
        candidates=None,
        endmembers="average",
        abundances="shares",
        prove=True,
        random_state=0,
    )


def test_endmembers_are_averages_with_their_spread(truth, result):
    M = matrix(truth.scene, clip=True)
    assert result.parameters["endmembers"] == "average"
    assert result.spread.shape == result.endmembers.shape
    for k, group in enumerate(result.groups):
        assert tuple(group[0]) == tuple(result.pixels[k])
        assert result.counts[k] <= len(group)
    flat = [group[:, 0] * 20 + group[:, 1] for group in result.groups]
    assert np.unique(np.concatenate(flat)).size == sum(map(len, flat))
    indices = [f[0] for f in flat]
    model = FGNSR(3, endmembers="average", random_state=0).fit(M.T)
    if sorted(model.indices_) == sorted(indices):
        np.testing.assert_allclose(
            np.sort(result.endmembers.values, axis=0), np.sort(model.components_, axis=0)
        )


def test_maps_are_shares(truth, result):
    total = result.abundances.sum("endmember").values
    np.testing.assert_allclose(total[result.valid.values], 1.0, rtol=1e-6)
    M = matrix(truth.scene, clip=True)
    expected = shares(result.endmembers.values.T, M)
    found = result.abundances.values[:, result.valid.values]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_the_residual_does_not_depend_on_the_kind_of_abundances(truth, result):
    plain = unmix(truth.scene, 3, candidates=None, endmembers="average", random_state=0)
    assert plain.relative_error == pytest.approx(result.relative_error, rel=1e-6)
    np.testing.assert_allclose(plain.residual.values, result.residual.values, rtol=1e-4)


def test_the_proof_is_about_the_groups_shown(result):
    assert len(result.proof.needed) == 3
    assert result.proof.enough < 0.2
    assert result.proof.limit <= result.relative_error * (1 + 1e-6)
    assert not result.proof.closed[result.proof.solution.support].any()


def test_with_candidates_it_speaks_of_the_representatives(truth):
    result = unmix(truth.scene, 3, candidates=60, prove=True, random_state=0)
    assert result.proof.closed.shape == (60,)
    assert result.spread is None
    assert result.counts is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(method="spa", endmembers="average"), "need the method 'fgnsr', got 'spa'"),
        (dict(method="vca", prove=True), "need the method 'fgnsr', got 'vca'"),
        (dict(endmembers="mean"), "endmembers must be 'pixels' or 'average', got 'mean'"),
        (dict(abundances="percent"), "abundances must be 'nnls', 'fcls' or 'shares'"),
    ],
)
def test_bad_options(truth, options, message):
    with pytest.raises(InputError, match=message):
        unmix(truth.scene, 3, **options)
