"""Calls of programs that span devices, of which only so many may be outstanding."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import jax

Call = Callable[..., Sequence[jax.Array]]


class Flight:
    """The outstanding calls of a process.

    A call of a program with a collective holds threads until all of its participants have come.
    Many independent calls fill the pools of two processes with calls that wait for each other, and
    none ever ends. So at most `bound` are let in; a further one waits for the oldest.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outstanding: deque[jax.Array] = deque()

    def run(self, call: Call, buffers: Sequence[Any], bound: int) -> Sequence[jax.Array]:
        """The results of a call, once fewer than `bound` are outstanding."""
        with self._lock:
            while len(self._outstanding) >= bound:
                _await(self._outstanding.popleft())
            results = call(*buffers)
            if results:
                self._outstanding.append(min(results, key=_bytes))
        return results


def _await(result: jax.Array) -> None:
    """Wait for a result. A deleted one was donated to a later call, which is waited for itself."""
    if not result.is_deleted():
        result.block_until_ready()


def _bytes(array: jax.Array) -> int:
    return array.nbytes


FLIGHT = Flight()
"""The calls of this process: programs on all meshes share its threads."""
