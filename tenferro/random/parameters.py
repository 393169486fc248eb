"""What functions of random numbers take: shapes, dtypes and parameters of distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenferro.arrays import Expression, broadcasting, is_number, operands, rearrange
from tenferro.chainrules import Emitter
from tenferro.dispatch import create
from tenferro.errors import DTypeError, ExtentError, ShapeError
from tenferro.namespace import asarray
from tenferro.random.keys import shown, words_of
from tenferro.runtime import Tensor
from tenferro.shape import (
    FLOAT64,
    Dim,
    DimExpr,
    DType,
    Exact,
    ShapeExtent,
    TensorMeta,
    as_dtype,
    dim,
    integer_of,
    refuse_traced,
    short_name,
)
from tenferro.traced import check_named
from tenferro.typing import AnyTensor, DTypeLike, Shape
from tenferro.values import is_array, meta_of_value

KINDS = {
    "f": "floating-point",
    "fc": "floating-point or complex",
    "iu": "an integer type",
    "iufc": "a number type",
    "u": "an unsigned integer type",
}


def draw(
    name: str,
    formula: Callable[..., Any],
    key: Any,
    *parameters: Any,
    shape: tuple[Dim, ...],
    **options: Any,
) -> AnyTensor:
    """What a formula makes of the words of a key and of parameters, at once or in a graph."""
    words = words_of(name, key)
    return create(formula, words, *map(lifted, parameters), shape=shape, **options)


def lifted(parameter: Any) -> Any:
    """A parameter as an operand of array functions: lists become tensors."""
    if is_number(parameter) or isinstance(parameter, DimExpr) or is_array(parameter):
        return parameter
    return Tensor(parameter)


def sizes(name: str, shape: Shape | None, *parameters: Any) -> tuple[Dim, ...]:
    """The sizes of a result: those that are asked for, else those of the parameters.

    Raises:
        ExtentError: a size is negative.
        ShapeError: an item is not a size, or the parameters do not broadcast to the shape.
        TracingError: a size is a name, and no function is traced.
    """
    metas = [meta for each in parameters if (meta := _meta(each)) is not None]
    return sizes_for(name, shape, metas)


def sizes_for(name: str, shape: Shape | None, metas: Sequence[TensorMeta]) -> tuple[Dim, ...]:
    """The sizes of a result, as `sizes` gives them for parameters of these types."""
    metas = [meta for meta in metas if meta.rank]
    if shape is None:
        return tuple(broadcasting.broadcast_shape(name, metas)) if metas else ()
    asked = rearrange.sizes_of(shape)
    check_named(name, *asked)
    result = tuple(map(dim, asked))
    if any(isinstance(size, int) and size < 0 for size in result):
        raise ExtentError(f"{name}: a size must not be negative, got shape {shown(result)}")
    for meta in metas:
        _check_fits(name, meta, result)
    return result


def _check_fits(name: str, meta: TensorMeta, shape: tuple[Dim, ...]) -> None:
    known = zip(meta.extents, shape[-meta.rank :], strict=False)
    fits = meta.rank <= len(shape) and all(_may_fit(extent, size) for extent, size in known)
    if not fits:
        raise ShapeError(f"{name}: a parameter {meta} does not broadcast to shape {shown(shape)}")


def _may_fit(extent: ShapeExtent, size: Dim) -> bool:
    """Whether an axis may be repeated to a size; sizes with names are compared where they meet."""
    if not (isinstance(extent, Exact) and isinstance(extent.dim, int) and isinstance(size, int)):
        return True
    return extent.dim in (1, size)


def _meta(parameter: Any) -> TensorMeta | None:
    return None if is_number(parameter) else meta_of_value(lifted(parameter))


def element(
    name: str, dtype: DTypeLike | None, kinds: str = "f", default: DType = FLOAT64
) -> DType:
    """The dtype of a result.

    Raises:
        DTypeError: it is not of the kinds.
    """
    result = default if dtype is None else as_dtype(dtype)
    if result.kind not in kinds:
        raise DTypeError(f"{name}: dtype must be {KINDS[kinds]}, got {short_name(result)}")
    return result


def integer(name: str, what: str, value: object) -> int:
    """A Python integer.

    Raises:
        DTypeError: it is not one.
    """
    number = integer_of(value)
    if number is None:
        refuse_traced(name, what, value)
        raise DTypeError(f"{name}: {what} must be an integer, got {type(value).__name__}")
    return number


def natural(name: str, what: str, value: object) -> int:
    """An integer that is not negative.

    Raises:
        DTypeError: it is not an integer.
        ExtentError: it is negative.
    """
    result = integer(name, what, value)
    if result < 0:
        raise ExtentError(f"{name}: {what} must not be negative, got {result}")
    return result


def real_array(name: str, field: str, value: Any, dtype: DType) -> Any:
    """A real parameter as an array of `dtype`.

    Raises:
        DTypeError: it is complex.
    """
    array: Any = asarray(value)
    if array.dtype.kind == "c":
        raise DTypeError(f"{name}: {field} must be real, got {array.meta}")
    return array.astype(dtype)


def real(at: Emitter[Any], name: str, field: str, operand: Any, dtype: DType) -> Expression:
    """A real parameter as a value of `dtype`.

    Raises:
        DTypeError: it is complex.
    """
    complex_number = isinstance(operand, complex)
    if complex_number or (not is_number(operand) and _dtype_of(at, operand).kind == "c"):
        got = "complex" if complex_number else at.ctx.meta(operand)
        raise DTypeError(f"{name}: {field} must be real, got {got}")
    return Expression(at, operands.as_value(at, operand, dtype))


def _dtype_of(at: Emitter[Any], operand: Any) -> DType:
    return FLOAT64 if isinstance(operand, DimExpr) else at.ctx.meta(operand).dtype


def number(at: Emitter[Any], value: float, dtype: DType) -> Expression:
    """A constant."""
    return Expression(at, operands.as_value(at, np.asarray(value, dtype).item(), dtype))
