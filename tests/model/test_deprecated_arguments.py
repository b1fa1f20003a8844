"""The old argument orders still work: they warn once, and give what the solution alone gives."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from selfdict import (
    Candidates,
    Huber,
    Problem,
    Solution,
    Weighted,
    WorkingSet,
    bundles,
    certify,
    conic,
    fast_gradient,
    select_indices,
    working_set,
)
from selfdict.datasets import make_mixtures

RADIUS = 0.9


def warned_once(call, *parts):
    """Return what a call returns; it must warn exactly once, with all parts in the message."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert [warning.category for warning in caught] == [DeprecationWarning]
    assert caught[0].filename == __file__  # the line of the caller, not one of the package
    message = str(caught[0].message)
    assert "deprecated: a Solution knows its problem" in message
    for part in parts:
        assert part in message
    return result


def certified_as_before(*arguments, **options):
    return warned_once(
        lambda: certify(*arguments, **options),
        "certify(M, solution) is deprecated",
        "call certify(solution)",
        "Solution.from_matrix(X, problem)",
    )


def selected_as_before(*arguments, **options):
    return warned_once(
        lambda: select_indices(*arguments, **options), "select_indices needs the solution alone"
    )


def bundled_as_before(*arguments, **options):
    return warned_once(lambda: bundles(*arguments, **options), "bundles needs the solution alone")


def assert_same_certificate(one, other):
    assert one.objective == pytest.approx(other.objective, rel=1e-12)
    assert one.dual_bound == pytest.approx(other.dual_bound, rel=1e-12)
    np.testing.assert_array_equal(one.coef, other.coef)


def assert_same_bundles(one, other):
    for name in ("members", "diagonal", "spectra", "angles"):
        for here, there in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(here, there)


@pytest.fixture(scope="module")
def data():
    M = make_mixtures(8, 60, 3, noise=0.02, random_state=0)[0]
    D = make_mixtures(8, 20, 3, noise=0.05, random_state=1)[0]
    return M, D, np.linspace(0.5, 2.0, 60)


CERTIFIED = {
    "plain": {},
    "a dictionary": {"D": True},
    "sample weights": {"sample_weight": True},
    "known variances": {"loss": Weighted(np.linspace(0.5, 2.0, 8))},
    "weights of the diagonal": {"p": np.linspace(0.9, 1.1, 60)},
    "weights of the set": {"w": np.linspace(0.5, 2.0, 60)},
}


@pytest.mark.parametrize("options", CERTIFIED.values(), ids=CERTIFIED.keys())
def test_certify_with_the_data_first(data, options):
    M, D, s = data
    given = {**options}
    named = {}
    if "D" in options:
        given["D"] = D
        named = {"D": D}
    if "sample_weight" in options:
        given["sample_weight"] = s
    solution = working_set(M, 0.1, tol=1e-2, **given)
    assert_same_certificate(certified_as_before(M, solution, **named), certify(solution))


def test_certify_of_other_kinds_of_data_and_models(data):
    M, _, _ = data
    robust = fast_gradient(M, 0.05, loss=Huber(0.1), max_iter=20)
    assert_same_certificate(certified_as_before(M, robust), certify(robust))
    exact = conic(M[:, :12], epsilon=0.5)
    assert_same_certificate(certified_as_before(M[:, :12], exact), certify(exact))
    sparse = working_set(sp.csc_array(M), 0.1)
    assert_same_certificate(certified_as_before(sp.csc_array(M), sparse), certify(sparse))


def test_certify_of_a_matrix_from_outside(data):
    """What the solution says of its model enters the problem that the old form makes."""
    M, D, s = data
    X = 0.5 * np.eye(60)
    p = np.linspace(0.9, 1.1, 60)
    old = Solution.from_matrix(X, mu=0.3, p=p, sample_weight=s, loss=Weighted(np.full(8, 2.0)))
    new = Problem(M, 0.3, p=p, sample_weight=s, loss=Weighted(np.full(8, 2.0)))
    assert_same_certificate(certified_as_before(M, old), certify(Solution.from_matrix(X, new)))
    gates = np.full(20, 0.5)
    rows = 0.01 * np.ones((20, 60))
    old = Solution.from_matrix(rows, diagonal=gates, mu=0.3)
    new = Solution.from_matrix(rows, Problem(M, 0.3, D=D), diagonal=gates)
    assert_same_certificate(certified_as_before(M, old, D=D), certify(new))


