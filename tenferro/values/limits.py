"""Memory limits that functions bring with them, for the program that they become a part of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tenferro.compiler import MemoryLimit

_brought: ContextVar[list[MemoryLimit] | None] = ContextVar("tenferro_limits", default=None)


@contextmanager
def collecting_limits() -> Iterator[list[MemoryLimit]]:
    """Collect the limits that functions bring within the block."""
    limits: list[MemoryLimit] = []
    token = _brought.set(limits)
    try:
        yield limits
    finally:
        _brought.reset(token)


def bring_limit(limit: MemoryLimit | None) -> None:
    """Hand a limit to the enclosing trace, if there is one; its program must keep it."""
    collected = _brought.get()
    if collected is not None and limit is not None:
        collected.append(limit)
