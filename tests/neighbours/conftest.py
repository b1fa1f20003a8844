"""Data for the tests with other packages, and these packages, imported without their warnings."""

import importlib
import warnings

import pytest

from selfdict.datasets import make_mixtures


@pytest.fixture(scope="session")
def cube():
    """Mixtures of four spectra, (rows, columns, bands), and the positions of the pure ones."""
    M, _, pure = make_mixtures(30, 120, 4, noise=0.005, random_state=0)
    return M.T.reshape(10, 12, 30), pure


@pytest.fixture(scope="session")
def neighbour():
    """Return a function that imports a package, or skips the test if it is not installed.

    What such packages use of others may be deprecated, which is not ours to repair.
    """

    def load(name):
        pytest.importorskip(name.split(".")[0], exc_type=ImportError)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)

    return load
