"""Names of arguments, and what values depend on, for errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tenferro.core import Derived, GlobalValKey, Input
from tenferro.errors import TracingError
from tenferro.ir import TensorInput, is_traced_value
from tenferro.runtime import TraceContext, is_tracing, open_traces
from tenferro.transforms.trees import flatten, leaf_names

__all__ = [
    "argument_names",
    "check_named",
]


def check_named(name: str, *sizes: object) -> None:
    """Raise TracingError if a size is a name, and no function is traced whose inputs define it."""
    for size in sizes:
        if isinstance(size, str) and not is_tracing():
            raise TracingError(
                f"{name}: the size {size!r} has a number only in a function that is traced; pass "
                "a number, or the size of a value, such as x.shape[0]"
            )


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
