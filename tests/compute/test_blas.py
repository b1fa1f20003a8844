import threading

import numpy as np
import pytest
from scipy.sparse import csc_array
from threadpoolctl import threadpool_info, threadpool_limits

from selfdict import (
    Compression,
    Denoising,
    Problem,
    Solution,
    certify,
    compress,
    mu_heuristic,
    thread_limit,
)
from selfdict.compute.blas import single_threaded_blas
from selfdict.datasets import make_mixtures


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_blas_has_one_thread_inside_and_gets_the_others_back():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == before
        with pytest.raises(KeyError), single_threaded_blas():
            raise KeyError
        assert blas_threads() == before


@pytest.mark.parametrize("limit", [single_threaded_blas, lambda: thread_limit(1)])
def test_threads_that_leave_in_any_order_leave_blas_as_it_was(limit):
    entered, left = threading.Event(), threading.Event()
    inside = []

    def second():
        with limit():
            entered.set()
            left.wait(30)
            inside.append(blas_threads())

    other = threading.Thread(target=second)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with limit():
            other.start()
            assert entered.wait(30)
        left.set()
        other.join(30)
        assert inside == [{1}]
        assert blas_threads() == before


def with_blas_threads(count, function):
    with thread_limit(count):
        return function()


@pytest.mark.parametrize("method", ["svd", "gaussian", "srht"])
@pytest.mark.parametrize("features", [64, 2100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compression_has_the_same_bits_on_any_number_of_threads(method, features, dtype):
    M = np.random.default_rng(0).random((features, 5000)).astype(dtype)

    def compressed():
        return compress(M, 8, method, random_state=0)

    alone = with_blas_threads(1, compressed)
    several = with_blas_threads(2, compressed)
    np.testing.assert_array_equal(several.basis, alone.basis)
    np.testing.assert_array_equal(several.data, alone.data)


def test_reductions_have_the_same_bits_on_any_number_of_threads():
    M = make_mixtures(40, 12_000, 5, noise=0.02, random_state=0)[0]
    weight = np.random.default_rng(0).random(M.shape[1])

    def reduced():
        problem = Problem(M, mu_heuristic(M, 5, sample_weight=weight), sample_weight=weight)
        clean = Denoising(5).reduce(problem)
        small = Compression(8, "gaussian", random_state=0).reduce(clean)
        return clean.M, clean.reduced_from.memory.mu, small.M, problem.mu

    alone = with_blas_threads(1, reduced)
    several = with_blas_threads(2, reduced)
    for first, second in zip(alone, several, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("data", [np.asarray, csc_array], ids=["dense", "sparse"])
def test_certificates_have_the_same_bits_on_any_number_of_threads(data):
    rng = np.random.default_rng(0)
    M = rng.random((60, 5000))
    support = np.arange(0, M.shape[1], 50)
    diagonal = np.zeros(M.shape[1])
    diagonal[support] = 0.5
    coef = rng.random((support.size, M.shape[1])) / support.size
    problem = Problem(data(M), 1.0)
    solution = Solution(support, coef, diagonal, problem=problem)

    def certified():
        found = certify(solution)
        return found.objective, found.dual_bound

    assert with_blas_threads(2, certified) == with_blas_threads(1, certified)
