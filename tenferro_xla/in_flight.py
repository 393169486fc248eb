"""Calls of programs that span devices: how many may be outstanding, and for how long."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax

from tenferro.errors import DistributedError, ForkedError
from tenferro.logs import logger

__all__ = [
    "FLIGHT",
    "PROCESS",
    "Flight",
    "at_fork",
    "await_parts",
    "refuse_forked",
    "refuse_lost",
    "refuse_unreadable",
    "wait_for_effects",
]

_LOG = logger("distributed")


def wait_for_effects() -> None:
    """Wait until the functions that running programs call on the host have been called."""
    jax.effects_barrier()  # type: ignore[no-untyped-call]  # JAX has no types there


Call = Callable[..., Sequence[jax.Array]]
STUCK = 75
"""The exit status of a process that the watchdog ends: try again later."""


class Flight:
    """The outstanding calls of a process.

    A call of a program with a collective holds threads until all of its participants have come.
    Many independent calls fill the pools of two processes with calls that wait for each other, and
    none ever ends. So at most `bound` are let in; a further one waits for the oldest.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outstanding: deque[jax.Array] = deque()
        self._watchdog: Watchdog | None = None

    def watch(self, seconds: float) -> None:
        """End the process if a call is outstanding for longer."""
        self._watchdog = Watchdog(seconds)

    def run(self, call: Call, buffers: Sequence[Any], bound: int, name: str) -> Sequence[jax.Array]:
        """The results of a call, once fewer than `bound` are outstanding.

        Raises:
            DistributedError: another process is gone.
        """
        with self._lock:
            while len(self._outstanding) >= bound:
                _end(self._outstanding.popleft())
            watchdog = self._watchdog
            try:
                run = call if watchdog is None else partial(watchdog.run, call, name)
                results = run(*buffers)
            except Exception as error:
                refuse_lost(error)
                raise
            if results:
                self._outstanding.append(smallest(results))
        return results


class Watchdog:
    """Ends the process when a call has been outstanding for too long.

    A peer that is gone is noticed by its heartbeat. One that is alive but stuck is not, and whoever
    waits for it waits for ever, in a call that Python cannot interrupt.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._open: dict[int, tuple[str, float]] = {}
        self._numbers = itertools.count()
        self._results: queue.SimpleQueue[tuple[int, jax.Array]] = queue.SimpleQueue()
        for work in (self._wait, self._watch):
            threading.Thread(target=work, name="tenferro-watchdog", daemon=True).start()

    def run(self, call: Call, name: str, *buffers: Any) -> Sequence[jax.Array]:
        """The results of a call that is watched until they are there."""
        number = next(self._numbers)
        self._open[number] = (name, time.monotonic())
        try:
            results = call(*buffers)
        except BaseException:
            del self._open[number]
            raise
        if results:
            self._results.put((number, smallest(results)))
        else:
            del self._open[number]
        return results

    def _wait(self) -> None:
        while True:
            number, result = self._results.get()
            with contextlib.suppress(DistributedError):
                _end(result)
            del result, self._open[number]

    def _watch(self) -> None:
        while True:
            time.sleep(min(1.0, self._seconds / 4))
            now = time.monotonic()
            for name, start in list(self._open.values()):
                if now - start > self._seconds:
                    _LOG.critical(
                        "%s has waited for %.0f s for another process; call_timeout is %g s. "
                        "This process ends with exit status %d.",
                        *(name, now - start, self._seconds, STUCK),
                    )
                    os._exit(STUCK)


def refuse_lost(error: Exception) -> None:
    """Raise DistributedError if an error of JAX says that another process is gone.

    It may be a JaxRuntimeError or a ValueError, by where the collective runs.
    """
    text = str(error).partition("\n")[0]
    if jax.process_count() > 1 and any(word in text.lower() for word in _SIGNS):
        raise DistributedError(
            f"run: process {jax.process_index()} of {jax.process_count()} has lost another one "
            f"({text}); the results of this call are lost; restart all processes from a checkpoint"
        ) from error


def smallest(results: Sequence[jax.Array]) -> jax.Array:
    """The result that takes the least memory to hold on to; all are there at the same time."""
    return min(results, key=lambda array: array.nbytes)


def _end(result: jax.Array) -> None:
    """Wait until the call of a result has ended; its error is raised where the result is read.

    A deleted result was donated to a later call, which is waited for itself.

    Raises:
        DistributedError: another process is gone, so that further calls would fail too.
    """
    try:
        if not result.is_deleted():
            await_parts(result)
    except (RuntimeError, ValueError) as error:
        refuse_lost(error)


def await_parts(array: jax.Array) -> None:
    """Wait for the parts of an array that are here.

    When another process is gone, the parts of some devices have an error, while others wait for
    these devices. So of a computation of several processes all parts are waited for at once, and
    the first error is raised.
    """
    if array.is_fully_addressable:
        array.block_until_ready()
        return
    parts = [shard.data for shard in array.addressable_shards]
    done: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def wait(part: jax.Array) -> None:
        try:
            part.block_until_ready()
            done.put(None)
        except Exception as error:  # raised by the thread that asks
            done.put(error)

    for part in parts:
        threading.Thread(target=wait, args=(part,), daemon=True).start()
    for _ in parts:
        error = done.get()
        if error is not None:
            raise error


_SIGNS = ("connection", "gloo", "peer", "unavailable", "deadline", "heartbeat")
"""Words in the texts of JAX's errors when another process is gone."""

FLIGHT = Flight()
"""The calls of this process: programs on all meshes share its threads."""


# Processes that were forked from one where XLA ran: its threads are not there.


class Process:
    """What is known of this process.

    Attributes:
        started_in: the process in which XLA was started; None if it was not.
        forked: whether this process was forked from it.
    """

    started_in: int | None = None
    forked = False


PROCESS = Process()


def note_start() -> None:
    """Note that XLA runs in this process."""
    if PROCESS.started_in is None:
        PROCESS.started_in = os.getpid()


def is_forked() -> bool:
    """Whether this process was forked from one where XLA ran."""
    return PROCESS.forked


def refuse_forked(what: str) -> None:
    """Raise ForkedError in a process that was forked from one where XLA ran.

    What XLA does there would wait for its threads for ever. `what` is the user's operation.
    """
    if PROCESS.forked:
        raise ForkedError(
            f"{what}: XLA ran in process {PROCESS.started_in}, from which this one was forked "
            "without its threads, and cannot be used here; start processes with the method "
            "'spawn', take loky, or compute with executor='numpy'"
        )


def refuse_unreadable(what: str, array: jax.Array) -> None:
    """The same for an array, unless its elements are in the memory of the host already."""
    if PROCESS.forked and not (array.platform() == "cpu" and array.is_ready()):  # type: ignore[attr-defined]  # JAX has no type there
        refuse_forked(what)


def at_fork(act: Callable[[], None]) -> None:
    """Act in processes that are forked from this one once XLA runs here."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: act() if PROCESS.forked else None)


def _note_fork() -> None:
    PROCESS.forked = PROCESS.started_in is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
