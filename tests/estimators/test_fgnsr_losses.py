"""FGNSR with other losses: variances known per band and pixel, and outliers."""

import numpy as np
import pytest

from selfdict import (
    FGNSR,
    FastGradient,
    Huber,
    InputError,
    Weighted,
    WorkingSet,
    select_indices,
)
from selfdict.datasets import make_mixtures
from selfdict.metrics import index_recovery

SIGMA = 0.02


def spoiled(seed=0):
    """Mixtures of four spectra with noise; six of the pixels have spikes in two bands."""
    M, _, pure = make_mixtures(40, 80, 4, random_state=seed)
    rng = np.random.default_rng(seed)
    M += SIGMA * rng.standard_normal(M.shape)
    bad = rng.choice(np.setdiff1d(np.arange(80), pure), 6, replace=False)
    for j in bad:
        M[rng.choice(40, 2, replace=False), j] += 5 * M.mean()
    return M, pure, bad


def test_spikes_mislead_squares_and_not_huber():
    M, pure, bad = spoiled()
    mu = 3 * M.size * SIGMA**2 / 4
    squares = FGNSR(4, mu=mu, random_state=0).fit(M.T)
    robust = FGNSR(
        4, mu=mu, solver=FastGradient(tol=0, max_iter=300), loss=Huber(2 * SIGMA), random_state=0
    ).fit(M.T)
    assert np.isin(squares.indices_, bad).any()
    assert index_recovery(robust.indices_, pure) == 1
    assert squares.solution_.diagonal[bad].min() > 0.9
    assert robust.solution_.diagonal[bad].max() < 0.1
    np.testing.assert_array_equal(
        robust.indices_, select_indices(robust.solution_, 4, method="spa")
    )


def test_default_solver_depends_on_the_loss():
    M, _, _ = spoiled()
    loss = Huber(2 * SIGMA)
    settings = dict(mu=1.0, tol=0.5, random_state=0)
    model = FGNSR(4, loss=loss, **settings).fit(M.T)
    assert model.solver_ == FastGradient(tol=0.5)
    named = FGNSR(4, loss=loss, solver="fast_gradient", **settings).fit(M.T)
    np.testing.assert_array_equal(model.indices_, named.indices_)
    assert FGNSR(4).fit(M.T).solver_ == WorkingSet()


def test_variances_of_another_number_of_bands_are_refused():
    M, _, _ = spoiled()
    with pytest.raises(InputError):
        FGNSR(4, loss=Weighted(np.ones(3))).fit(M.T)
