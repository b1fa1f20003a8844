"""Where data is computed, and sums of positive parts for torch tensors."""

import sys

import numpy as np
import pytest

from on_device import DEVICE, tensor, torch
from selfdict import InputError
from selfdict.compute import device as choose
from selfdict.gpu import columns
from selfdict.model.score_bounds import MemoryRows

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.parametrize(("dtype", "digits"), [(np.float32, 2e-7), (np.float64, 1e-15)])
@pytest.mark.parametrize("scale", [1.0, 1e-30])
def test_sums_are_accurate_to_their_precision(scale, dtype, digits):
    rng = np.random.default_rng(0)
    left = tensor(rng.standard_normal((150, 37)) * 10.0 ** rng.integers(-3, 3, (150, 1)))
    theta = scale * tensor(rng.standard_normal((37, 700)) * rng.random(700) ** 8)
    exact = (left @ theta).clamp(min=0).sum(dim=1)
    size = left.abs() @ theta.abs().sum(dim=1)
    found = columns.positive_sums(left, theta, dtype)
    assert ((found - exact).abs() / size).max() < digits


def test_screening_of_some_rows_in_blocks(monkeypatch):
    monkeypatch.setattr(columns, "_SCREENING_BLOCK_ENTRIES", 100)
    rng = np.random.default_rng(0)
    M, w, theta = rng.random((6, 30)), rng.random(30) + 0.5, rng.standard_normal((6, 20))
    exact = np.maximum((M / w).T @ theta, 0).sum(axis=1)
    atoms = MemoryRows(M, w, torch.device(DEVICE))
    rows = np.array([3, 4, 17])
    np.testing.assert_allclose(atoms.positive_sums(theta, None, np.float64), exact, rtol=1e-13)
    np.testing.assert_allclose(
        atoms.positive_sums(theta, rows, np.float64), exact[rows], rtol=1e-13
    )
    np.testing.assert_allclose(atoms.positive_sums(theta, rows, np.float32), exact[rows], rtol=1e-5)


def test_choice_of_the_device(monkeypatch):
    data = torch.zeros((2, 2))
    assert choose.choose_device(None, np.zeros(2)) is None
    assert choose.choose_device("cpu", np.zeros(2)) is None
    assert choose.choose_device("cpu:0", np.zeros(2)) is None
    assert choose.choose_device(None, np.zeros(2), data) == torch.device("cpu")
    assert choose.choose_device("cpu", data) == torch.device("cpu")
    with pytest.raises(InputError):
        choose.choose_device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.warns(RuntimeWarning):
        assert choose.choose_device("cuda", data) is None

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.warns(RuntimeWarning):
        assert choose.choose_device("cuda") is None
