"""reshape, broadcast, pad, concatenate, iota."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.errors import AxisError, DTypeError, ShapeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Dim,
    DTypeLike,
    Shape,
    Size,
    TensorMeta,
    as_dtype,
    dim,
    dtype_kind,
)
from tenferro.lax.arguments import (
    LAX,
    Config,
    along,
    axes_of,
    matched,
    same_dtype,
    sizes_of,
    tuple_of,
)
from tenferro.numpy import creation
from tenferro.numpy.manipulation import several
from tenferro.ops import BroadcastInDim, Concatenate, Iota, Pad, Reshape, Reverse, Slice, Transpose
from tenferro.ops.functions import apply, array_function, called, emit, manipulation, repeated
from tenferro.transforms import create

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "collapse",
    "concatenate",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "index_in_dim",
    "iota",
    "pad",
    "reshape",
    "rev",
    "slice",
    "slice_in_dim",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]


# Functions that move, repeat, join and cut.


@array_function(module=LAX)
def transpose(operand: ArrayLike, permutation: Sequence[int]) -> AnyTensor:
    """The operand with its axes in another order.

    >>> tn.lax.transpose(np.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    (value,) = matched("transpose", [operand])
    rank = value.meta.rank
    axes = axes_of("transpose", permutation, rank)
    if len(axes) != rank:
        raise AxisError(
            f"transpose: the permutation {tuple(axes)} must name each axis of {value.meta}"
        )
    return called("transpose", Transpose(axes), value)


@array_function(module=LAX)
def reshape(
    operand: ArrayLike, new_sizes: Shape, dimensions: Sequence[int] | None = None
) -> AnyTensor:
    """The elements in another shape; its axes are first put in the order `dimensions`.

    >>> tn.lax.reshape(np.arange(6), (3, 2)).shape
    (3, 2)
    """
    (value,) = matched("reshape", [operand])
    if dimensions is not None:
        axes = axes_of("reshape", dimensions, value.meta.rank)
        value = called("reshape", Transpose(axes), value)
    sizes = tuple(dim(size) for size in manipulation.sizes_of(new_sizes))
    return called("reshape", Reshape(sizes), value)


@array_function(module=LAX)
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> AnyTensor:
    """The elements in the opposite order along some axes.

    >>> tn.lax.rev(np.arange(3), (0,))
    Tensor([2, 1, 0])
    """
    (value,) = matched("rev", [operand])
    axes = axes_of("rev", dimensions, value.meta.rank)
    return called("rev", Reverse(axes), value)


@array_function(module=LAX)
def broadcast_in_dim(
    operand: ArrayLike, shape: Shape, broadcast_dimensions: Sequence[int]
) -> AnyTensor:
    """The operand repeated to a shape; its axis i is axis `broadcast_dimensions[i]` of it.

    >>> tn.lax.broadcast_in_dim(np.array([1, 2]), (2, 3), (0,))
    Tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    (value,) = matched("broadcast_in_dim", [operand])
    sizes = tuple(dim(size) for size in manipulation.sizes_of(shape))
    axes = axes_of("broadcast_in_dim", broadcast_dimensions, len(sizes))
    if sorted(axes) != list(axes) and len(axes) == value.meta.rank:
        order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
        value, axes = called("broadcast_in_dim", Transpose(order), value), tuple(sorted(axes))
    return called("broadcast_in_dim", BroadcastInDim(sizes, axes), value)


@array_function(module=LAX)
def broadcast(operand: ArrayLike, sizes: Shape) -> AnyTensor:
    """The operand repeated along new axes in front.

    >>> tn.lax.broadcast(np.array([1, 2]), (2,))
    Tensor([[1, 2],
            [1, 2]])
    """
    (value,) = matched("broadcast", [operand])
    own = value.meta.exact_shape("broadcast", "operand")
    front = [dim(size) for size in manipulation.sizes_of(sizes)]
    return manipulation.broadcast_to(value, (*front, *own))


@array_function(operands=2, module=LAX)
def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> AnyTensor:
    """The operand repeated to the shape of another.

    >>> tn.lax.broadcast_like(2.0, np.ones(2))
    Tensor([2., 2.])
    """
    (value,), (like,) = matched("broadcast_like", [arr]), matched("", [like_arr])
    return repeated("broadcast_like", value, like.meta.extents)


@array_function(module=LAX)
def broadcast_to_rank(x: ArrayLike, rank: int) -> AnyTensor:
    """The operand with axes of size 1 in front.

    >>> tn.lax.broadcast_to_rank(np.ones(2), 2).shape
    (1, 2)
    """
    (value,) = matched("broadcast_to_rank", [x])
    meta: TensorMeta = value.meta
    if rank < meta.rank:
        raise AxisError(f"broadcast_to_rank: {meta} has more axes than {rank}")
    return manipulation.expand_dims(value, tuple(range(rank - meta.rank)))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast.

    Raises:
        ShapeError: they do not.

    >>> tn.lax.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    try:
        return np.broadcast_shapes(*map(tuple, shapes))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"broadcast_shapes: {shapes}: {error}") from None


@array_function(module=LAX)
def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> AnyTensor:
    """The operand with new axes of size 1.

    >>> tn.lax.expand_dims(np.ones(2), (0,)).shape
    (1, 2)
    """
    (value,) = matched("expand_dims", [array])
    return manipulation.expand_dims(value, tuple(dimensions))


@array_function(module=LAX)
def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> AnyTensor:
    """The operand without some axes of size 1.

    >>> tn.lax.squeeze(np.ones((1, 2)), (0,)).shape
    (2,)
    """
    (value,) = matched("squeeze", [array])
    return manipulation.squeeze(value, tuple(dimensions))


@array_function(module=LAX)
def collapse(
    operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None
) -> AnyTensor:
    """The operand with the axes from one up to another as one.

    >>> tn.lax.collapse(np.ones((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    (value,) = matched("collapse", [operand])
    sizes = value.meta.exact_shape("collapse", "operand")
    start, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(len(sizes))
    if stop <= start:
        raise AxisError(f"collapse: there are no axes from {start_dimension} to {stop_dimension}")
    return called(
        "collapse",
        Reshape((*sizes[:start], math.prod(sizes[start:stop]), *sizes[stop:])), value,
    )  # fmt: skip


@array_function(operands=2, module=LAX)
def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Config) -> AnyTensor:
    """The operand with copies of a number around and between its elements.

    Args:
        operand: the array.
        padding_value: a scalar of its dtype.
        padding_config: for each axis how many come before, after, and between neighbours; numbers
            before and after may be negative, to cut off elements.

    >>> tn.lax.pad(np.array([1.0, 2.0]), 0.0, [(1, 0, 1)])
    Tensor([0., 1., 0., 2.])
    """
    value, number = same_dtype("pad", [operand, padding_value])
    meta: TensorMeta = value.meta
    if not isinstance(padding_config, Sequence | np.ndarray) or len(padding_config) != meta.rank:
        raise AxisError(
            f"pad: padding_config must be one (low, high, interior) for each axis of {meta}, "
            f"got {padding_config!r}"
        )
    rows = [sizes_of("pad", "(low, high, interior)", row, 3) for row in padding_config]
    low, high, interior = zip(*rows, strict=True) if rows else ((), (), ())
    return called("pad", Pad(low, high, interior), value, number)


def concatenate(operands: Sequence[ArrayLike], dimension: int) -> AnyTensor:
    """The arrays, of one dtype, one after another along an axis.

    >>> tn.lax.concatenate([np.array([1, 2]), np.array([3])], 0)
    Tensor([1, 2, 3])
    """
    return apply(_concatenate, *_arrays("concatenate", operands), axis=dimension)


def _arrays(name: str, operands: Sequence[ArrayLike]) -> list[ArrayLike]:
    arrays = list(several(name, operands))
    if not arrays:
        raise ShapeError(f"{name}: needs at least one array")
    return arrays


def _concatenate(*arrays: ArrayLike, axis: int) -> AnyTensor:
    values = same_dtype("concatenate", arrays)
    place = along("concatenate", axis, values[0].meta.rank)
    return called("concatenate", Concatenate(place), *values)


_concatenate.__name__ = "concatenate"


def _whole(rank: int) -> tuple[Any, ...]:
    return (builtins.slice(None),) * rank


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> AnyTensor:
    """The arrays, of one shape, one after another along a new axis.

    >>> tn.lax.stack([np.array([1, 2]), np.array([3, 4])])
    Tensor([[1, 2],
            [3, 4]])
    """
    return apply(manipulation.stack, *_arrays("stack", operands), axis=axis)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[AnyTensor, ...]:
    """The parts of x along an axis, without the axis.

    >>> tn.lax.unstack(np.array([1, 2]))
    (Tensor(1), Tensor(2))
    """
    array = creation.asarray(x)
    place = along("unstack", axis, array.ndim)
    count = array.shape[place]
    if not isinstance(count, int):
        raise ShapeError(f"unstack: axis {axis} of {array.meta} has a symbolic size")
    return tuple(array[(*_whole(place), i)] for i in range(count))


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[AnyTensor]:
    """Parts of given sizes along an axis.

    Raises:
        ShapeError: the sizes do not add up to that of the axis.

    >>> tn.lax.split(np.arange(3), [1, 2])
    [Tensor([0]), Tensor([1, 2])]
    """
    array = creation.asarray(operand)
    place = along("split", axis, array.ndim)
    counts = tuple_of("split", "sizes", sizes, len(sizes), 0)
    if sum(counts) != array.shape[place]:
        raise ShapeError(f"split: sizes {counts} do not add up to axis {axis} of {array.meta}")
    whole = _whole(place)
    stops = np.cumsum(counts).tolist()
    return [
        array[(*whole, builtins.slice(stop - count, stop))]
        for stop, count in zip(stops, counts, strict=True)
    ]


@array_function(module=LAX)
def tile(operand: ArrayLike, reps: Sequence[int]) -> AnyTensor:
    """The operand repeated as a whole along each axis.

    >>> tn.lax.tile(np.array([1, 2]), (2,))
    Tensor([1, 2, 1, 2])
    """
    (value,) = matched("tile", [operand])
    return manipulation.tile(value, tuple(reps))


@array_function(module=LAX)
def slice(
    operand: ArrayLike,
    start_indices: Sequence[Size],
    limit_indices: Sequence[Size],
    strides: Sequence[int] | None = None,
) -> AnyTensor:
    """The elements from a start up to a limit along each axis, every element or each nth.

    >>> tn.lax.slice(np.arange(9), (1,), (8,), (2,))
    Tensor([1, 3, 5, 7])
    """
    (value,) = matched("slice", [operand])
    steps = tuple_of("slice", "strides", strides, value.meta.rank, 1)
    starts, limits = (
        tuple(dim(size) for size in manipulation.sizes_of(sizes))
        for sizes in (start_indices, limit_indices)
    )
    return called("slice", Slice(starts, limits, steps), value)


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> AnyTensor:
    """The elements from a start up to a limit along one axis; negative ones count from the end.

    >>> tn.lax.slice_in_dim(np.arange(9), -3, None)
    Tensor([6, 7, 8])
    """
    array = creation.asarray(operand)
    place = along("slice_in_dim", axis, array.ndim)
    if stride < 1:
        raise AxisError(f"slice_in_dim: the stride must be positive, got {stride}")
    return array[
        (*(builtins.slice(None),) * place, builtins.slice(start_index, limit_index, stride))
    ]


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> AnyTensor:
    """The part of the operand at one index along an axis, of size 1 there if `keepdims`.

    >>> tn.lax.index_in_dim(np.arange(9), -3)
    Tensor([6])
    """
    array = creation.asarray(operand)
    place = along("index_in_dim", axis, array.ndim)
    part = array[(*_whole(place), index)]
    return manipulation.expand_dims(part, axis=place) if keepdims else part


# New arrays.


def full(shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """A new array whose every element is `fill_value`.

    >>> tn.lax.full((2,), 7)
    Tensor([7, 7])
    """
    return creation.full(shape, fill_value, dtype)


def full_like(
    x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None
) -> AnyTensor:
    """An array of the shape and the dtype of x, unless others are given, full of one number.

    >>> tn.lax.full_like(np.array([1, 2]), 9)
    Tensor([9, 9])
    """
    array = creation.asarray(x)
    return creation.full(
        array.shape if shape is None else shape, fill_value, array.dtype if dtype is None else dtype
    )


def empty(shape: Shape, dtype: DTypeLike) -> AnyTensor:
    """A new array of zeros, never uninitialized.

    >>> tn.lax.empty((2,), "float64")
    Tensor([0., 0.])
    """
    return creation.zeros(shape, dtype)


def iota(dtype: DTypeLike, size: Size) -> AnyTensor:
    """0, 1, 2, … along one axis of `size`, which may be a name in a traced program.

    >>> tn.lax.iota("int32", 3)
    Tensor([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: DTypeLike, shape: Shape, dimension: int) -> AnyTensor:
    """0, 1, 2, … along one axis of a new array.

    >>> tn.lax.broadcasted_iota("int64", (2, 3), 1)
    Tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    sizes: list[Dim] = [dim(size) for size in manipulation.sizes_of(shape)]
    element = as_dtype(dtype)
    if dtype_kind(element) not in "iufc":
        raise DTypeError(f"iota: counts in numbers, not in {element}")
    place = along("broadcasted_iota", dimension, len(sizes))
    return create(_counted, 0, shape=tuple(sizes), dtype=element, place=place)


def _counted(start: ArrayLike, shape: Shape, dtype: DTypeLike, place: int) -> AnyTensor:
    sizes = tuple(dim(size) for size in manipulation.sizes_of(shape))
    numbers = emit(Iota(as_dtype(dtype), sizes[place]))
    return numbers if len(sizes) == 1 else emit(BroadcastInDim(sizes, (place,)), numbers)


_counted.__name__ = "iota"
