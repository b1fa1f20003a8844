"""What the benchmarks count, on data small enough to count by hand."""

import numpy as np
import pytest
from benchmarks import dirichlet, methods, shares, smooth, targets


def two_materials(materials, sizes):
    """Return targets of sides 2 and 1 m in a row of pixels of 0.5 m²."""
    n = len(sizes)
    spectra = np.eye(3)
    return targets.Targets(
        M=np.ones((3, n)),
        shape=(1, n),
        members=np.array(materials, dtype=bool),
        sizes=np.array(sizes),
        sides=np.array([2.0, 1.0]),
        pixel_area=0.5,
        ground=spectra,
        picked=spectra,
    )


def test_area_errors_by_hand():
    layout = two_materials([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]], [1, 1, 1, 1, 2, 2])
    A = np.array(
        [
            [3.0, 5.0, 9.0, 9.0, 1.0, 9.0],  # 4 m² of 4, 0.5 m² of 1; the nines are elsewhere
            [9.0, 9.0, 2.0, 4.0, 9.0, 3.0],  # 3 m² of 4, 1.5 m² of 1
            [9.0, 9.0, 9.0, 9.0, 9.0, 9.0],  # grass does not count
        ]
    )
    np.testing.assert_allclose(targets.area_errors(A, layout), [12.5, 50.0])


def test_which_endmembers_count_for_a_material():
    ground = np.random.default_rng(0).random((20, 3))
    # The second material twice, once slightly changed; an offset changes plain angles alone.
    E = np.column_stack(
        [ground[:, 2], 3 * ground[:, 0], ground[:, 1] + 0.1 * ground[:, 0], 2 * ground[:, 1]]
    )
    once = [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    np.testing.assert_array_equal(targets.matched_by_mrsa(E, ground), once)
    np.testing.assert_array_equal(targets.matched_by_mrsa(E + 1, ground), once)
    np.testing.assert_array_equal(targets.matched_by_angle(E, ground), once)
    twice = [[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]]
    np.testing.assert_array_equal(targets.nearest(E, ground), twice)


def test_every_kind_recovers_shares_of_unit_spectra():
    rng = np.random.default_rng(0)
    U = rng.random((10, 3))
    U = U / np.linalg.norm(U, axis=0)
    A = rng.dirichlet(np.ones(3), 30).T
    for kind, found in methods.abundances(methods.known(U, U @ A), U @ A).items():
        assert methods.rmse(found, A) == pytest.approx(0, abs=1e-6), kind


def test_the_settings_of_shares():
    assert len(set(shares.SETTINGS)) == 18
    D, _ = shares.read(None)
    setting = shares.Setting(dark=0.2, spread=0.0, noise=0.0)
    M, T, A = shares.mixtures(D, setting, seed=0)
    np.testing.assert_allclose(np.linalg.norm(T, axis=0), [1.0, 5.0, 5.0, 5.0])
    np.testing.assert_allclose(A.sum(axis=0), 1.0)
    np.testing.assert_allclose(M, T @ A)
    assert shares.ratio({"fcls": 2.0, "nnls / sum": 4.0, "package": 3.0}) == 1.5


def test_dirichlet_mixtures_have_their_noise():
    D, _ = shares.read(None)
    M, T = dirichlet.mixtures(D, 4, 0.2, seed=0)
    basis, _ = np.linalg.qr(T)
    noise = np.linalg.norm(M - basis @ (basis.T @ M)) / np.linalg.norm(M)
    assert -20 * np.log10(noise) == pytest.approx(35, abs=0.5)


def test_too_few_distinct_spectra_are_an_error():
    with pytest.raises(ValueError, match="8"):
        shares.distinct_spectra(np.ones((5, 6)), 2, np.random.default_rng(0))


def test_every_way_to_read_the_smooth_model_finds_the_classes():
    errors = smooth.synthetic_errors(0.02, seed=0)
    assert max(errors.values()) < 0.06
    assert errors["averages by gates, ν = μ"] < 0.01
