"""score, scikit-learn's own searches over parameters, and fits without a seed."""

import subprocess
import sys

import numpy as np
import pytest

from selfdict import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY
from selfdict.datasets import make_mixtures

ESTIMATORS = [FGNSR, SPA, SNPA, XRAY, VCA, H2NMF]


@pytest.fixture(scope="module")
def X():
    return make_mixtures(20, 120, 4, noise=0.01, random_state=0)[0].T


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_score_is_minus_the_relative_error(Estimator, X):
    model = Estimator(3).fit(X[:80])
    H = model.transform(X[80:])
    error = np.linalg.norm(X[80:] - H @ model.components_) / np.linalg.norm(X[80:])
    assert model.score(X[80:]) == pytest.approx(-error, rel=1e-9)
    assert model.score(X[:80]) == pytest.approx(-model.reconstruction_err_, rel=1e-9)


def test_score_in_single_precision_and_of_zeros(X):
    model = SPA(4).fit(X)
    assert model.score(X.astype(np.float32)) == pytest.approx(model.score(X), rel=1e-4)
    assert model.score(np.zeros((3, 20))) == 0.0


UNSEEDED = """
import numpy as np
from selfdict import FGNSR, VCA
# Each point three times: only p tells them apart.
X = np.repeat(np.random.default_rng(1).random((60, 5)), 3, axis=0)
print(FGNSR(3, postprocess="diagonal").fit(X).indices_.tolist())
print(VCA(4).fit(X).indices_.tolist())
"""


def test_two_processes_without_a_seed_agree(capsys):
    exec(UNSEEDED, {})
    here = capsys.readouterr().out
    other = subprocess.run(
        [sys.executable, "-c", UNSEEDED], capture_output=True, text=True, timeout=300
    )
    assert other.returncode == 0, other.stderr
    assert other.stdout == here


def test_generators_give_new_weights_each_time(X):
    first = FGNSR(3).fit(X).solution_.problem.p
    np.testing.assert_array_equal(first, FGNSR(3, random_state=None).fit(X).solution_.problem.p)
    np.testing.assert_array_equal(first, FGNSR(3, random_state=0).fit(X).solution_.problem.p)
    other = FGNSR(3, random_state=np.random.default_rng()).fit(X).solution_.problem.p
    assert (first != other).any()
