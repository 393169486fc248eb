"""arange, linspace, eye, full, tri."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import (
    INT64,
    AnyTensor,
    ArrayLike,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Number,
    Shape,
    TensorMeta,
    as_dtype,
    at_most,
    default_float,
    dependence_of,
    dim,
    floordiv,
    is_integer,
    is_traced_value,
    maximum,
    number_of,
    read_integer,
)
from tenferro.ops import (
    ADD,
    DIV,
    FLOOR,
    MUL,
    SELECT,
    SUB,
    BroadcastInDim,
    Compare,
    EmbedDiag,
    Iota,
    Pad,
    scalar,
)
from tenferro.ops.functions.dispatch import array_function, emit, full
from tenferro.ops.functions.dispatch import full_like as ops_full_like
from tenferro.ops.functions.dispatch import zeros_like as ops_zeros_like
from tenferro.ops.functions.manipulation import diagonal, moveaxis, ravel, sizes_of
from tenferro.ops.functions.promotion import (
    array,
    broadcast,
    broadcast_to,
    convert,
    inexact_dtype,
    named,
    promote,
    repeated,
    result_dtype,
)

__all__ = ["diag", "diagflat"]

# New arrays: counters, grids and matrices of ones.


def arange(start: Any, *, shape: tuple[Dim], step: Any, dtype: DType) -> AnyTensor:
    """start, start + step, …: `shape[0]` numbers."""
    count = emit(Iota(dtype, shape[0]))
    if isinstance(start, DimExpr) or isinstance(step, DimExpr):
        begin, by = (broadcast_to(value, shape) for value in promote((start, step), dtype))
        return emit(ADD, emit(MUL, count, by), begin)
    first = np.asarray(start).astype(dtype)
    # As in NumPy, the step is the difference of the first two elements after rounding.
    between = np.asarray(start + step).astype(dtype) - first
    if between != 1:
        count = emit(MUL, count, ops_full_like(between, count))
    return emit(ADD, count, ops_full_like(first, count)) if first != 0 else count


def bound(value: Any) -> Any:
    """A bound or the step of a range: a real number, or a size.

    Raises:
        DTypeError: it is another thing.
    """
    if isinstance(value, str | DimExpr):
        return dim(value)
    number = number_of(value)
    if number is not None:
        return number
    if isinstance(getattr(value, "meta", None), TensorMeta):
        way = "convert it with int()"
        if is_traced_value(value):
            way = (
                "make the argument that it is static (static_argnames), take the size of an "
                f"array, such as x.shape[0], or mask the largest range{dependence_of(value)}"
            )
        raise DTypeError(f"arange: takes numbers, since they decide the size, got {value!r}; {way}")
    raise DTypeError(f"arange: takes real numbers, got {type(value).__name__}")


def steps(start: Any, stop: Any, step: Any, dtype: DType | None) -> tuple[DType, Dim]:
    """The dtype of a range of numbers, and the number of its elements.

    Raises:
        DTypeError: a bound is not a number.
        ShapeError: the step is 0, or the range is infinite.
    """
    numbers = [bound(value) for value in (start, stop, step)]
    first, last, by = numbers
    whole = not any(isinstance(value, float) for value in numbers)
    if not whole and any(isinstance(value, DimExpr) for value in numbers):
        raise DTypeError(
            "arange: with symbolic sizes, start, stop and step must be integers; multiply the "
            "result instead"
        )
    element = dtype or (INT64 if whole else default_float())
    if by == 0:
        raise ShapeError("arange: the step must not be 0")
    if whole:
        count = -floordiv(first - last, by) if by > 0 else -floordiv(last - first, -by)
        # A size is never negative, but a difference of sizes may be.
        return element, count if at_most(0, count) else maximum(count, 0)
    if not math.isfinite(size := (last - first) / by):
        raise ShapeError(f"arange: the range from {first} to {last} in steps of {by} is infinite")
    return element, max(math.ceil(size), 0)


def grid(metas: Sequence[TensorMeta], indexing: str) -> tuple[list[int], list[Dim]]:
    """For each vector, its axis in the grid; and the shape of the grid."""
    axes = list(range(len(metas)))
    if indexing == "xy" and len(axes) > 1:
        axes[:2] = 1, 0
    shape: list[Dim] = [1] * len(axes)
    for axis, meta in zip(axes, metas, strict=True):
        if meta.rank > 1:
            raise ShapeError(f"meshgrid: takes vectors, got {meta}")
        shape[axis] = meta.exact_shape("meshgrid", "operand")[0] if meta.rank else 1
    return axes, shape


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    *,
    shape: tuple[Dim],
    endpoint: bool = True,
    dtype: DType | None = None,
    axis: int = 0,
) -> AnyTensor:
    """`shape[0]` evenly spaced numbers from `start` to `stop`, along a new axis."""
    kind = inexact_dtype((start, stop))
    first, last = broadcast("linspace", promote((start, stop), kind))
    meta: TensorMeta = first.meta
    sizes = (*shape, *meta.exact_shape("linspace", "start"))
    count = emit(Iota(kind, shape[0]))
    spread = emit(BroadcastInDim(sizes, (0,)), count)
    begin, end = (broadcast_to(value, sizes) for value in (first, last))
    intervals = maximum(shape[0] - 1 if endpoint else shape[0], 1)
    (divisor,) = promote((intervals,), kind)
    step = emit(DIV, emit(SUB, end, begin), broadcast_to(divisor, sizes))
    result = emit(ADD, emit(MUL, spread, step), begin)
    if endpoint and shape[0] != 1:  # rounding may keep the last element from being `stop`
        (position,) = promote((intervals,), kind)
        is_last = emit(Compare("EQ"), spread, broadcast_to(position, sizes))
        result = emit(SELECT, is_last, end, result)
    if dtype is not None:
        result = convert(emit(FLOOR, result) if is_integer(dtype) else result, dtype)
    return moveaxis(result, 0, axis) if axis else result


def eye(value: Number, *, shape: tuple[Dim, Dim], k: int = 0, dtype: DType) -> AnyTensor:
    """A matrix with `value` on diagonal `k`, zero elsewhere."""
    return _by_diagonal("EQ", value, shape, read_integer("eye", "k", k), dtype)


def tri(value: Number, *, shape: tuple[Dim, Dim], k: int = 0, dtype: DType) -> AnyTensor:
    """A matrix with `value` on and below diagonal `k`, zero above."""
    return _by_diagonal("LE", value, shape, read_integer("tri", "k", k), dtype)


def _by_diagonal(
    direction: str, value: Number, shape: tuple[Dim, Dim], k: int, dtype: DType
) -> AnyTensor:
    """`value` where column - k compares to the row as `direction` says, else zero."""
    row, column = (
        emit(BroadcastInDim(shape, (axis,)), emit(Iota(INT64, size)))
        for axis, size in enumerate(shape)
    )
    if k:
        far = 2**62  # beyond all columns, and without overflow
        row = emit(ADD, row, ops_full_like(min(max(k, -far), far), row))
    chosen = emit(Compare(direction), column, row)
    filled = full(value, TensorMeta.of(dtype, shape))
    return emit(SELECT, chosen, filled, ops_zeros_like(filled))


@array_function
def diag(v: ArrayLike, k: int = 0) -> AnyTensor:
    """The matrix with the vector `v` on diagonal `k`; of a matrix, that diagonal.

    >>> tn.diag([1, 2])
    Tensor([[1, 0],
            [0, 2]])
    >>> tn.diag([[1, 2], [3, 4]])
    Tensor([1, 4])
    """
    v = array(v)
    k = read_integer("diag", "k", k)
    meta: TensorMeta = v.meta
    if meta.rank == 2:
        return diagonal(v, k)
    if meta.rank != 1:
        raise ShapeError(f"diag: takes a vector or a matrix, got {meta}")
    square = emit(EmbedDiag(0, 1), v)
    if not k:
        return square
    # Diagonal k starts k columns to the right or -k rows down; the matrix grows by as many.
    before, after = (max(-k, 0), max(k, 0)), (max(k, 0), max(-k, 0))
    return emit(Pad(before, after, (0, 0)), square, emit(scalar(0, meta.dtype)))


@array_function
def diagflat(v: ArrayLike, k: int = 0) -> AnyTensor:
    """The matrix with the elements of `v`, flattened, on diagonal `k`.

    >>> tn.diagflat([[1], [2]])
    Tensor([[1, 0],
            [0, 2]])
    """
    v = array(v)
    return diag(ravel(v), k)


def on_grid(x: AnyTensor, axis: int, shape: Sequence[Dim]) -> AnyTensor:
    """A vector along one axis of a grid, repeated along the other axes."""
    dims = (axis,) if x.meta.rank else ()
    return emit(BroadcastInDim(tuple(shape), dims), x)


# Arrays whose elements are all one number.


@named("full")
def filled(value: ArrayLike, shape: Shape, dtype: DType | None = None) -> AnyTensor:
    """A new array whose every element is `value`."""
    sizes = sizes_of(shape)
    dtype = result_dtype((value,)) if dtype is None else dtype
    (number,) = promote((value,), dtype)
    return broadcast_to(number, TensorMeta.of(dtype, sizes).exact_shape())


def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """An array of the shape of x whose every element is `fill_value`.

    >>> tn.full_like([1, 2], 9)
    Tensor([9, 9])
    """
    (like,) = promote((x,))
    meta: TensorMeta = like.meta
    (element,) = promote((fill_value,), meta.dtype if dtype is None else as_dtype(dtype))
    return repeated("full_like", element, meta.extents)


def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """Zeros of the shape of x.

    >>> tn.zeros_like([1, 2])
    Tensor([0, 0])
    """
    return full_like(x, 0, dtype)


def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """Ones of the shape of x.

    >>> tn.ones_like([1, 2])
    Tensor([1, 1])
    """
    return full_like(x, 1, dtype)


def empty_like(x: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """An array of the shape of x; its elements are zeros, never uninitialized.

    >>> tn.empty_like([1, 2])
    Tensor([0, 0])
    """
    return zeros_like(x, dtype)
