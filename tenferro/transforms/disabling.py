"""disable_jit: run compiled functions as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

jit_is_disabled: ContextVar[bool] = ContextVar("jit_is_disabled", default=False)


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Within the `with` block, functions of `jit` run as they are written, op by op.

    Prints and breakpoints see numbers. Loops, branches and derivatives still trace what they are
    given.

    Args:
        disable: False lets an inner block compile again.

    >>> import tenferro as tn
    >>> @tn.jit
    ... def double(x):
    ...     print("x is", x)
    ...     return 2 * x
    >>> with disable_jit():
    ...     double(3.0)
    x is 3.0
    6.0
    """
    token = jit_is_disabled.set(disable)
    try:
        yield
    finally:
        jit_is_disabled.reset(token)
