"""SPA, SNPA, XRAY and VCA: reference implementations, known answers, what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_peers
from selfdict import InputError, h2nmf, snpa, spa, vca, xray
from selfdict.datasets import make_mixtures
from selfdict.peers.vca import _reduce

PEERS = [spa, snpa, xray, vca]


@given(
    st.integers(0, 10**6),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([0, 1e-9, 1e-3, 0.5]),
)
def test_spa_equals_explicit_residuals(seed, dtype, noise):
    M = np.maximum(make_mixtures(12, 60, 5, noise=noise, random_state=seed)[0], 0).astype(dtype)
    assert spa(M, 5).tolist() == naive_peers.spa(M, 5)


def test_spa_of_residuals_that_cancel():
    """Residuals of 1e-12 of the data, 1e-24 squared: far below the rounding of the subtraction."""
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    M = Q @ np.diag([1, 1e-2, 1e-6, 1e-9, 1e-12, 0, 0, 0]) @ rng.random((8, 500))
    assert spa(M, 5).tolist() == naive_peers.spa(M, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spa_of_data_of_low_rank(dtype):
    rng = np.random.default_rng(0)
    M = (rng.random((30, 3)) @ rng.random((3, 200))).astype(dtype)
    with pytest.raises(InputError):
        spa(M, 5)
    assert spa(M, 5, allow_fewer=True).tolist() == spa(M, 3).tolist()
    assert spa(0 * M, 5, allow_fewer=True).size == 0


@settings(max_examples=20)
@given(
    st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]), st.sampled_from([1e-3, 0.1])
)
def test_equals_reference_implementations(seed, dtype, noise):
    M = make_mixtures(6, 30, 4, noise=noise, random_state=seed)[0].astype(dtype)
    assert snpa(M, 4).tolist() == naive_peers.snpa(M, 4)
    assert xray(M, 4).tolist() == naive_peers.xray(M, 4)
    p = np.random.default_rng(seed).random(6) + 0.1
    assert xray(M, 4, p=p).tolist() == naive_peers.xray(M, 4, p)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_pure_columns_are_found_without_noise(peer, order, tmp_path):
    M, _, pure = make_mixtures(12, 300, 5, random_state=1)
    np.save(tmp_path / "M.npy", np.asarray(M, order=order))
    assert set(peer(M, 5)) == set(pure)
    assert set(peer(np.load(tmp_path / "M.npy", mmap_mode="r"), 5)) == set(pure)


@pytest.mark.parametrize("peer", [snpa, xray])
def test_more_rays_than_the_rank(peer):
    """Four extreme rays in three dimensions."""
    corners = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0], [1.0, 1.0, 1.0, 1.0]])
    M = np.hstack([corners @ np.random.default_rng(0).dirichlet(np.ones(4), 20).T, corners])
    assert set(peer(M, 4)) == {20, 21, 22, 23}
    with pytest.raises(InputError):
        peer(M, 5)


def test_xray_with_weights_of_features():
    """The same for nonnegative data and p = 1; columns without a positive sum are passed over."""
    M = make_mixtures(12, 100, 5, random_state=1)[0]
    assert xray(M, 5, p=np.ones(12)).tolist() == xray(M, 5).tolist()
    signed = np.array([[1.0, 0.0, -3.0], [0.0, 1.0, 1.0]])
    assert set(xray(signed, 2)) == {0, 2}
    assert set(xray(signed, 2, p=[1.0, 1.0])) == {0, 1}
    with pytest.raises(InputError):
        xray(signed, 3, p=[1.0, 1.0])
    with pytest.raises(InputError):
        xray(signed, 2, p=[1.0, 0.0])


def test_ties_go_to_the_larger_norm_then_to_the_first():
    e = np.eye(3)
    M = np.column_stack([2 * e[0], e[1], e[1] + e[0], e[1] * (1 + 1e-8), e[1] + e[0]])
    assert spa(M, 2).tolist() == [0, 2]
    M = np.column_stack([2 * e[0], e[1], e[1] + 2 * e[0], e[1] * (1 + 1e-8)])
    assert snpa(M, 1).tolist() == [2]
    assert snpa(M[:, [0, 1, 3]], 2).tolist() == [0, 2]
    equal = np.tile(np.random.default_rng(0).random((50, 1)), (1, 999))
    assert spa(equal, 1).tolist() == spa(equal.astype(np.float32), 1).tolist() == [0]


@pytest.mark.parametrize("snr", ["high", "low"])
def test_vca_in_both_reductions(snr):
    """Pure pixels far out are found by either reduction; a seed gives the same indices again."""
    rng = np.random.default_rng(0)
    W = np.eye(40)[:, :4] + 0.1
    M = W @ np.hstack([np.eye(4), rng.dirichlet(np.full(4, 5.0), 500).T])
    M += (1e-4 if snr == "high" else 0.08) * rng.standard_normal(M.shape)
    for seed in range(5):
        found = vca(M, 4, random_state=seed)
        assert set(found) == {0, 1, 2, 3}
        np.testing.assert_array_equal(vca(M, 4, random_state=np.random.default_rng(seed)), found)


def test_vca_projects_by_the_noise_level():
    rng = np.random.default_rng(0)
    M = rng.random((20, 3)) @ rng.dirichlet(np.ones(3), 300).T
    projected = _reduce(M, 3)  # onto the plane uᵀy = 1
    u = np.linalg.lstsq(projected.T, np.ones(300), rcond=None)[0]
    np.testing.assert_allclose(u @ projected, 1.0)
    assert np.ptp(projected[-1]) > 0.01
    components = _reduce(M + 0.3 * rng.standard_normal(M.shape), 3)
    np.testing.assert_allclose(components[:-1].mean(axis=1), 0.0, atol=1e-12)
    assert np.ptp(components[-1]) == 0


def test_vca_never_selects_zero_columns_of_noisy_data():
    """There the origin is a vertex like any other."""
    rng = np.random.default_rng(0)
    M = np.hstack([1 + 0.2 * rng.random((20, 100)), np.zeros((20, 3))])
    for seed in range(10):
        assert max(vca(M, 3, random_state=seed)) < 100


def test_vca_directions_are_orthogonal_to_what_is_selected():
    """So no column is selected twice, whatever the seed."""
    M = np.random.default_rng(0).random((6, 7))
    for seed in range(20):
        assert len(set(vca(M, 6, random_state=seed))) == 6


@pytest.mark.parametrize("peer", PEERS)
def test_duplicates(peer):
    M = np.repeat(np.random.default_rng(0).random((5, 3)), 20, axis=1)
    assert {index // 20 for index in peer(M, 3)} == {0, 1, 2}
    with pytest.raises(InputError):
        peer(M, 4)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_columns_are_never_selected(peer, dtype):
    M = np.zeros((4, 10), dtype=dtype)
    M[:, 3] = [1, 2, 0, 1]
    M[:, 7] = [1, 0, 2, 1]
    assert set(peer(M, 2)) == {3, 7}
    with pytest.raises(InputError):
        peer(M, 3)
    with pytest.raises(InputError):
        peer(np.zeros((3, 4), dtype=dtype), 1)


@pytest.mark.parametrize("peer", PEERS)
def test_one_pixel_one_band(peer):
    assert peer([[3.0]], 1).tolist() == [0]
    assert peer([[1.0], [2.0]], 1).tolist() == [0]
    # In one dimension all columns are one ray; the methods that look at norms take the longest.
    assert peer([[1.0, 3.0, 2.0]], 1).tolist() == ([0] if peer is xray else [1])
    with pytest.raises(InputError):
        peer([[1.0, 3.0, 2.0]], 2)


@pytest.mark.parametrize("peer", [*PEERS, h2nmf])
@pytest.mark.parametrize(
    ("M", "r", "error"),
    [
        (np.array([[1.0, np.nan]]), 1, InputError),
        (np.array([[1.0, np.inf]]), 1, InputError),
        (np.ones(3), 1, InputError),
        (np.ones((2, 3)), 4, InputError),
        (np.ones((2, 3)), 0, InputError),
        (np.ones((2, 0)), 1, InputError),
        (np.ones((2, 3)), 1.5, TypeError),
        (np.ones((2, 3), dtype=complex), 1, TypeError),
        (np.ones((2, 3), dtype=object), 1, TypeError),
    ],
)
def test_invalid_input(peer, M, r, error):
    with pytest.raises(error):
        peer(M, r)
