"""pandas and scikit-learn: names in and out, set_output, pipelines, unions, clones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer

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


def test_other_columns_are_refused(table):
    model = SPA(4).fit(table)
    with pytest.raises(ValueError, match="feature names should match"):  # by scikit-learn
        model.transform(table[table.columns[::-1]])


def test_pipelines(table):
    model = make_pipeline(MaxAbsScaler(), Normalizer("l1"), FGNSR(4)).set_output(transform="pandas")
    H = model.fit_transform(table)
    assert list(H.columns) == ["fgnsr0", "fgnsr1", "fgnsr2", "fgnsr3"]
    assert (H.to_numpy() >= 0).all()
    union = FeatureUnion([("pure", SPA(3)), ("clusters", H2NMF(2))])
    assert union.fit_transform(table).shape == (120, 5)
    parts = ColumnTransformer([("visible", SPA(2), list(table.columns[:15]))])
    assert parts.fit_transform(table).shape == (120, 2)
