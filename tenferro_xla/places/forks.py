"""Processes that were forked from one where XLA ran: its threads are not there."""

from __future__ import annotations

import os
from collections.abc import Callable

import jax

from tenferro.errors import ForkedError


class _Process:
    """What is known of this process.

    Attributes:
        started_in: the process in which XLA was started; None if it was not.
        forked: whether this process was forked from it.
    """

    started_in: int | None = None
    forked = False


def note_start() -> None:
    """Note that XLA runs in this process."""
    if _Process.started_in is None:
        _Process.started_in = os.getpid()


def is_forked() -> bool:
    """Whether this process was forked from one where XLA ran."""
    return _Process.forked


def refuse_forked(what: str) -> None:
    """Raise ForkedError in a process that was forked from one where XLA ran.

    What XLA does there would wait for its threads for ever. `what` is the user's operation.
    """
    if _Process.forked:
        raise ForkedError(
            f"{what}: XLA ran in process {_Process.started_in}, from which this one was forked "
            "without its threads, and cannot be used here; start processes with the method "
            "'spawn', take loky, or compute with executor='numpy'"
        )


def refuse_unreadable(what: str, array: jax.Array) -> None:
    """The same for an array, unless its elements are in the memory of the host already."""
    if _Process.forked and not (array.platform() == "cpu" and array.is_ready()):  # type: ignore[attr-defined]  # JAX has no type there
        refuse_forked(what)


def at_fork(act: Callable[[], None]) -> None:
    """Act in processes that are forked from this one once XLA runs here."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: act() if _Process.forked else None)


def _note_fork() -> None:
    _Process.forked = _Process.started_in is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
