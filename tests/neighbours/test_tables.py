"""pandas: names in and out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from selfdict import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY

ESTIMATORS = [FGNSR, SPA, SNPA, XRAY, VCA, H2NMF]


@pytest.fixture
def table(cube):
    bands = [f"{wavelength} nm" for wavelength in range(400, 700, 10)]
    places = [f"pixel {k}" for k in range(120)]
    return pd.DataFrame(cube[0].reshape(-1, 30), columns=bands, index=places)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_names_in_and_out(table, Estimator):
    model = Estimator(4).set_output(transform="pandas").fit(table)
    assert model.feature_names_in_.tolist() == list(table.columns)
    H = model.transform(table)
    assert isinstance(H, pd.DataFrame)
    assert H.index.equals(table.index)
    name = Estimator.__name__.lower()
    assert list(H.columns) == [f"{name}{k}" for k in range(4)]
    assert list(model.get_feature_names_out()) == list(H.columns)
    plain = table.to_numpy()
    np.testing.assert_array_equal(H.to_numpy(), Estimator(4).fit(plain).transform(plain))
    again = clone(model).fit_transform(table)
    assert again.index.equals(table.index)
