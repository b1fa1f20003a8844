import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from selfdict.kernels.blas import single_threaded_blas


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_gets_the_others_back():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == before
        with pytest.raises(KeyError), single_threaded_blas():
            raise KeyError
        assert blas_threads() == before
