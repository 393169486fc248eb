"""Ambient state of tracing: scopes, and the lines of the user's program."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar, cast

from tenferro.config import config
from tenferro.core import Derived, GlobalValKey, Input
from tenferro.errors import TenferroError, TracingError
from tenferro.ir import TensorInput, is_traced_value
from tenferro.transforms.trees import flatten, leaf_names

__all__ = [
    "Scope",
    "argument_names",
    "called_function",
    "check_named",
    "filtered",
    "innermost",
    "is_tracing",
    "open_scopes",
    "raising_site",
    "reopened",
    "tracing",
    "user_site",
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


# The lines of the user's program: that which recorded an op, and those in tracebacks.

E = TypeVar("E", bound=BaseException)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_HERE = Path(__file__).parents[1]
_OWN = tuple(f"{_HERE.with_name(name)}{os.sep}" for name in ("tenferro", "tenferro_xla"))
"""The folders of the packages. What lies beside them, such as `tenferro_ext_x`, is the user's."""
_sites_of: dict[str, dict[int, str] | None] = {}
"""For each file its cached sites by line; None for files whose frames are skipped."""


def user_site(depth: int = 1) -> str | None:
    """`file.py:12` of the innermost frame outside this package and the standard library.

    None for code that is not in a file, such as code typed at a prompt. The search starts `depth`
    frames out, since looking at frames takes time.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        file = frame.f_code.co_filename
        if file not in _sites_of:
            _sites_of[file] = None if _is_passed_over(file) else {}
        sites = _sites_of[file]
        if sites is not None:
            return None if file.startswith("<") else _site(file, sites, frame.f_lineno)
        frame = frame.f_back
    return None


def raising_site(error: BaseException) -> str | None:
    """`file.py:12` of the innermost frame of the user's program that an error passed; or None."""
    found: str | None = None
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith("<") and not _is_passed_over(file):
            found = f"{os.path.basename(file)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


def called_function(otherwise: str) -> str:
    """The name of the function of this package that the user's program called."""
    name = otherwise
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_passed_over(frame.f_code.co_filename):
        if not frame.f_code.co_name.startswith(("_", "<")):
            name = frame.f_code.co_name
        frame = frame.f_back
    return name


def _is_passed_over(file: str) -> bool:
    """Whether a file is part of this package or of the standard library, which calls user code."""
    if file.startswith(_STANDARD_LIBRARY):
        return "site-packages" not in file
    return file.startswith(_PACKAGE)


def _site(file: str, sites: dict[int, str], line: int) -> str:
    site = sites.get(line)
    if site is None:
        site = sites[line] = f"{os.path.basename(file)}:{line}"
    return site


def filtered(error: E) -> E:
    """The error without the frames of tenferro in its traceback, ready to be raised again.

    `TENFERRO_FULL_TRACEBACKS=1` keeps them, and so does an error that is not the user's.
    """
    first = error.__traceback__
    if config.full_tracebacks or first is None:
        return error
    frames = list(_frames(first))
    if _is_own(frames[-1]) and not isinstance(error, TenferroError):
        return error
    rest: TracebackType | None = None
    for each in reversed(frames):
        if not _is_own(each):
            rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return error.with_traceback(rest)


def _frames(first: TracebackType) -> list[TracebackType]:
    frames = [first]
    while (following := frames[-1].tb_next) is not None:
        frames.append(following)
    return frames


def _is_own(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename.startswith(_OWN)


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
