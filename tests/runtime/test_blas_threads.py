"""How many threads NumPy's products take."""

import threading

import numpy as np
import pytest
import threadpoolctl

from tenferro.runtime.blas_threads import BlasThreads


def threads() -> set[int]:
    """The numbers of threads of the BLAS libraries, as they say themselves."""
    return {
        each["num_threads"]
        for each in threadpoolctl.threadpool_info()
        if each["user_api"] == "blas"
    }


@pytest.fixture
def blas() -> BlasThreads:
    if not threads():
        pytest.skip("threadpoolctl does not know this BLAS")
    return BlasThreads()


def test_products_take_one_thread_within_the_block_and_as_many_as_before_after_it(
    blas: BlasThreads,
) -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before, x = threads(), np.ones((64, 64))
        with blas.one():
            assert threads() == {1}
            assert (x @ x == 64).all()
        assert threads() == before
        with pytest.raises(ValueError, match="within"), blas.one():
            raise ValueError("within")
        assert threads() == before


def test_blocks_of_two_threads_may_overlap(blas: BlasThreads) -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with blas.one():
            inside.set()
            leave.wait(20)

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        for starts_first in (True, False):
            thread = threading.Thread(target=other)
            if starts_first:
                thread.start()
                assert inside.wait(20)
            with blas.one():
                if not starts_first:
                    thread.start()
                    assert inside.wait(20)
            leave.set()
            thread.join()
            assert threads() == before
            inside.clear()
            leave.clear()
