"""How many threads the matrix products of NumPy take."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["BLAS_THREADS"]

_DUPLICATES = os.environ.get("KMP_DUPLICATE_LIB_OK")
import threadpoolctl  # noqa: E402 - sets this variable, by which OpenMP tells of two copies of itself

if _DUPLICATES is None:
    os.environ.pop("KMP_DUPLICATE_LIB_OK", None)


class BlasThreads:
    """The number of threads of the BLAS libraries in this process, of which NumPy's is one.

    It belongs to the process: other threads see it too.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """As at the start: in a process that was forked no other thread is left."""
        self._lock = threading.Lock()
        self._blocks = 0
        self._usual: list[tuple[Any, int]] = []

    @contextmanager
    def one(self) -> Iterator[None]:
        """A context for NumPy while another thread takes all cores: one thread for each product.

        Threads that wait for a core waste those that compute.

        >>> with BLAS_THREADS.one():
        ...     pass
        """
        with self._lock:
            if not self._blocks:
                self._usual = [(library, library.num_threads) for library in _libraries()]
            self._blocks += 1
            for library, _ in self._usual:
                library.set_num_threads(1)
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                # also while other threads are in such a block: OpenBLAS does not listen to them all
                for library, threads in self._usual:
                    library.set_num_threads(threads)


@functools.cache
def _libraries() -> list[Any]:
    """What threadpoolctl finds of the BLAS libraries that are loaded."""
    loaded = threadpoolctl.ThreadpoolController().select(user_api="blas")
    return [library for library in loaded.lib_controllers if library.num_threads is not None]


BLAS_THREADS = BlasThreads()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=BLAS_THREADS.reset)
