"""Ambient state of tracing: scopes, and the lines of the user's program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from tenferro.core import Derived, GlobalValKey, Input
from tenferro.errors import TracingError
from tenferro.ir import TensorInput, is_traced_value
from tenferro.transforms.trees import flatten, leaf_names

__all__ = [
    "Scope",
    "argument_names",
    "check_named",
    "innermost",
    "is_tracing",
    "open_scopes",
    "reopened",
    "tracing",
]


# How long the values of a trace may be used: until the traced function has returned.

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


# Which arguments of the traced functions a value depends on, for errors.

_NAMES = 5
"""How many arguments of one function a text lists."""


def argument_names(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[str]:
    """Names for the leaves of the arguments, in the order of `flatten((args, kwargs))`.

    Raises:
        TracingError: `function` cannot be called.
    """
    if not callable(function):
        raise TracingError(f"trace: takes a function of arrays, got a {type(function).__name__}")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    roots = [*positional, *(f"arg{i}" for i in range(len(positional), len(args)))]
    names: list[str] = []
    for root, arg in zip(roots, args, strict=False):
        names += leaf_names(arg, root)
    for root in sorted(kwargs):
        names += leaf_names(kwargs[root], root)
    return names


def dependence(value: GlobalValKey) -> str:
    """What errors say of the arguments that a value depends on, those of the inner function first.

    An argument of a function within another one depends on what was passed for it.
    """
    scopes = open_scopes()
    arguments: dict[GlobalValKey, tuple[Scope, str]] = {}
    passed: dict[GlobalValKey, Any] = {}
    for scope in scopes:
        arguments.update((key, (scope, name)) for key, name in _arguments(scope).items())
        passed.update(scope.passed)
    met: set[GlobalValKey] = set()
    stack = [value]
    while stack:
        key = stack.pop()
        if key in met:
            continue
        met.add(key)
        if is_traced_value(passed.get(key)):
            stack.append(passed[key].key)
        elif isinstance(key, Derived):
            stack += key.op.inputs
    texts = []
    for scope in reversed(scopes):
        names = [name for key, (of, name) in arguments.items() if of is scope and key in met]
        if names:
            texts.append(f"the {_listed('argument', names)} of {scope.name}")
    others = [
        str(key.key)
        for key in met
        if isinstance(key, Input) and isinstance(key.key, TensorInput)
        if key not in arguments and key not in passed
    ]
    if others:
        texts.append(f"the {_listed('input', sorted(others))}")
    if not texts:
        return "it depends on no argument: made with NumPy, it would be known"
    return f"it depends on {', and on '.join(texts)}"


def _arguments(scope: Scope) -> dict[GlobalValKey, str]:
    """The names of the traced leaves of what the function of a trace was called with."""
    if scope.call is None:
        return {}
    function, args, kwargs = scope.call
    leaves, _ = flatten((args, dict(kwargs)))
    return {
        cast(Any, leaf).key: name
        for leaf, name in zip(leaves, argument_names(function, args, kwargs), strict=False)
        if is_traced_value(leaf)
    }


def _listed(what: str, names: Sequence[str]) -> str:
    """`argument x`; `arguments x, y and z`."""
    if len(names) == 1:
        return f"{what} {names[0]}"
    last = names[-1] if len(names) <= _NAMES else f"{len(names) - _NAMES + 1} more"
    return f"{what}s {', '.join(names[: min(len(names), _NAMES) - 1])} and {last}"
