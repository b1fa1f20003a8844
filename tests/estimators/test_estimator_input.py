"""What estimators make of lists, masked arrays, points without weight and unknown names."""

import numpy as np
import pandas as pd
import pytest

from selfdict import FGNSR, SPA, InputError, Solver, WorkingSet
from selfdict.datasets import make_mixtures


@pytest.fixture
def X():
    M, _, _ = make_mixtures(12, 60, 3, noise=0.05, random_state=3)
    return M.T


# How data may come, and the precision it is used in.
FORMS = {
    "list": (lambda X: X.tolist(), np.float64),
    "tuple": (lambda X: tuple(map(tuple, X)), np.float64),
    "objects": (lambda X: X.astype(object), np.float64),
    "extended": (lambda X: X.astype(np.longdouble), np.float64),
    "pandas": (lambda X: pd.DataFrame(X).astype("Float64"), np.float64),
    "pandas float32": (lambda X: pd.DataFrame(X.astype(np.float32)), np.float32),
    "float32": (lambda X: X.astype(np.float32), np.float32),
    "half": (lambda X: X.astype(np.float16), np.float32),
    "integers": (lambda X: (1000 * X).astype(np.int64), np.float32),
    "list of integers": (lambda X: (1000 * X).astype(int).tolist(), np.float32),
}


@pytest.mark.parametrize("form", FORMS)
def test_precision(X, form):
    convert, dtype = FORMS[form]
    given = convert(X)
    model = SPA(3).fit(given)
    assert model.components_.dtype == dtype
    abundances = model.transform(given)
    assert abundances.dtype == dtype
    assert model.inverse_transform(abundances.tolist()).dtype == np.float64


@pytest.mark.parametrize("estimator", [SPA(3), FGNSR(3)], ids=["spa", "fgnsr"])
def test_masked_arrays_are_refused(X, estimator):
    masked = np.ma.masked_array(X, mask=np.quantile(X, 0.9) < X)
    with pytest.raises(TypeError):
        estimator.fit(masked)


@pytest.mark.parametrize("endmembers", ["pixels", "average"])
def test_points_without_weight_are_in_no_group(X, endmembers):
    model = FGNSR(3, endmembers=endmembers, random_state=0)
    selected = model.fit(X).indices_
    # what lies next to selected points is absent, and its values do not matter
    absent = [k for k in range(len(X)) if k not in selected][:20]
    weight = np.ones(len(X))
    weight[absent] = 0
    model.fit(X, sample_weight=weight)
    others = X.copy()
    others[absent] = X[selected[0]] * np.linspace(0.9, 1.1, X.shape[1])
    again = FGNSR(3, endmembers=endmembers, random_state=0).fit(others, sample_weight=weight)
    np.testing.assert_allclose(again.components_, model.components_, rtol=1e-12)
    assert again.reconstruction_err_ == pytest.approx(model.reconstruction_err_)
    for members in (*model.groups_, *again.groups_):
        assert not set(members) & set(absent)


@pytest.mark.parametrize(("parameter", "value"), [("solver", "typo"), ("loss", "hubr")])
def test_unknown_names_are_refused(X, parameter, value):
    model = FGNSR(3, **{parameter: value})
    assert value in model._repr_html_()
    with pytest.raises(ValueError, match=value):
        model.fit(X)


@pytest.fixture
def no_further_solvers(monkeypatch):
    monkeypatch.setattr(Solver, "registered", dict(Solver.registered))


@pytest.mark.usefixtures("no_further_solvers")
def test_user_defined_solvers(X):
    class Loud(WorkingSet):
        """The same under the same name."""

    assert Solver.registered["working_set"] is WorkingSet
    with pytest.raises(TypeError):

        class Other(WorkingSet):
            name = "working_set"

    class Mine(WorkingSet):
        name = "mine"

        def _solve(self, problem, start, callback):
            seen.append(problem)
            return super()._solve(problem, start, callback)

    seen = []
    mine = FGNSR(3, solver="mine").fit(X)
    assert len(seen) == 1
    np.testing.assert_array_equal(mine.indices_, FGNSR(3).fit(X).indices_)
    with pytest.raises(InputError):
        FGNSR(3, solver="yours").fit(X)
