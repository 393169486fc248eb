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
    SUB,
    Convert,
    DotGeneral,
    ReduceSum,
    StdTensorOp,
    full,
    scalar,
)
from tenferro.shape import (
    FLOAT64,
    INT64,
    Dim,
    DimExpr,
    DType,
    TensorMeta,
    as_dtype,
    at_most,
    integer_of,
    is_inexact,
    is_integer,
    maximum,
    refuse_traced,
    short_name,
)
from tenferro.typing import Axis, Integers, Number

KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_NUMBERS = (bool, int, float, complex)
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Operand = Union[T, Number, DimExpr]  # noqa: UP007  # mypy needs Union for a generic alias


class Weak:
    """A value of a graph that stands for a Python number: its dtype yields to that of arrays.

    It takes part in the promotion of an array function as a number of its kind does. To an emitter
    it is the value.

    Attributes:
        value: the value, of the dtype that an array of the number has.
        number: a number of the same kind.
    """

    __slots__ = ("number", "value")

    def __init__(self, value: Any, number: Number) -> None:
        self.value = value
        self.number = number


def unwrapped(operand: Any) -> Any:
    """The value of an operand that stands for a number; other operands unchanged."""
    return operand.value if type(operand) is Weak else operand


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
    weak: list[Weak] = []
    strong = False
    for operand in operands:
        if isinstance(operand, DimExpr):
            parts.append(0)
        elif is_number(operand):
            parts.append(operand)
        elif type(operand) is Weak:
            weak.append(operand)
        else:
            strong = True
            parts.append(at.ctx.meta(operand).dtype)
    # Among numbers alone a counter of unsigned integers stays one.
    parts += [each.number if strong else at.ctx.meta(each.value).dtype for each in weak]
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
        except (OverflowError, TypeError, ValueError):
            raise DTypeError(f"promotion: {operand} does not fit {short_name(dtype)}") from None
    value: Any = unwrapped(operand)  # neither a number nor a size
    return convert(at, value, dtype)  # type: ignore[no-any-return]


def is_traced_integer(at: Emitter[V], operand: Operand[V]) -> bool:
    """Whether an operand is an integer whose value is not known, and whose dtype is weak."""
    if isinstance(operand, DimExpr):
        return True
    return type(operand) is Weak and at.ctx.meta(operand.value).dtype.kind in "iu"


def is_integral(at: Emitter[V], operand: Operand[V]) -> bool:
    """Whether an operand is an integer, a size or an array of integers; bools are not."""
    if is_number(operand):
        return isinstance(operand, int) and not isinstance(operand, bool)
    return isinstance(operand, DimExpr) or at.ctx.meta(operand).dtype.kind in "iu"


def integers_of(at: Emitter[V], operand: Operand[V]) -> V:
    """An integral operand as a value of its own dtype; int64 for a size."""
    return as_value(at, operand, INT64) if isinstance(operand, DimExpr) else unwrapped(operand)


def fitting(at: Emitter[V], name: str, operand: Operand[V], dtype: DType) -> V:
    """What is put into an array of `dtype`, as a value of it, if the dtype can hold its kind.

    Raises:
        DTypeError: it cannot, such as complex values for a real array, or a number does not fit.
    """
    if isinstance(operand, DimExpr):
        own = INT64
    elif is_number(operand):
        own = np.result_type(operand)  # type: ignore[arg-type]
    else:
        own = at.ctx.meta(operand).dtype
    if KINDS[own.kind] > KINDS[dtype.kind]:
        raise DTypeError(
            f"{name}: values of {short_name(as_dtype(own))} do not fit an array of "
            f"{short_name(dtype)}; convert one of them first"
        )
    return as_value(at, operand, dtype)


def in_integers(
    at: Emitter[V], x: Operand[V], y: Operand[V], function: Callable[[Operand[V], Operand[V]], V]
) -> V:
    """`function(x, y)`, which takes an integer that is not known yet with all its digits.

    The number may not fit the dtype of the result, to which the result is then reduced.
    """
    if is_traced_integer(at, x) or is_traced_integer(at, y):
        dtype = result_dtype(at, (x, y))
        if is_integer(dtype) and dtype.itemsize < INT64.itemsize:
            return convert(at, function(*promote(at, (x, y), INT64)), dtype)
    return function(x, y)


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
    if type(value) is int:
        return [value]
    refuse_traced(name, field, value)
    numbers = np.ravel(value)
    if numbers.size and numbers.dtype.kind not in "biu":
        raise DTypeError(f"{name}: {field} must be integers, got {value!r}")
    return [int(number) for number in numbers]


def counts(name: str, field: str, value: Any) -> list[Dim]:
    """One integer or size, or several, as a list.

    Raises:
        DTypeError: a number is not an integer.
    """
    if isinstance(value, DimExpr):
        return [value]
    if not isinstance(value, list | tuple) or not any(isinstance(x, DimExpr) for x in value):
        return [*integers(name, field, value)]
    return [x for item in value for x in counts(name, field, item)]


def normal_axis(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        AxisError: it is out of range.
    """
    index = integer_of(axis)
    if index is None:
        if getattr(axis, "ndim", 0) > 0:
            meta = getattr(axis, "meta", None)
            kind = f"an array{'' if meta is None else f' {meta}'}"
            raise AxisError(f"{name}: axis is {kind}, not an integer; pass arrays in one list")
        refuse_traced(name, "axis", axis)
        raise AxisError(f"{name}: axis {axis!r} is not an integer")
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
    """A symbolic size as a value: its polynomial, with each atom as a sum of that many ones."""

    def ones(count: Dim) -> V:
        return at.emit(ReduceSum((0,)), full(at, 1, TensorMeta.of(dtype, (count,))))

    total: V | None = None
    for atoms, coefficient in size.terms:
        term = at.emit(scalar(coefficient, dtype))
        for atom in atoms:
            count = DimExpr((((atom,), 1),))
            value = ones(maximum(count, 0))
            if not at_most(0, count):  # such as floordiv(n - 5, 2)
                value = at.emit(SUB, value, ones(maximum(-count, 0)))
            term = at.emit(MUL, term, value)
        total = term if total is None else at.emit(ADD, total, term)
    assert total is not None, "a size without terms is an integer"
    return total
