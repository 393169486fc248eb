"""Operands of functions: promoted arrays, axes, and constant sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.config import config
from tenferro.errors import ConfigError, DTypeError, ShapeError, TracingError, counted
from tenferro.ir import (
    INT64,
    AnyTensor,
    ArrayLike,
    TensorMeta,
    check_size,
    dependence_of,
    dtype_kind,
    inexact_of,
    number_of,
    read_integer,
    refuse_traced,
)
from tenferro.numpy.creation import asarray
from tenferro.ops.functions import apply, normal_axis, promote, result_dtype
from tenferro.runtime import Tensor, weak_number


@dataclass(frozen=True)
class Named:
    """An array function in the name of what users called.

    Caches treat equal instances as one function.

    Attributes:
        name: what users called, for errors.
        body: takes the name, the options and the operands.
        options: those of the body.
    """

    name: str
    body: Callable[..., Any]
    options: tuple[Any, ...] = ()

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *operands: ArrayLike) -> Any:
        """What the body makes of the operands."""
        return self.body(self.name, *self.options, *operands)


def promoted(name: str, *operands: Any, inexact: bool = False) -> list[Any]:
    """The operands as arrays of their common dtype; numbers are weak.

    With `inexact`, integers and bools become float64.
    """
    return list(apply(Named(name, _promoted, (inexact,)), *operands))


def _promoted(name: str, inexact: bool, *operands: ArrayLike) -> tuple[AnyTensor, ...]:
    dtype = result_dtype(operands)
    return tuple(promote(operands, inexact_of(dtype) if inexact else dtype))


def array(name: str, operand: Any) -> Any:
    """The operand as an array; its dtype is its own."""
    return promoted(name, operand)[0]


def comparable(name: str, x: Any, y: Any) -> list[Any]:
    """Two operands as arrays to compare: integers in their own dtypes, others in a common one.

    Comparisons of integers are exact in any dtypes, and numbers need not fit the other one.
    """
    arrays = [array(name, operand) for operand in (x, y)]
    whole_numbers = all(dtype_kind(each.dtype) in "iu" for each in arrays)
    return arrays if whole_numbers else promoted(name, x, y)


def number_or_array(name: str, operand: Any) -> Any:
    """A number as it is, traced or not, so that its dtype stays weak; others as an array."""
    return operand if weak_number(operand) is not None else array(name, operand)


def reals(name: str, *operands: Any) -> list[Any]:
    """As `promoted`; complex numbers are refused."""
    arrays = promoted(name, *operands)
    if dtype_kind(arrays[0].dtype) == "c":
        types = " and ".join(str(each.meta) for each in arrays)
        raise DTypeError(f"{name}: takes real numbers, got {types}")
    return arrays


def integers(name: str, *operands: Any) -> list[Any]:
    """As `promoted`; takes integers and bools only."""
    arrays = promoted(name, *operands)
    if dtype_kind(arrays[0].dtype) not in "biu":
        types = " and ".join(str(each.meta) for each in arrays)
        raise DTypeError(f"{name}: takes integers, got {types}")
    return arrays


def vector(name: str, operand: Any) -> Any:
    """The operand as an array with exactly one axis."""
    x = array(name, operand)
    if x.ndim != 1:
        raise ShapeError(f"{name}: takes a vector, got {x.meta}; flatten it with tn.ravel")
    return x


def along(name: str, x: Any, axis: int | None) -> tuple[Any, int]:
    """The array and an axis counted from the front; if None, the flat array and its axis."""
    return (x.ravel(), 0) if axis is None else (x, normal_axis(name, axis, x.ndim))


def constant_size(name: str, x: Any, axis: int) -> int:
    """The size of an axis."""
    if axis >= x.ndim:
        raise ShapeError(
            f"{name}: {x.meta} has no axis {axis}; it needs at least "
            f"{counted(axis + 1, 'axis', 'axes')}"
        )
    size = x.shape[axis]
    if not isinstance(size, int):
        raise ShapeError(
            f"{name}: axis {axis} of {x.meta} must have a constant size; trace the function for "
            "arrays of known shapes"
        )
    return size


def count(name: str, field: str, value: Any, least: int = 0) -> int:
    """A Python integer of at least `least`."""
    return read_integer(name, field, value, ShapeError, least)


def sizes(name: str, shape: Any) -> list[int]:
    """The sizes of a shape, which is one size or several."""
    listed = shape.tolist() if getattr(shape, "ndim", 0) else shape
    several = listed if isinstance(listed, tuple | list) else (listed,)
    return [count(name, "a size", size) for size in several]


def check_affordable(name: str, *shape: int) -> None:
    """Raise ExtentError if an array of integers of this shape is over the budget of bytes."""
    check_size(TensorMeta.of(INT64, shape), name, config.max_bytes)


def number(name: str, field: str, value: Any) -> float:
    """A real number."""
    result = int(value) if isinstance(value, bool) else number_of(value)
    if result is None:
        refuse_traced(name, field, value)
        raise DTypeError(f"{name}: {field} must be a number, got {value!r}")
    return result


def callable_of(name: str, function: Any) -> Any:
    """The function that another function applies."""
    if callable(function):
        return function
    raise ConfigError(f"{name}: takes a function, got {function!r}")


def option(name: str, field: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """The value of an option."""
    if isinstance(value, str | bool | int | None) and value in allowed:
        return value
    listed = ", ".join(map(repr, allowed))
    raise ConfigError(f"{name}: {field} must be one of {listed}, got {value!r}")


def numbers(name: str, operand: Any, instead: str) -> np.ndarray[Any, Any]:
    """The elements, which decide the size of the result."""
    x = asarray(operand)
    elements = x.numpy() if isinstance(x, Tensor) else getattr(x, "elements", None)
    if elements is None:
        raise TracingError(
            f"{name}: the elements of {x.meta} decide the size of the result, and are not known "
            f"while tracing; {instead}{dependence_of(x)}"
        )
    return elements
