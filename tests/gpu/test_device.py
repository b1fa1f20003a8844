"""The kernels for torch tensors.

The Triton ones, interpreted, against plain torch and the code of the CPU.
"""

import sys

import numpy as np
import pytest

from on_device import DEVICE, tensor, torch
from selfdict import InputError
from selfdict.compute import device as choose
from selfdict.gpu import scores

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.parametrize("scale", [1.0, 1e-30])
def test_fused_sums_are_accurate_to_float32(scale):
    rng = np.random.default_rng(0)
    left = tensor(rng.standard_normal((150, 37)) * 10.0 ** rng.integers(-3, 3, (150, 1)))
    theta = scale * tensor(rng.standard_normal((37, 700)) * rng.random(700) ** 8)
    exact = (left @ theta).clamp(min=0).sum(dim=1)
    size = left.abs() @ theta.abs().sum(dim=1)
    fused = scores.fused_sums(scores.split(left, scores.LEFT), theta)
    assert ((fused - exact).abs() / size).max() < 2e-7
    plain = scores.plain_sums(left, theta, np.float32)
    assert ((plain - exact).abs() / size).max() < 2e-7
    plain = scores.plain_sums(left, theta, np.float64)
    assert ((plain - exact).abs() / size).max() < 1e-15


def test_split_matrices_add_up():
    A = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 9)) * 1e5)
    halves, scale = scores.split(A, (0, 1, 0))
    whole = (halves[:, :9].double() + halves[:, 9:18].double()) * scale[:, None]
    assert (
        (whole - A).abs() <= 2.0**-22 * A.abs() + 2.0**-38 * A.abs().amax(dim=1, keepdim=True)
    ).all()
    assert torch.equal(halves[:, :9], halves[:, 18:])


def test_screening_of_some_rows_in_blocks(monkeypatch):
    monkeypatch.setattr(scores, "_SCREENING_BLOCK_ENTRIES", 100)
    rng = np.random.default_rng(0)
    M, w, theta = rng.random((6, 30)), rng.random(30) + 0.5, rng.standard_normal((6, 20))
    exact = np.maximum((M / w).T @ theta, 0).sum(axis=1)
    screen = scores.Screen(M, w, torch.device(DEVICE))
    rows = np.array([3, 4, 17])
    np.testing.assert_allclose(screen.positive_sums(theta, None, np.float64), exact, rtol=1e-13)
    np.testing.assert_allclose(
        screen.positive_sums(theta, rows, np.float64), exact[rows], rtol=1e-13
    )
    np.testing.assert_allclose(
        screen.positive_sums(theta, rows, np.float32), exact[rows], rtol=1e-5
    )


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
