"""Groups of nearly pure pixels, their averages, shares, and what the edge cases give."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from selfdict import FGNSR, InputError, pure_groups
from selfdict.readout.groups import open_groups, reasons


def mixed(noise=0.02, seed=0, n=600):
    """Mixtures of three spectra with many nearly pure pixels of any brightness."""
    rng = np.random.default_rng(seed)
    W = rng.random((30, 3)) ** 2
    H = rng.dirichlet([0.15, 0.15, 0.15], n).T
    H[:, :3] = np.eye(3)
    brightness = rng.uniform(0.3, 3, n)
    M = (W @ H) * brightness
    M = np.maximum(M + noise * M.mean() * rng.standard_normal(M.shape), 0)
    return M, W, H


def angle(U, V):
    cosine = (U * V).sum(axis=0) / np.linalg.norm(U, axis=0) / np.linalg.norm(V, axis=0)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def test_groups_are_disjoint_pure_and_led_by_the_selected_pixels():
    M, _, H = mixed()
    groups = pure_groups(M, [0, 1, 2])
    together = np.concatenate(groups.members)
    assert np.unique(together).size == together.size
    for k, members in enumerate(groups.members):
        assert members[0] == k
        assert H[k, members].min() > 0.5
        assert np.median(H[k, members]) > 0.8
    assert (groups.counts <= [len(members) for members in groups.members]).all()


def test_averages_are_nearer_to_the_truth_than_pixels():
    M, W, _ = mixed(noise=0.2)
    groups = pure_groups(M, [0, 1, 2])
    assert angle(groups.spectra, W).mean() < 0.5 * angle(M[:, :3], W).mean()
    # typical brightness: that of the spectra times the median of uniform(0.3, 3)
    expected = 1.65 * np.linalg.norm(W, axis=0)
    np.testing.assert_allclose(np.linalg.norm(groups.spectra, axis=0), expected, rtol=0.25)


def test_outliers_do_not_move_an_average():
    M, _, _ = mixed(noise=0.05)
    clean = pure_groups(M, [0, 1, 2])
    members = clean.members[0]
    spoiled = M.copy()
    spoiled[:, members[1:6]] += 0.5 * M.max() * np.eye(30)[:, :5]
    groups = pure_groups(spoiled, [0, 1, 2])
    plain = spoiled[:, members] / np.linalg.norm(spoiled[:, members], axis=0)
    moved = angle(plain.mean(axis=1)[:, None], clean.spectra[:, :1])[0]
    assert angle(groups.spectra, clean.spectra).max() < 0.5 * moved


def dirichlet(concentration, noise=0.005, n=1500):
    """Mixtures without brightness: the larger the concentration, the fewer pixels are pure."""
    rng = np.random.default_rng(0)
    W = rng.random((40, 3)) ** 2
    H = rng.dirichlet(np.full(3, concentration), n).T
    M = W @ H + noise * rng.standard_normal((40, n))
    return M, W, H.argmax(axis=1)


@pytest.mark.parametrize("concentration", [0.05, 0.2, 0.5])
def test_averages_of_thinning_groups_are_no_mixtures(concentration):
    M, W, purest = dirichlet(concentration)
    groups = pure_groups(M, purest)
    assert angle(groups.spectra, W).mean() < 0.7 * angle(M[:, purest], W).mean()


def test_a_pixel_without_others_like_it_stands_for_itself():
    rng = np.random.default_rng(0)
    W = rng.random((40, 3)) ** 2
    H = rng.dirichlet(np.full(3, 4.0), 500).T
    H[:, :3] = np.eye(3)
    M = W @ H + 1e-5 * rng.standard_normal((40, 500))
    groups = pure_groups(M, [0, 1, 2])
    assert groups.counts.tolist() == [1, 1, 1]
    assert angle(groups.spectra, W).max() < 0.01
    assert not groups.spread.any()
    assert reasons(np.array([1, 1244])) == (
        "single pixel: few pixels are similar",
        "average of 1,244 pixels",
    )


def test_two_pixels_of_one_material_are_alike():
    rng = np.random.default_rng(0)
    W = rng.random((40, 2)) ** 2
    pure = np.repeat(W, 100, axis=1)
    M = pure + 0.05 * rng.standard_normal(pure.shape)
    assert pure_groups(M, [0, 1, 100]).alike == ((0, 1),)
    assert pure_groups(M, [0, 100]).alike == ()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_of_the_pixels_does_not_matter(dtype):
    M, _, _ = mixed()
    M = M.astype(dtype)
    order = np.random.default_rng(1).permutation(M.shape[1])
    groups = pure_groups(M, [0, 1, 2])
    moved = pure_groups(M[:, order], np.argsort(order)[:3])
    for members, others in zip(groups.members, moved.members, strict=True):
        assert set(members) == set(order[others])
    np.testing.assert_allclose(moved.spectra, groups.spectra, rtol=1e-4)
    assert groups.spectra.dtype == dtype


def test_sparse_data_has_the_same_groups():
    M, _, _ = mixed()
    M[0.05 * M.max() > M] = 0.0
    dense, sparse = pure_groups(M, [0, 1, 2]), pure_groups(csc_array(M), [0, 1, 2])
    for members, others in zip(dense.members, sparse.members, strict=True):
        np.testing.assert_array_equal(members, others)
    np.testing.assert_allclose(sparse.spectra, dense.spectra, rtol=1e-8)


def test_few_pixels():
    """One pixel, all pixels alike, and a group that is the whole scene."""
    assert pure_groups([[1.0], [2.0]], [0]).members[0].tolist() == [0]
    alike = pure_groups(np.tile([[1.0], [2.0]], 6), [0])
    assert alike.members[0].tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(alike.spectra[:, 0], [1.0, 2.0])
    np.testing.assert_allclose(alike.spread, 0.0, atol=1e-15)
    with pytest.raises(InputError):
        pure_groups(np.eye(3), [0, 0])
    with pytest.raises(InputError):
        pure_groups(np.diag([1.0, 0.0]), [0, 1])


@pytest.mark.parametrize("kind", ["pixels", "average"])
def test_the_estimator_has_groups_and_shares(kind):
    M, _, _ = mixed()
    model = FGNSR(3, endmembers=kind, random_state=0).fit(M.T)
    assert len(model.groups_) == 3
    assert [group[0] for group in model.groups_] == model.indices_.tolist()
    found = model.shares(M.T)
    assert found.shape == (600, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    if kind == "pixels":
        np.testing.assert_array_equal(model.components_, M.T[model.indices_])
        assert model.spread_ is None
    else:
        groups = pure_groups(M, model.indices_)
        np.testing.assert_array_equal(model.components_, groups.spectra.T)
        np.testing.assert_array_equal(model.group_counts_, groups.counts)
        assert model.spread_.shape == model.components_.shape


def test_groups_of_the_smooth_model_are_its_open_rows():
    M, W, _ = mixed(noise=0.05)
    model = FGNSR(3, endmembers="average", smooth=1.0, random_state=0).fit(M.T)
    together = np.concatenate(model.groups_)
    assert np.unique(together).size == together.size
    assert set(model.solution_.support) <= set(together)
    assert [group[0] for group in model.groups_] == model.indices_.tolist()
    found = model.components_.T
    ours = [int(angle(found[:, [k]], W).argmin()) for k in range(3)]
    assert angle(found, W[:, ours]).mean() < angle(M[:, model.indices_], W[:, ours]).mean()
    # what is shown is what is proven
    proof = model.prove(tol=model.gap_)
    assert proof.enough <= model.gap_ / (1 - model.gap_) * (1 + 1e-6)


def test_averages_of_open_rows_are_weighted_by_their_gates():
    rng = np.random.default_rng(0)
    W = rng.random((20, 2))
    M = np.hstack([W[:, [0]] + 0.01 * rng.random((20, 4)), W[:, [1]], rng.random((20, 1))])
    rows = np.array([0, 1, 2, 4, 5])
    gates = np.array([0.5, 0.3, 0.1, 1.0, 0.1])
    groups = open_groups(M, np.array([0, 4]), rows, gates)
    unit = M / np.linalg.norm(M, axis=0)
    expected = unit[:, :3] @ gates[:3]
    assert angle(groups.spectra[:, :1], expected[:, None])[0] == pytest.approx(0, abs=1e-5)
    assert groups.counts.tolist() == [3, 1]
    # the last pixel is of a kind of its own: in a group, since it is open, but in no average
    assert sorted(np.concatenate(groups.members).tolist()) == [0, 1, 2, 4, 5]
    assert [kind.index for kind in groups.left_aside] == [5]
    assert groups.left_aside[0].weight == pytest.approx(0.05)
