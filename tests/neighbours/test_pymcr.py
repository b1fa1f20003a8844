"""pyMCR: spectra of pure points as the start of an alternating regression."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from selfdict import FGNSR, SPA

pytestmark = pytest.mark.filterwarnings("ignore")  # those of pyMCR and of what it uses


@pytest.mark.parametrize("estimator", [FGNSR(4), SPA(4)], ids=["FGNSR", "SPA"])
def test_start_spectra(neighbour, cube, estimator):
    mcr = neighbour("pymcr.mcr")
    D = cube[0].reshape(-1, 30)
    model = estimator.fit(D)
    resolved = mcr.McrAR(max_iter=20, c_regr="NNLS", st_regr="NNLS", tol_increase=0.1)
    resolved.fit(D, ST=D[model.indices_])
    C = resolved.C_opt_
    ST = resolved.ST_opt_
    error = np.linalg.norm(D - C @ ST) / np.linalg.norm(D)
    assert error <= model.reconstruction_err_ * 1.001
    # It stays near what it started from: the order of the components is kept.
    unit = normalize(ST)
    assert (unit @ normalize(model.components_).T).argmax(axis=1).tolist() == [0, 1, 2, 3]
