"""pysptools: the lines of docs/neighbours.md that claim the same result."""

import numpy as np
import pytest

from selfdict import fcls, nnls, unmix
from selfdict.datasets import make_mixtures

pytestmark = pytest.mark.filterwarnings("ignore")  # those of pysptools and of what it uses


@pytest.fixture(autouse=True)
def old_numpy(monkeypatch):
    """Give NumPy the names that pysptools 0.15 still uses."""
    monkeypatch.setattr(np, "float", float, raising=False)
    monkeypatch.setattr(np, "int", int, raising=False)


@pytest.fixture(scope="module")
def spectra():
    M, _, pure = make_mixtures(30, 120, 4, noise=0.002, random_state=3)
    return M, pure


# Their FCLS is that of a general solver, which ends at a tolerance.
@pytest.mark.parametrize(("name", "ours", "atol"), [("NNLS", nnls, 1e-5), ("FCLS", fcls, 1e-3)])
def test_abundances(neighbour, spectra, name, ours, atol):
    """The same inside the cone or simplex; at its faces theirs fit worse."""
    amaps = neighbour("pysptools.abundance_maps")
    M, pure = spectra
    cube = M.T.reshape(10, 12, 30)
    U = M.T[pure]
    theirs = getattr(amaps, name)().map(cube, U)
    H = ours(U.T, M).T.reshape(10, 12, 4)
    inside = (H > 0.01).all(axis=-1)
    assert inside.sum() > 20
    np.testing.assert_allclose(theirs[inside], H[inside], atol=atol)
    np.testing.assert_allclose(theirs, H, atol=0.02)
    assert np.linalg.norm(cube - H @ U) <= np.linalg.norm(cube - theirs @ U)


def test_atgp_is_spa_and_masks_and_indices_are_the_other_way_round(neighbour, spectra):
    eea = neighbour("pysptools.eea")
    cube = spectra[0].T.reshape(10, 12, 30)
    used = np.ones((10, 12), dtype=bool)
    theirs = eea.ATGP()
    E = theirs.extract(cube, 4)
    ours = unmix(cube, 4, method="spa", mask=~used)
    np.testing.assert_allclose(ours.endmembers.values, E)
    found = [(int(row), int(column)) for column, row in theirs.get_idx()]
    assert found == [tuple(pixel) for pixel in ours.pixels.tolist()]
