import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from selfdict import thread_limit
from selfdict.compute.blas import single_threaded_blas


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
