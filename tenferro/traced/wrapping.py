"""Functions made of a user's function: what they show of it, and where they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from tenferro.compiler import OptimizerOptions
from tenferro.values import Executor

P = ParamSpec("P")
R = TypeVar("R")


class CompiledFunction(Protocol):
    """A function that says where it runs, as `jit` makes one."""

    @property
    def executor(self) -> Executor:
        """What runs it."""

    @property
    def options(self) -> OptimizerOptions:
        """Which compiler passes run."""


def wraps(function: Callable[..., Any], transformed: Callable[P, R]) -> Callable[P, R]:
    """`transformed` with the name, module, docstring and signature of the function it is made of.

    Nothing else of the function is copied, since its attributes may be its own private state.
    """
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        value = getattr(function, attribute, None)
        if value is not None:
            setattr(transformed, attribute, value)
    transformed.__wrapped__ = function  # type: ignore[attr-defined]  # where inspect looks
    transformed.__transforms__ = function  # type: ignore[attr-defined]
    return transformed


def compiled_within(function: Any) -> CompiledFunction | None:
    """The compiled function that a function is, or was made of by transforms; None if none.

    A transform of a compiled function runs where that function does. Only our own transforms are
    looked through, not decorators of the user's.
    """
    while function is not None:
        if hasattr(type(function), "executor") and hasattr(type(function), "options"):
            compiled: CompiledFunction = function
            return compiled
        function = getattr(function, "__transforms__", None)
    return None
