"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenferro.arrays.broadcasting import agree
from tenferro.arrays.elementwise import divide, subtract
from tenferro.arrays.operands import (
    Operand,
    called,
    convert,
    inexact_dtype,
    normal_axes,
    promote,
    result_dtype,
)
from tenferro.chainrules import Emitter, V
from tenferro.errors import DTypeError, ShapeError
from tenferro.ops import (
    ADD,
    DIV,
    IMAG,
    MAXIMUM,
    MUL,
    REAL,
    SELECT,
    SQRT,
    SUB,
    BroadcastInDim,
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceSum,
    ShapeOf,
    StdTensorOp,
    broadcast_like,
    full_like,
)
from tenferro.shape import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INT64,
    UINT64,
    Dim,
    Exact,
    TensorMeta,
    as_dtype,
    is_complex,
    is_inexact,
    number_of,
    product,
    real_dtype,
    refuse_traced,
)
from tenferro.typing import Axis, DTypeLike

Reduction = Callable[[tuple[int, ...]], StdTensorOp]


def reduce(
    at: Emitter[V], name: str, op: Reduction, x: Operand[V], axis: Axis, keepdims: bool
) -> V:
    """The reduction over `axis` (None: all); its axes stay with size 1 if `keepdims`."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    axes = normal_axes(name, axis, meta.rank)
    result = called(at, name, op(axes), value)
    return restored(at, result, meta, axes) if keepdims else result


def sum(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> V:
    """Sum over `axis` (None: all axes). Bools and integers are summed in 64 bits.

    >>> tn.sum([[1, 2], [3, 4]], axis=0)
    Tensor([4, 6])
    """
    return reduce(at, "sum", ReduceSum, countable(at, x, dtype), axis, keepdims)


def prod(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> V:
    """Product over `axis`. Its derivative is correct for factors of zero.

    >>> tn.prod([2, 3, 4])
    Tensor(24)
    """
    return reduce(at, "prod", ReduceProd, countable(at, x, dtype), axis, keepdims)


def max(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Largest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> tn.max([[1, 5], [7, 3]], axis=1)
    Tensor([5, 7])
    """
    return reduce(at, "max", ReduceMax, x, axis, keepdims)


