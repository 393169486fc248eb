"""Operands of array functions: promotion of dtypes and broadcasting of shapes, as in NumPy.

Array functions emit ops through an `Emitter`, so that one definition serves values of a graph and
values at run time. An operand is a value of the emitter, a Python number (whose dtype is weak), or
a symbolic size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Union

import numpy as np

from tenferro.arrays.broadcasting import broadcast as broadcast
from tenferro.arrays.broadcasting import broadcast_shape as broadcast_shape
from tenferro.arrays.broadcasting import broadcast_to as broadcast_to
from tenferro.arrays.broadcasting import matched
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, DTypeError, TenferroError
from tenferro.ops import (
    ADD,
    MUL,
    Convert,
    DotGeneral,
    ReduceSum,
    StdTensorOp,
    full,
    scalar,
)
from tenferro.shape import (
    FLOAT64,
    DimExpr,
    DType,
    TensorMeta,
    as_dtype,
    is_inexact,
    short_name,
)
from tenferro.typing import Axis, Integers, Number

_NUMBERS = (bool, int, float, complex)
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Operand = Union[T, Number, DimExpr]  # noqa: UP007  # mypy needs Union for a generic alias


def is_number(operand: object) -> bool:
    """Whether an operand is a Python number, whose dtype is weak."""
    return isinstance(operand, _NUMBERS) and not isinstance(operand, np.generic)


def result_dtype(at: Emitter[V], operands: Sequence[Operand[V]]) -> DType:
    """The dtype that `numpy.result_type` gives the operands; Python numbers are weak.

    Raises:
        DTypeError: the result is not a dtype of tenferro, or a number does not fit.
    """
    common = _one_dtype(at, operands)
    if common is not None:
        return common
    parts: list[object] = []
    for operand in operands:
        if isinstance(operand, DimExpr):
            parts.append(0)
        elif is_number(operand):
            parts.append(operand)
        else:
            parts.append(at.ctx.meta(operand).dtype)
    try:
        return as_dtype(np.result_type(*parts))  # type: ignore[arg-type]  # dtypes and numbers
    except TypeError as error:
        raise DTypeError(f"promotion: {error}") from None


def _one_dtype(at: Emitter[V], operands: Sequence[Operand[V]]) -> DType | None:
    """The common inexact dtype of all arrays, if all other operands are Python floats; else None.

    This is the usual case, and faster than NumPy's promotion.
    """
    common: DType | None = None
    for operand in operands:
        if type(operand) is float:
            continue
        if isinstance(operand, DimExpr) or is_number(operand):
            return None
        dtype = at.ctx.meta(operand).dtype
        if dtype.kind not in "fc" or (common is not None and dtype is not common):
            return None
        common = dtype
    return common


def as_value(at: Emitter[V], operand: Operand[V], dtype: DType) -> V:
    """The operand as a value of `dtype`; a number becomes a rank-0 constant.

    Raises:
        DTypeError: a Python integer does not fit `dtype`.
    """
    if isinstance(operand, DimExpr):
        return _size_as_value(at, operand, dtype)
    if is_number(operand):
        try:
            return at.emit(scalar(np.asarray(operand, dtype=dtype), dtype))
        except (OverflowError, TypeError):
            raise DTypeError(f"promotion: {operand} does not fit {short_name(dtype)}") from None
    value: Any = operand  # neither a number nor a size
    return convert(at, value, dtype)  # type: ignore[no-any-return]


def convert(at: Emitter[V], value: V, dtype: DType) -> V:
    """The value in `dtype`; unchanged if it has that dtype."""
    return value if at.ctx.meta(value).dtype == dtype else at.emit(Convert(dtype), value)


def promote(at: Emitter[V], operands: Sequence[Operand[V]], dtype: DType | None = None) -> list[V]:
    """The operands as values of their common dtype, or of `dtype`."""
    dtype = result_dtype(at, operands) if dtype is None else dtype
    return [as_value(at, operand, dtype) for operand in operands]


def inexact_dtype(at: Emitter[V], operands: Sequence[Operand[V]]) -> DType:
    """The operands' common dtype if it is floating-point or complex, else float64."""
    dtype = result_dtype(at, operands)
    return dtype if is_inexact(dtype) else FLOAT64


def called(at: Emitter[V], name: str, op: StdTensorOp, *values: V) -> V:
    """Emit an op; its errors name the array function `name` instead of the op."""
    if isinstance(op, DotGeneral):
        values = matched(at, op, *values)
    try:
        return at.emit(op, *values)
    except TenferroError as error:
        text = str(error)
        if not text.startswith(f"{op.name}: "):
            raise
        raise type(error)(name + text.removeprefix(op.name)) from None


def named(name: str) -> Callable[[F], F]:
    """Set the name of an array function in errors to the one under which users call it."""

    def rename(function: F) -> F:
        function.__name__ = name
        return function

    return rename


def integers(name: str, field: str, value: Integers) -> list[int]:
    """One integer or several as a list.

    Raises:
        DTypeError: a number is not an integer.
    """
    numbers = np.ravel(value)
    if numbers.size and numbers.dtype.kind not in "biu":
        raise DTypeError(f"{name}: {field} must be integers, got {value!r}")
    return [int(number) for number in numbers]


def normal_axis(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        AxisError: it is out of range.
    """
    if isinstance(axis, bool) or not hasattr(axis, "__index__") or getattr(axis, "ndim", 0) > 0:
        meta = getattr(axis, "meta", None)
        if getattr(axis, "ndim", 0) > 0:
            kind = f"an array{'' if meta is None else f' {meta}'}"
            raise AxisError(f"{name}: axis is {kind}, not an integer; pass arrays in one list")
        raise AxisError(f"{name}: axis {axis!r} is not an integer")
    try:
        index: int = axis.__index__()
    except TypeError as error:
        if isinstance(error, TenferroError):
            raise
        raise AxisError(f"{name}: axis {axis!r} is not an integer") from None
    if not -rank <= index < rank:
        raise AxisError(f"{name}: axis {index} is out of range for rank {rank}")
    return index % rank


def normal_axes(name: str, axis: Axis, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, sorted; None means all axes.

    Raises:
        AxisError: an axis is out of range or named twice.
    """
    if axis is None:
        return tuple(range(rank))
    axes_tuple = axis if isinstance(axis, tuple | list) else (axis,)
    axes = sorted(normal_axis(name, item, rank) for item in axes_tuple)
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: axes {tuple(axes_tuple)} name an axis twice")
    return tuple(axes)


def _size_as_value(at: Emitter[V], size: DimExpr, dtype: DType) -> V:
    """A symbolic size as a value: its polynomial, with each symbol as a sum of that many ones."""
    total: V | None = None
    for atoms, coefficient in size.terms:
        term = at.emit(scalar(coefficient, dtype))
        for atom in atoms:
            ones = full(at, 1, TensorMeta.of(dtype, (DimExpr((((atom,), 1),)),)))
            term = at.emit(MUL, term, at.emit(ReduceSum((0,)), ones))
        total = term if total is None else at.emit(ADD, total, term)
    assert total is not None, "a size without terms is an integer"
    return total
