"""Lines of the user's program, names of arguments, and what values depend on, for errors."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeVar, cast

from tenferro.config import config
from tenferro.core import Derived, GlobalValKey, Input
from tenferro.errors import TenferroError, TracingError
from tenferro.ir import TensorInput, is_traced_value
from tenferro.runtime import TraceContext, is_tracing, open_traces
from tenferro.transforms.trees import flatten, leaf_names

__all__ = [
    "argument_names",
    "called_function",
    "check_named",
    "filtered",
    "raising_site",
    "user_site",
]


def check_named(name: str, *sizes: object) -> None:
    """Raise TracingError if a size is a name, and no function is traced whose inputs define it."""
    for size in sizes:
        if isinstance(size, str) and not is_tracing():
            raise TracingError(
                f"{name}: the size {size!r} has a number only in a function that is traced; pass "
                "a number, or the size of a value, such as x.shape[0]"
            )


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
    if type(function) is FunctionType and not function.__dict__:  # what `inspect` finds out slowly
        positional = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    else:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        positional = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    roots = positional + [f"arg{i}" for i in range(len(positional), len(args))]
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
    traces = open_traces()
    arguments: dict[GlobalValKey, tuple[TraceContext, str]] = {}
    passed: dict[GlobalValKey, Any] = {}
    for trace in traces:
        arguments.update((key, (trace, name)) for key, name in _arguments(trace).items())
        passed.update(trace.arguments)
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
    for trace in reversed(traces):
        names = [name for key, (of, name) in arguments.items() if of is trace and key in met]
        if names:
            texts.append(f"the {_listed('argument', names)} of {trace.name}")
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


def _arguments(trace: TraceContext) -> dict[GlobalValKey, str]:
    """The names of the traced leaves of what the function of a trace was called with."""
    if trace.call is None:
        return {}
    function, args, kwargs = trace.call
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