def test_certify_with_a_solution_of_other_data_names_what_does_not_fit(data):
    M, D, _ = data
    with_gates = working_set(M, 0.1, D=D)
    for arguments, options, message in [
        ((M[:, 1:], working_set(M, 0.1)), {}, "belongs to 60 points, M has 59"),
        ((M, with_gates), {}, "belongs to 20 points, M has 60"),
        ((M, with_gates), {"D": D[:, 1:]}, "belongs to 20 points, D has 19 atoms"),
        ((M, Solution.from_matrix(np.eye(60))), {}, "mu must be ≥ 0 to certify"),
    ]:
        with (
            pytest.warns(DeprecationWarning, match="knows its problem"),
            pytest.raises(ValueError, match=message),
        ):
            certify(*arguments, **options)


@pytest.mark.parametrize("method", ["auto", "diagonal", "spa", "clusters", "exchange"])
def test_select_indices_with_the_data(data, method):
    M, D, _ = data
    solution = working_set(M, 0.05)
    expected = select_indices(solution, 3, method=method)
    np.testing.assert_array_equal(selected_as_before(solution, 3, M, method), expected)
    np.testing.assert_array_equal(selected_as_before(solution, 3, M=M, method=method), expected)
    with_gates = working_set(M, 0.05, D=D)
    np.testing.assert_array_equal(
        selected_as_before(with_gates, 3, M, method, D=D),
        select_indices(with_gates, 3, method=method),
    )


@pytest.mark.parametrize("method", ["auto", "diagonal", "spa", "clusters", "exchange"])
@pytest.mark.parametrize("has_dictionary", [False, True])
def test_select_indices_with_clusters(data, method, has_dictionary):
    M, D, _ = data
    named = {}
    if has_dictionary:
        named = {"D": D}
    small = Candidates(25).reduce(Problem(M, 0.05, **named))
    solution = WorkingSet().solve(small)
    old = selected_as_before(solution, 3, M, method, clusters=small.reduced_from.memory, **named)
    np.testing.assert_array_equal(old, select_indices(solution, 3, method=method))


def test_select_indices_from_a_matrix_from_outside(data):
    M, _, _ = data
    X = np.diag(np.linspace(0.0, 1.0, 60))
    for method in ("diagonal", "spa", "clusters", "exchange"):
        old = selected_as_before(Solution.from_matrix(X), 3, M, method)
        new = select_indices(Solution.from_matrix(X, Problem(M)), 3, method=method)
        np.testing.assert_array_equal(old, new)


def test_select_indices_of_other_data_names_what_does_not_fit(data):
    M, D, _ = data
    for solution, options, message in [
        (working_set(M[:, 1:], 0.1), {}, "belongs to 59 points, M has 60"),
        (working_set(M, 0.1, D=D), {"D": D[:, 1:]}, "belongs to 20 atoms, D has 19"),
    ]:
        with (
            pytest.warns(DeprecationWarning, match="knows its problem"),
            pytest.raises(ValueError, match=message),
        ):
            select_indices(solution, 3, M, **options)


def test_bundles_with_the_data(data):
    M, D, _ = data
    solution = working_set(M, 0.05)
    K = [2, 7, 30]
    expected = bundles(solution, K, radius=RADIUS)
    assert_same_bundles(bundled_as_before(solution, K, M, radius=RADIUS), expected)
    assert_same_bundles(bundled_as_before(solution, K, M=M, radius=RADIUS), expected)
    with_gates = working_set(M, 0.05, D=D)
    old = bundled_as_before(with_gates, K[:2], D, radius=RADIUS)
    assert_same_bundles(old, bundles(with_gates, K[:2], radius=RADIUS))


def test_bundles_with_clusters(data):
    M, _, _ = data
    small = Candidates(25).reduce(Problem(M, 0.05))
    solution = WorkingSet().solve(small)
    clusters = small.reduced_from.memory
    K = clusters.indices[[3, 11, 20]]
    old = bundled_as_before(solution, K, M, radius=RADIUS, clusters=clusters)
    assert_same_bundles(old, bundles(solution, K, radius=RADIUS))


def test_bundles_of_other_data_names_what_does_not_fit(data):
    M, _, _ = data
    with (
        pytest.warns(DeprecationWarning, match="knows its problem"),
        pytest.raises(ValueError, match="belongs to 60 points, expected 59"),
    ):
        bundles(working_set(M, 0.1), [0, 1], M[:, 1:])


def test_the_new_forms_do_not_warn(data):
    M, _, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = certify(working_set(M, 0.05))
        bundles(solution, select_indices(solution, 3))
