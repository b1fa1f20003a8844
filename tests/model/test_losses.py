"""The losses: what any of them must satisfy, and the dual bound of each as a property."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfdict import Huber, InputError, Squared, Weighted
from selfdict.model.dual import Quadratic, search_scaling
from selfdict.model.losses import as_loss

LOSSES = [
    Squared(),
    Weighted([0.5, 2.0, 1.0], [1.0, 3.0, 0.2, 1.0]),
    Weighted(band_variance=[0.5, 2.0, 1.0]),
    Huber(0.7),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
residuals = st.integers(0, 10_000).map(
    lambda seed: np.random.default_rng(seed).normal(0, 1, (2, 3, 4))
)


@every_loss
@given(residuals)
def test_convex_zero_at_zero_and_smooth(loss, pair):
    """ℓ lies above its tangents, and below its parabolas with the Lipschitz constant."""
    R, Q = pair
    assert not loss.value(0 * R).any()
    assert not loss.gradient(0 * R).any()
    assert (loss.value(R) >= 0).all()
    tangent = loss.value(R) + loss.gradient(R) * (Q - R)
    assert (loss.value(Q) >= tangent - 1e-12).all()
    assert (loss.value(Q) <= tangent + 0.5 * loss.lipschitz * (Q - R) ** 2 + 1e-12).all()


@every_loss
@given(residuals)
def test_fenchel_young_with_equality_at_the_gradient(loss, pair):
    """Equality holds at a derivative alone."""
    R, Q = pair
    theta = loss.gradient(Q)
    assert (loss.value(R) + loss.conjugate(theta) >= R * theta - 1e-12).all()
    np.testing.assert_allclose(loss.value(Q) + loss.conjugate(theta), Q * theta, atol=1e-12)


def test_conjugate_is_infinite_beyond_the_steepest_slope():
    loss = Huber(0.7)
    assert loss.limit == 0.7
    assert np.isinf(loss.conjugate(np.array([0.71, -0.71]))).all()
    assert np.isfinite(loss.conjugate(np.array([0.7, -0.7]))).all()


@every_loss
def test_dtype_is_kept(loss):
    R = np.ones((3, 4), dtype=np.float32)
    assert (
        loss.value(R).dtype == loss.gradient(R).dtype == loss.conjugate(0.5 * R).dtype == np.float32
    )


def test_squared_loss_of_whitened_data_is_the_weighted_loss():
    rng = np.random.default_rng(0)
    R, s = rng.normal(size=(3, 4)), rng.random(4)
    for loss in LOSSES[:3]:
        assert loss.quadratic
        expected = (loss.value(R) @ s).sum()
        assert (Squared().value(loss.whiten(R)) @ loss.weigh(s)).sum() == pytest.approx(expected)
    assert not Huber(1.0).quadratic


@given(st.integers(0, 10_000), st.floats(0.5, 5))
def test_search_for_the_scaling_finds_the_exact_one(seed, upper):
    rng = np.random.default_rng(seed)
    linear, quadratic, scores, penalty = (
        rng.random(),
        rng.uniform(0.1, 2),
        rng.normal(size=6),
        rng.random(6),
    )
    c, value = Quadratic(penalty).best_scaling(linear, quadratic, scores)

    def dual(c):
        return c * linear - 0.5 * c * c * quadratic - np.maximum(c * scores - penalty, 0).sum()

    assert search_scaling(dual, np.inf) == pytest.approx(value, abs=1e-10)
    assert search_scaling(dual, upper) == pytest.approx(dual(min(c, upper)), abs=1e-10)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Huber(0.0), InputError),
        (lambda: Huber("auto"), TypeError),
        (lambda: Weighted([1.0, 0.0]).value(np.ones((2, 2))), InputError),
        (lambda: Weighted(pixel_variance=[1.0]).value(np.ones((2, 2))), InputError),
        (lambda: as_loss("huber"), TypeError),
        (lambda: as_loss(Huber), TypeError),
    ],
)
def test_invalid_losses_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_named_losses():
    assert as_loss(None) == as_loss("squared") == Squared()
