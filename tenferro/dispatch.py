"""Applying an array function to whatever the user gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.arrays import is_number
from tenferro.eager import EagerTensor
from tenferro.errors import DTypeError
from tenferro.runtime import Tensor, run_eagerly
from tenferro.shape import DimExpr
from tenferro.traced import TracedTensor, is_tracing, record


def apply(function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Record `function` if an operand is traced, else run it where the operands are.

    An eager tensor has its runtime do it.

    Raises:
        DTypeError: an operand is no array or number.
    """
    eager, traced = None, False
    for operand in operands:
        kind = type(operand)
        if kind is EagerTensor:
            eager = operand
        elif kind is TracedTensor or kind is DimExpr:
            traced = True
    return _apply(function, operands, options, traced, eager)


def apply_to_array(function: Callable[..., Any], x: Any, *others: Any, **options: Any) -> Any:
    """As `apply`, for a function whose first operand must be an array; a number becomes one."""
    return apply(function, Tensor(x) if is_number(x) else x, *others, **options)


def create(function: Callable[..., Any], value: Any, **options: Any) -> Any:
    """Make a new array: in the graph while a function is being traced, else at once."""
    symbolic = any(isinstance(size, str | DimExpr) for size in _sizes(options.get("shape", ())))
    traced = is_tracing() or symbolic or isinstance(value, TracedTensor)
    eager = value if type(value) is EagerTensor else None
    return _apply(function, (value,), options, traced, eager)


def _apply(
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    traced: bool,
    eager: EagerTensor | None,
) -> Any:
    if traced:
        result = record(function, operands, options)
    elif eager is not None:
        result = eager.runtime.apply(function, operands, options)
    else:
        result = run_eagerly(function, operands, options)
    if result is NotImplemented:
        kinds = ", ".join(type(operand).__name__ for operand in operands)
        raise DTypeError(f"{function.__name__}: takes arrays and numbers, got {kinds}")
    return result


def _sizes(shape: Any) -> Any:
    return shape if isinstance(shape, tuple | list) else (shape,)
