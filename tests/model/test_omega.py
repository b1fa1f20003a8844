"""The projection onto Ω against the paper's heap, and theorems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from selfdict import InputError, project_omega


def random_rows(count, seed):
    """Yield rows with every edge case: negative and large entries, ties, zero weights, n = 1."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        n = 1 if k % 50 == 0 else int(rng.integers(2, 12))
        i = int(rng.integers(n))
        w = rng.random(n) + 0.05
        x = rng.normal(0.2, 0.6, n)
        match k % 8:
            case 1:
                x[i] = -rng.random()
            case 2:
                x[i] = 1 + rng.random()
            case 3:
                x = np.where(np.arange(n) == i, x, (1 + rng.random(n)) * w / w[i])
            case 4:
                w[:] = 1.0
                x = np.round(x, 1)
            case 5:
                w[rng.integers(n)] = 0.0
            case 6:
                x = -np.abs(x)
        yield x, w, i


def test_projection_agrees_with_the_heap():
    for x, w, i in random_rows(1000, seed=1):
        for upper in (1.0, 0.3):
            expected = naive.project_row_heap(x, w, i, upper)
            np.testing.assert_allclose(
                project_omega(x[None], w, rows=[i], upper=upper)[0], expected, atol=1e-12
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_in_parallel_and_in_place(dtype):
    rng = np.random.default_rng(2)
    n = 300
    X = rng.normal(0, 0.2, (n, n)).astype(dtype)
    w = rng.uniform(0.1, 10, n).astype(dtype)
    expected = naive.project_omega(X.astype(float), w.astype(float))
    before = X.copy()
    Z = project_omega(X, w)
    assert Z.dtype == dtype
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(Z, expected, atol=1e-12 if dtype == np.float64 else 2e-6)
    assert project_omega(X, w, out=X) is X
    np.testing.assert_array_equal(X, Z)


def test_any_subset_of_rows_in_any_order():
    rng = np.random.default_rng(3)
    X, w = rng.normal(0, 1, (20, 20)), rng.random(20)
    rows = [7, 3, 19, 3]
    np.testing.assert_array_equal(project_omega(X[rows], w, rows=rows), project_omega(X, w)[rows])


N = 6
rows = arrays(float, N, elements=st.floats(-3, 3, allow_subnormal=False))
weights = arrays(
    float, N, elements=st.floats(0, 5, allow_subnormal=False).map(lambda v: 0.0 if v < 1e-6 else v)
)


def feasible(z, w, i):
    t = z[i]
    return (
        (z >= 0).all()
        and t <= 1
        and (w[i] * np.delete(z, i) <= np.delete(w, i) * t * (1 + 1e-12) + 1e-300).all()
    )


@given(rows, weights, st.integers(0, N - 1))
def test_result_is_feasible_and_a_fixed_point(x, w, i):
    z = project_omega(x[None], w, rows=[i])[0]
    assert feasible(z, w, i)
    np.testing.assert_allclose(project_omega(z[None], w, rows=[i])[0], z, atol=1e-12)


@given(rows, rows, weights, st.integers(0, N - 1))
def test_variational_inequality(x, y, w, i):
    """⟨x − Px, z − Px⟩ ≤ 0 for every feasible z characterises the projection."""
    px, z = (project_omega(v[None], w, rows=[i])[0] for v in (x, y))
    if w[i] == 0:
        return  # the set is {0} there
    assert (x - px) @ (z - px) <= 1e-9


@pytest.mark.parametrize(
    "arguments",
    [
        dict(X=[[1j]], w=[1.0]),
        dict(X=np.array([["a"]]), w=[1.0]),
        dict(X=[[1.0]], w=[1.0], rows=[0.0]),
        dict(X=[[np.nan]], w=[1.0]),
        dict(X=[[np.inf]], w=[1.0]),
        dict(X=[1.0], w=[1.0]),
        dict(X=[[1.0, 2.0]], w=[1.0, 1.0]),
        dict(X=[[1.0, 2.0]], w=[1.0, 1.0], rows=[2]),
        dict(X=[[1.0, 2.0]], w=[1.0, 1.0], rows=[0, 1]),
        dict(X=[[1.0]], w=[-1.0]),
        dict(X=[[1.0]], w=[1.0, 2.0]),
        dict(X=[[1.0]], w=[np.nan]),
        dict(X=[[1.0]], w=[1.0], upper=-1.0),
        dict(X=[[1.0]], w=[1.0], out=np.zeros((1, 1), np.float32)),
    ],
)
def test_invalid_arguments_are_refused(arguments):
    with pytest.raises((InputError, TypeError)):
        project_omega(**arguments)
