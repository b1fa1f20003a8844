"""Columns kept in different ways must give the same search: gates, derivatives, multipliers."""

import numpy as np
import pytest

from selfdict.solvers.gates import Gates

START = np.array([20, 5, 9, 1]), np.array([0.3, 0.7, 0.0, 0.9])


def assert_same_search(here, there):
    """Fit, change and move the same gates on two kinds of columns, and compare all that follows."""
    here, there = (Gates(columns, *START) for columns in (here, there))
    for step in range(3):
        for gates in (here, there):
            if step == 1:
                gates.change(gates.t > 0, np.array([2, 4]))
            elif step == 2:
                gates.t = np.array([0.2, 0.6, 0.9, 0.1, 0.2])
                gates.evaluate(gates.t)
        assert there.fit == pytest.approx(here.fit, rel=1e-12)
        np.testing.assert_allclose(there.gradient, here.gradient, atol=1e-10)
        np.testing.assert_allclose(there.fitted.hessian(), here.fitted.hessian(), atol=1e-10)
    index = np.array([3, 0])
    np.testing.assert_allclose(there.fitted.rows(index), here.fitted.rows(index), atol=1e-10)
    found, expected = there.fitted.multiplier(), here.fitted.multiplier()
    np.testing.assert_allclose(found.inner, expected.inner, atol=1e-10)
    assert found.quadratic == pytest.approx(expected.quadratic, rel=1e-12)
    for rows in (None, np.array([2, 11, 29])):
        exact = expected.scores(rows, rough=False)
        np.testing.assert_allclose(found.scores(rows, rough=False), exact, rtol=1e-10, atol=1e-10)
        rough = found.scores(rows, rough=True)
        np.testing.assert_allclose(rough, exact, rtol=1e-3, atol=1e-6)
        assert (rough >= exact * (1 - 1e-5) - 1e-10).all()
