"""How long the values of a trace may be used: until the traced function has returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tenferro.errors import TracingError

_depth: ContextVar[int] = ContextVar("tenferro_tracing", default=0)
_scopes: ContextVar[tuple[Scope, ...]] = ContextVar("tenferro_scopes", default=())


class Scope:
    """One trace of the function `name`.

    A value that depends on an argument of the function has the scope of its trace; one that
    depends on values of several traces has the innermost. Values of graphs built by hand have none.

    Attributes:
        read: scopes of enclosing traces whose values were used together with values of this one.
        call: the function and the arguments that it was called with, while the trace is open.
        passed: what was passed for graph values that are arguments, while the trace is open.
    """

    __slots__ = ("call", "depth", "is_open", "name", "passed", "read")

    def __init__(self, name: str = "a function") -> None:
        self.name = name
        self.depth = _depth.get() + 1
        self.is_open = True
        self.read: set[Scope] = set()
        self.call: tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]] | None = None
        self.passed: Iterable[tuple[Any, Any]] = ()

    @classmethod
    def of(cls, function: object) -> Scope:
        """The scope of a trace of `function`."""
        return cls(getattr(function, "__name__", type(function).__name__))

    def calling(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of the function that is traced; errors find its arguments meanwhile."""
        self.call = (function, args, kwargs)
        return function(*args, **kwargs)

    def close(self) -> None:
        """Its values may not be used any more."""
        self.is_open = False
        self.call, self.passed = None, ()

    def beside(self, other: Scope) -> Scope:
        """The inner one of two scopes, which reads the other one."""
        inner, outer = (self, other) if self.depth >= other.depth else (other, self)
        inner.read.add(outer)
        return inner


@contextmanager
def tracing(scope: Scope | None = None) -> Iterator[None]:
    """A context in which new arrays are recorded in the graph and not computed.

    At its end `scope` is closed, and its values may not be used any more.
    """
    token = _depth.set(_depth.get() + 1)
    inside = _scopes.set(_scopes.get() if scope is None else (*_scopes.get(), scope))
    try:
        yield
    finally:
        _scopes.reset(inside)
        _depth.reset(token)
        if scope is not None:
            scope.close()


def open_scopes() -> tuple[Scope, ...]:
    """The scopes of the traces in this thread or task, the outermost first."""
    return _scopes.get()


@contextmanager
def reopened(scopes: Iterable[Scope]) -> Iterator[None]:
    """A context in which values of traces that have ended may be used."""
    closed = [scope for scope in scopes if not scope.is_open]
    for scope in closed:
        scope.is_open = True
    try:
        yield
    finally:
        for scope in closed:
            scope.is_open = False


def is_tracing() -> bool:
    """Whether a function is being traced in this thread or task."""
    return _depth.get() > 0


def check_named(name: str, *sizes: object) -> None:
    """Raise TracingError if a size is a name, and no function is traced whose inputs define it."""
    for size in sizes:
        if isinstance(size, str) and not is_tracing():
            raise TracingError(
                f"{name}: the size {size!r} has a number only in a function that is traced; pass "
                "a number, or the size of a value, such as x.shape[0]"
            )


def innermost(scopes: Iterable[Scope | None]) -> Scope | None:
    """The innermost of several scopes; None if there is none."""
    return max((s for s in scopes if s is not None), key=lambda s: s.depth, default=None)
