"""named_scope, named_call: names that programs of JAX give to parts of a function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from tenferro.errors import TracingError, class_of

__all__ = ["named_call", "named_scope"]

P = ParamSpec("P")
R = TypeVar("R")


class named_scope(ContextDecorator):  # noqa: N801  # JAX's name, which is called as a function
    """A `with` block, or a decorator, that names a part of a function. It changes nothing.

    Values are named by the lines that made them: reports and errors show these.

    Raises:
        TracingError: the name is not a string.

    >>> import tenferro as tn
    >>> @tn.named_scope("layer")
    ... def layer(x):
    ...     with tn.named_scope("square"):
    ...         return x * x
    >>> layer(3.0)
    9.0
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TracingError(f"named_scope: the name must be a string, got {name!r}")
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """The function itself: see `named_scope`.

    >>> import tenferro as tn
    >>> tn.named_call(tn.sin, name="sine")(0.0)
    Tensor(0.)
    """
    checked: Any = fun
    if not callable(checked):
        raise TracingError(f"named_call: takes a function, got {class_of(checked)}")
    return fun