def min(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Smallest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> tn.min([[1, 5], [7, 3]], axis=1)
    Tensor([1, 3])
    """
    return reduce(at, "min", ReduceMin, x, axis, keepdims)


def any(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Whether any element over `axis` is nonzero; false if there are no elements.

    >>> tn.any([[0, 1], [0, 0]], axis=1)
    Tensor([ True, False])
    """
    return reduce(at, "any", ReduceOr, promote(at, (x,), BOOL)[0], axis, keepdims)


def all(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Whether all elements over `axis` are nonzero; true if there are no elements.

    >>> tn.all([[1, 1], [0, 1]], axis=1)
    Tensor([ True, False])
    """
    return reduce(at, "all", ReduceAnd, promote(at, (x,), BOOL)[0], axis, keepdims)


def count_nonzero(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """The number of nonzero elements over `axis`.

    >>> tn.count_nonzero([[1, 1], [0, 1]], axis=1)
    Tensor([2, 1])
    """
    (holds,) = promote(at, (x,), BOOL)
    return reduce(at, "count_nonzero", ReduceSum, convert(at, holds, INT64), axis, keepdims)


def mean(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> V:
    """Mean over `axis`; integers become float64.

    >>> tn.mean([1.0, 2.0, 6.0])
    Tensor(3.)
    """
    return moment(at, "mean", x, None, axis, dtype, None, 0, keepdims)


def var(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> V:
    """Mean of |x - mean|² over `axis`; real. `correction`, or `ddof`, lowers the divisor.

    >>> tn.var([1.0, 3.0])
    Tensor(1.)
    >>> tn.var([1.0, 3.0], correction=1)
    Tensor(2.)
    """
    return moment(at, "var", x, None, axis, dtype, correction, ddof, keepdims)


def std(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> V:
    """Root of the variance over `axis`. `correction`, or `ddof`, lowers the divisor.

    >>> tn.std([1.0, 3.0])
    Tensor(1.)
    """
    return moment(at, "std", x, None, axis, dtype, correction, ddof, keepdims)


def moment(
    at: Emitter[V],
    name: str,
    x: Operand[V],
    mask: V | None,
    axis: Axis,
    dtype: DTypeLike | None,
    correction: float | None,
    ddof: float,
    keepdims: bool,
) -> V:
    """The mean over `axis` of the elements where a mask holds, their variance, or its root.

    `correction`, or `ddof` if it is None, lowers the divisor of the variance. Sums of small
    integers would wrap around, and sums and squares of float16 overflow: they are computed in a
    wider dtype.
    """
    element = inexact_dtype(at, (x,)) if dtype is None else as_dtype(dtype)
    (value,) = promote(at, (x,), FLOAT32 if element == FLOAT16 else element)
    if name == "mean":
        return convert(at, _mean(at, name, value, mask, axis, keepdims, 0), element)
    if not is_inexact(element):
        raise DTypeError(f"{name}: dtype must be floating-point or complex, got {dtype}")
    lowered = _number(name, ddof if correction is None else correction)
    axes = normal_axes(name, axis, at.ctx.meta(value).rank)
    deviation = subtract(at, value, _mean(at, name, value, mask, axes, True, 0))
    if is_complex(element):
        parts = [at.emit(part, deviation) for part in (REAL, IMAG)]
        squares = at.emit(ADD, *(at.emit(MUL, part, part) for part in parts))
    else:
        squares = at.emit(MUL, deviation, deviation)
    result = _mean(at, name, squares, mask, axes, keepdims, lowered)
    result = at.emit(SQRT, result) if name == "std" else result
    return convert(at, result, real_dtype(element) if dtype is None else element)


def _number(name: str, correction: float) -> float:
    """What lowers the divisor."""
    number = number_of(correction)
    if number is None:
        refuse_traced(name, "correction", correction)
        raise DTypeError(f"{name}: correction must be a number, got {correction!r}")
    return number


def _mean(
    at: Emitter[V],
    name: str,
    value: V,
    mask: V | None,
    axis: Axis,
    keepdims: bool,
    correction: float,
) -> V:
    """Sum divided by the number of elements minus `correction`; NaN if that divisor is 0."""
    meta: TensorMeta = at.ctx.meta(value)
    axes = normal_axes(name, axis, meta.rank)
    if mask is None:
        divisor = number_of_elements(at, value, axes)
    else:
        value = at.emit(SELECT, mask, value, full_like(at, 0, value))
        divisor = reduce(at, name, ReduceSum, convert(at, mask, meta.dtype), axes, keepdims)
    if correction:
        divisor = at.emit(SUB, divisor, full_like(at, correction, divisor))
        divisor = at.emit(MAXIMUM, divisor, full_like(at, 0, divisor))
    return divide(at, sum(at, value, axes, keepdims=keepdims), divisor)


def ptp(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Largest element minus the smallest, over `axis`.

    >>> tn.ptp([[1, 5], [7, 3]], axis=1)
    Tensor([4, 4])
    """
    largest = reduce(at, "ptp", ReduceMax, x, axis, keepdims)
    return at.emit(SUB, largest, reduce(at, "ptp", ReduceMin, x, axis, keepdims))


def average(
    at: Emitter[V],
    x: Operand[V],
    weights: Operand[V] | None = None,
    axis: Axis = None,
    keepdims: bool = False,
) -> V:
    """Mean weighted by `weights`."""
    if weights is None:
        return mean(at, x, axis, keepdims=keepdims)
    value, weight = promote(at, (x, weights), inexact_dtype(at, (x, weights)))
    meta, weight_meta = at.ctx.meta(value), at.ctx.meta(weight)
    axes = normal_axes("average", axis, meta.rank)
    if weight_meta.rank == 1 and meta.rank > 1 and len(axes) == 1:
        value, weight = agree(at, value, axes[0], weight, 0)
        shape = at.ctx.meta(value).exact_shape("average", "operand")
        weight = at.emit(BroadcastInDim(shape, axes), weight)
    elif weight_meta.rank == meta.rank:
        for place in range(meta.rank):
            value, weight = agree(at, value, place, weight, place)
    if at.ctx.meta(weight).extents != at.ctx.meta(value).extents:
        raise ShapeError(
            f"average: weights {weight_meta} must have the shape of {meta}, or be a vector along "
            "one axis"
        )
    total = sum(at, at.emit(MUL, value, weight), axes, keepdims=keepdims)
    return at.emit(DIV, total, sum(at, weight, axes, keepdims=keepdims))


def countable(at: Emitter[V], x: Operand[V], dtype: DTypeLike | None = None) -> V:
    """The operand in `dtype`; if None, in the dtype in which NumPy sums its dtype."""
    if dtype is not None:
        return promote(at, (x,), as_dtype(dtype))[0]
    element = result_dtype(at, (x,))
    if element.kind in "bi":
        element = INT64
    elif element.kind == "u":
        element = UINT64
    return promote(at, (x,), element)[0]


def number_of_elements(at: Emitter[V], value: V, axes: Sequence[int]) -> V:
    """The number of elements along `axes` together, as a value of the dtype of `value`."""
    meta: TensorMeta = at.ctx.meta(value)
    exact: Dim = product(extent.dim for i in axes if isinstance(extent := meta.extents[i], Exact))
    (count,) = promote(at, (exact,), meta.dtype)
    for axis in axes:
        if not isinstance(meta.extents[axis], Exact):
            size = convert(at, at.emit(ShapeOf(axis), value), meta.dtype)
            count = at.emit(MUL, count, size)
    return count


def restored(at: Emitter[V], result: V, meta: TensorMeta, axes: tuple[int, ...]) -> V:
    """The reduction over `axes` of an operand of type `meta`, with these axes as axes of size 1."""
    wide = at.ctx.meta(result).with_extents(
        Exact(1) if i in axes else extent for i, extent in enumerate(meta.extents)
    )
    remaining = tuple(i for i in range(meta.rank) if i not in axes)
    return broadcast_like(at, result, wide, remaining, "keepdims")
