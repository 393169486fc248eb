"""Operands of linear algebra: their dtype, and batches that are broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any, SupportsFloat

from tenferro.errors import ConfigError, DTypeError, ShapeError, TenferroError, TracingError
from tenferro.families.linalg import Degeneracy, check_matrix, check_square, tril
from tenferro.ir import (
    FLOAT16,
    FLOAT64,
    TensorMeta,
    canonical,
    integer_of,
    is_inexact,
    short_name,
)
from tenferro.ops.functions import (
    assume_size,
    common_batch,
    manipulation,
    promote,
    repeated,
    result_dtype,
)
from tenferro.runtime import Tensor
from tenferro.transforms import TracedTensor


def floating(name: str, *operands: Any) -> list[Any]:
    """The operands in one floating-point or complex dtype; integers and bool become float64.

    Raises:
        DTypeError: an operand is of half precision.
    """
    dtype = result_dtype(operands)
    if dtype == FLOAT16:
        raise DTypeError(
            f"{name}: takes single and double precision, got {short_name(dtype)}; "
            "convert it with astype(tn.float32)"
        )
    return promote(operands, dtype if is_inexact(dtype) else FLOAT64)


def known(name: str, what: str, value: Any) -> Any:
    """An option, which cannot be a traced array.

    Raises:
        TracingError: it is one.
    """
    if isinstance(value, TracedTensor):
        raise TracingError(
            f"{name}: {what} must be known while tracing, got {value}; "
            f"declare it in static_argnames; {value.dependence}"
        )
    return value


def integer(name: str, what: str, value: Any) -> int | None:
    """An integer option as a Python integer; None if it is not one.

    Raises:
        TracingError: it is a traced array.
    """
    known(name, what, value)
    return integer_of(value)


def number(name: str, what: str, value: Any) -> float:
    """A real option of at least 0.

    Raises:
        ConfigError: it is none.
        TracingError: it is a traced array.
    """
    known(name, what, value)
    if isinstance(value, bool | str) or not isinstance(value, SupportsFloat):
        raise ConfigError(f"{name}: {what} must be a number of at least 0, got {value!r}")
    try:
        result = float(value)
    except (TypeError, TenferroError):
        result = nan
    if not result >= 0:
        raise ConfigError(f"{name}: {what} must be a number of at least 0, got {value!r}")
    return result


def degeneracy(name: str, degenerate: str, width: float) -> Degeneracy:
    """What derivatives do where values are equal.

    Raises:
        ConfigError: there is no such mode, or the width is not a number of at least 0.
    """
    return Degeneracy(degenerate, number(name, "width", width)).checked(name)


def matrix(name: str, x: Any) -> Any:
    """A matrix operand in a dtype of linear algebra.

    Raises:
        ShapeError: it has fewer than two axes.
    """
    (value,) = floating(name, x)
    meta: TensorMeta = value.meta
    check_matrix(name, meta.dtype, meta.exact_shape(name, "x"))
    return value


def square(name: str, x: Any) -> Any:
    """A square matrix operand in a dtype of linear algebra.

    Raises:
        ShapeError: it has fewer than two axes, or is not square.
    """
    (value,) = floating(name, x)
    meta: TensorMeta = value.meta
    check_square(name, meta.dtype, meta.exact_shape(name, "x"))
    return value


def hermitian(a: Any) -> Any:
    """The Hermitian matrix with the lower triangle of a."""
    return tril(a) + tril(a, -1).H


def type_of(value: Any) -> TensorMeta:
    """The type of an array that a user gave, for errors."""
    return value.meta if isinstance(value, Tensor | TracedTensor) else Tensor(value).meta


def same_batch(name: str, *operands: Any, given: Sequence[TensorMeta] | None = None) -> list[Any]:
    """Matrix operands repeated to common batch axes; see `common_batch`."""
    metas: list[TensorMeta] = [operand.meta for operand in operands]
    batch = common_batch(name, metas, given)
    return [
        repeated(name, operand, (*batch, *meta.extents[-2:]))
        for operand, meta in zip(operands, metas, strict=True)
    ]


def systems(
    name: str, a: Any, b: Any, repeat: bool = True
) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Square matrices and right sides in one dtype, repeated to common batch axes if `repeat`.

    b of rank 1 is one vector, as in NumPy 2. The third result turns a solution into the shape that
    the user expects.

    Raises:
        ShapeError: a is not square, or b does not have as many rows as a.
    """
    lhs, rhs = floating(name, a, b)
    left: TensorMeta = lhs.meta
    right: TensorMeta = rhs.meta
    _, n = check_square(name, left.dtype, left.exact_shape(name, "a"))
    if not right.rank:
        raise ShapeError(f"{name}: the right side must have an axis, got {right}")
    is_vector = right.rank == 1
    axis = -1 if is_vector else -2
    size = right.exact_shape(name, "b")[axis]
    if canonical(n, size) is None:
        raise ShapeError(
            f"{name}: lhs {left} and rhs {right} differ in rows (axis {axis}: {n} and {size})"
        )
    common = canonical(n, size)
    if common is not None:
        lhs = assume_size(assume_size(lhs, left.rank - 2, common), left.rank - 1, common)
        rhs = assume_size(rhs, right.rank + axis, common)
    if is_vector:
        rhs = manipulation.expand_dims(rhs, -1)
    if repeat:
        lhs, rhs = same_batch(name, lhs, rhs)
    return lhs, rhs, lambda x: manipulation.squeeze(x, -1) if is_vector else x
