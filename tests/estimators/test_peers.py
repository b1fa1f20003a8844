from sklearn.utils.estimator_checks import parametrize_with_checks

from selfdict import SPA

ESTIMATORS = [SPA]


@parametrize_with_checks([Estimator() for Estimator in ESTIMATORS])
def test_scikit_learn(estimator, check):
    check(estimator)
