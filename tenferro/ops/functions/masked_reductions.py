"""Reductions of the elements where a mask holds, with an initial value; means and variances."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import (
    BOOL,
    UINT8,
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DType,
    DTypeLike,
    Exact,
    TensorMeta,
    as_dtype,
    dtype_kind,
    in_single,
    is_complex,
    is_inexact,
    number_of,
    product,
    real_dtype,
    refuse_traced,
)
from tenferro.ops import (
    ADD,
    IMAG,
    MAXIMUM,
    MUL,
    REAL,
    REDUCTIONS,
    SELECT,
    SQRT,
    SUB,
    Pad,
    ReduceSum,
    ShapeOf,
)
from tenferro.ops.functions.dispatch import emit, full_like
from tenferro.ops.functions.elementwise import divide, subtract, where
from tenferro.ops.functions.promotion import (
    as_value,
    broadcast,
    broadcast_to,
    convert,
    countable,
    fitting,
    inexact_dtype,
    is_number,
    normal_axes,
    promote,
    reduce,
    reduced_axes,
    result_dtype,
)


def total(
    name: str,
    x: ArrayLike,
    dtype: DTypeLike | None,
    promote_integers: bool,
    axis: Axis,
    keepdims: bool,
    initial: ArrayLike | None,
    mask: ArrayLike | None,
) -> AnyTensor:
    """A sum or a product."""
    if not promote_integers and dtype is None and (own := result_dtype((x,))) != BOOL:
        dtype = own
    if dtype is not None and as_dtype(dtype) == BOOL:
        name = {"sum": "any", "prod": "all"}[name]
    return of_counting(name, countable(x, dtype), axis, keepdims, initial, mask)


def extremum(
    name: str,
    x: ArrayLike,
    axis: Axis,
    keepdims: bool,
    initial: ArrayLike | None,
    mask: ArrayLike | None,
) -> AnyTensor:
    """The largest or the smallest element; bools are ordered as 0 and 1."""
    (value,) = promote((x,))
    if value.meta.dtype != BOOL:
        return of_counting(name, value, axis, keepdims, initial, mask)
    start = None if initial is None else convert(_start(name, initial, BOOL), UINT8)
    return convert(of_counting(name, convert(value, UINT8), axis, keepdims, start, mask), BOOL)


def of_counting(
    name: str,
    value: AnyTensor,
    axis: Axis,
    keepdims: bool,
    initial: ArrayLike | None,
    mask: ArrayLike | None,
) -> AnyTensor:
    """A reduction of the elements where a mask holds, and of an initial value."""
    op, combine, neutral = REDUCTIONS[name]
    if initial is None and mask is None:
        return reduce(name, op, value, axis, keepdims)
    meta: TensorMeta = value.meta
    start = None if initial is None else _start(name, initial, meta.dtype)
    if mask is not None:
        if neutral is None and start is None:
            raise ShapeError(
                f"{name}: where= may leave no element; pass initial=, the value of none"
            )
        instead = start if neutral is None else as_value(neutral, meta.dtype)
        assert instead is not None
        value, holds = _masked(name, value, mask)
        value, meta = where(holds, value, instead), value.meta
    if start is not None and neutral is None and meta.rank:
        value = _led(value, start, reduced_axes(name, axis, meta.rank))
    result = reduce(name, op, value, axis, keepdims)
    if start is None:
        return result
    shape = result.meta.exact_shape(name, "result")
    return emit(combine, result, broadcast_to(start, shape))


def _start(name: str, initial: ArrayLike, dtype: DType) -> AnyTensor:
    """The initial value in the dtype of the reduction."""
    if isinstance(initial, float) and initial.is_integer() and dtype_kind(dtype) in "iu":
        initial = int(initial)
    if dtype == BOOL and is_number(initial) and initial in (0, 1):
        initial = bool(initial)
    return fitting(name, initial, dtype)


def _masked(name: str, value: AnyTensor, mask: ArrayLike) -> tuple[AnyTensor, AnyTensor]:
    """An array and the mask of its elements that count, of one shape."""
    (holds,) = promote((mask,))
    if holds.meta.dtype != BOOL:
        raise DTypeError(f"{name}: where= must be an array of bools, got {holds.meta}")
    value, holds = broadcast(name, [value, holds])
    return value, holds


def _led(value: AnyTensor, start: AnyTensor, axes: tuple[int, ...]) -> AnyTensor:
    """The array with the initial value before its elements along `axes`, which may have none."""
    rank = value.meta.rank
    none = (0,) * rank
    return emit(Pad(tuple(int(i in axes) for i in range(rank)), none, none), value, start)


# Means and variances.


def number_of_elements(value: AnyTensor, axes: Sequence[int]) -> AnyTensor:
    """The number of elements along `axes` together, as a value of the dtype of `value`."""
    meta: TensorMeta = value.meta
    exact: Dim = product(extent.dim for i in axes if isinstance(extent := meta.extents[i], Exact))
    (count,) = promote((exact,), meta.dtype)
    for axis in axes:
        if not isinstance(meta.extents[axis], Exact):
            size = convert(emit(ShapeOf(axis), value), meta.dtype)
            count = emit(MUL, count, size)
    return count


def moment(
    name: str,
    x: ArrayLike,
    mask: ArrayLike | None,
    axis: Axis,
    dtype: DTypeLike | None,
    correction: float,
    keepdims: bool,
    middle: ArrayLike | None = None,
) -> AnyTensor:
    """The mean over `axis` of the elements where a mask holds, their variance, or its root.

    `correction` lowers the divisor of the variance; `middle` is the mean, if it is known. Sums of
    small integers would wrap around, and sums and squares of 16 bits overflow: they are computed
    in a wider dtype.
    """
    element = inexact_dtype((x,)) if dtype is None else as_dtype(dtype)
    (value,) = promote((x,), in_single(element))
    holds = None
    if mask is not None:
        value, holds = _masked(name, value, mask)
    if name == "mean":
        return convert(_mean(name, value, holds, axis, keepdims, 0), element)
    if not is_inexact(element):
        raise DTypeError(f"{name}: dtype must be floating-point or complex, got {dtype}")
    lowered = _number(name, correction)
    axes = normal_axes(name, axis, value.meta.rank)
    if middle is None:
        deviation = subtract(value, _mean(name, value, holds, axes, True, 0))
    else:
        shape = value.meta.exact_shape(name, "operand")
        known = broadcast_to(fitting(name, middle, value.meta.dtype), shape, name)
        deviation = emit(SUB, value, known)
    if is_complex(element):
        parts = [emit(part, deviation) for part in (REAL, IMAG)]
        squares = emit(ADD, *(emit(MUL, part, part) for part in parts))
    else:
        squares = emit(MUL, deviation, deviation)
    result = _mean(name, squares, holds, axes, keepdims, lowered)
    result = emit(SQRT, result) if name == "std" else result
    return convert(result, real_dtype(element) if dtype is None else element)


def _number(name: str, correction: float) -> float:
    """What lowers the divisor."""
    number = number_of(correction)
    if number is None:
        refuse_traced(name, "correction", correction)
        raise DTypeError(f"{name}: correction must be a number, got {correction!r}")
    return number


def _mean(
    name: str,
    value: AnyTensor,
    mask: AnyTensor | None,
    axis: Axis,
    keepdims: bool,
    correction: float,
) -> AnyTensor:
    """Sum divided by the number of elements minus `correction`; NaN if that divisor is 0."""
    meta: TensorMeta = value.meta
    axes = normal_axes(name, axis, meta.rank)
    if mask is None:
        divisor = number_of_elements(value, axes)
    else:
        value = emit(SELECT, mask, value, full_like(0, value))
        divisor = reduce(name, ReduceSum, convert(mask, meta.dtype), axes, keepdims)
    if correction:
        divisor = emit(SUB, divisor, full_like(correction, divisor))
        divisor = emit(MAXIMUM, divisor, full_like(0, divisor))
    return divide(reduce(name, ReduceSum, value, axes, keepdims), divisor)
