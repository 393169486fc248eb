"""Transformed functions: their name and signature, and the executor on which they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from tenferro.compiler import OptimizerOptions
from tenferro.errors import TracingError
from tenferro.values import Executor

P = ParamSpec("P")
R = TypeVar("R")


class CompiledFunction(Protocol):
    """A compiled function with its executor, such as `jit` returns."""

    @property
    def executor(self) -> Executor:
        """The executor that runs it."""

    @property
    def options(self) -> OptimizerOptions:
        """The compiler passes that run."""


def wraps(function: Callable[..., Any], transformed: Callable[P, R]) -> Callable[P, R]:
    """`transformed` with the name, module, docstring and signature of `function`.

    Other attributes are not copied: they may be private state of the function.

    Raises:
        TracingError: `function` cannot be called.
    """
    if not callable(function):
        raise TracingError(f"trace: takes a function of arrays, got a {type(function).__name__}")
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        value = getattr(function, attribute, None)
        if value is not None:
            setattr(transformed, attribute, value)
    transformed.__wrapped__ = function  # type: ignore[attr-defined]  # read by inspect
    transformed.__transforms__ = function  # type: ignore[attr-defined]
    return transformed


def compiled_within(function: Any) -> CompiledFunction | None:
    """The compiled function inside transforms of it, or the function itself; None if there is none.

    A transform of a compiled function runs on the executor of that function. Decorators other than
    tenferro's transforms are not unwrapped.
    """
    while function is not None:
        if hasattr(type(function), "executor") and hasattr(type(function), "options"):
            compiled: CompiledFunction = function
            return compiled
        function = getattr(function, "__transforms__", None)
    return None
