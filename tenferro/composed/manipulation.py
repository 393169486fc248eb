"""Axes turned and rolled, blocks joined, shapes compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tenferro import namespace as tn
from tenferro.composed.arguments import array, promoted
from tenferro.errors import AxisError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Axis, DTypeLike, product
from tenferro.ops.functions import normal_axis
from tenferro.runtime import Tensor

__all__ = [
    "array_equiv",
    "block",
    "broadcast_shapes",
    "copy",
    "ediff1d",
    "frombuffer",
    "fromiter",
    "fromstring",
    "ndim",
    "rollaxis",
    "rot90",
    "size",
]


def rot90(x: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> AnyTensor:
    """x turned k times by 90 degrees in the plane of two axes, from the first to the second.

    >>> tn.rot90([[1, 2], [3, 4]])
    Tensor([[2, 4],
            [1, 3]])
    """
    a = array("rot90", x)
    if not isinstance(axes, tuple | list) or len(axes) != 2:
        raise AxisError(f"rot90: axes must be two integers, got {axes!r}")
    first, second = (normal_axis("rot90", axis, a.ndim) for axis in axes)
    if first == second:
        raise AxisError(f"rot90: axes {tuple(axes)} of {a.meta} must differ")
    match k % 4:
        case 0:
            return a  # type: ignore[no-any-return]
        case 1:
            return tn.swapaxes(tn.flip(a, second), first, second)
        case 2:
            return tn.flip(a, (first, second))
        case _:
            return tn.flip(tn.swapaxes(a, first, second), second)


def rollaxis(x: ArrayLike, axis: int, start: int = 0) -> AnyTensor:
    """x with `axis` moved to before the axis `start`; `tn.moveaxis` says it more clearly.

    >>> tn.rollaxis([[[1, 2, 3]]], 2).shape
    (3, 1, 1)
    """
    a = array("rollaxis", x)
    source = normal_axis("rollaxis", axis, a.ndim)
    last = isinstance(start, int) and start == a.ndim
    target = a.ndim if last else normal_axis("rollaxis", start, a.ndim)
    return tn.moveaxis(a, source, target - (source < target))


def block(arrays: Any) -> AnyTensor:
    """Nested lists of arrays as one array: the innermost lists are joined along the last axis.

    >>> tn.block([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]])
    """
    depth = _depth(arrays)
    rank = max([depth, *[array("block", leaf).ndim for leaf in _leaves(arrays)]])
    return _joined(arrays, depth, rank)  # type: ignore[no-any-return]


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(each) for each in arrays}
    if len(depths) != 1:
        raise ShapeError("block: lists must not be empty, and must have equal depths")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return (
        [leaf for each in arrays for leaf in _leaves(each)]
        if isinstance(arrays, list)
        else [arrays]
    )


def _joined(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        a = array("block", arrays)
        return a.reshape((*(1,) * (rank - a.ndim), *a.shape))
    return tn.concat([_joined(each, depth - 1, rank) for each in arrays], axis=-depth)


def ediff1d(
    x: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> AnyTensor:
    """Each element of the flattened array minus the one before it, between two other arrays.

    >>> tn.ediff1d([1, 4, 9], to_begin=0)
    Tensor([0, 3, 5])
    """
    flat = array("ediff1d", x).ravel()
    parts: list[Any] = [tn.diff(flat)]
    if to_begin is not None:
        parts.insert(0, tn.ravel(to_begin).astype(flat.dtype))
    if to_end is not None:
        parts.append(tn.ravel(to_end).astype(flat.dtype))
    return tn.concat(parts)


def array_equiv(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Whether x1 and x2 broadcast to one shape, and all elements are equal then.

    >>> tn.array_equiv([1, 1], 1)
    Tensor(True)
    """
    left, right = promoted("array_equiv", x1, x2)
    try:
        return tn.all(left == right)
    except ShapeError:
        return tn.asarray(False)


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape to which arrays of these shapes broadcast.

    >>> tn.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    sizes = [shape if isinstance(shape, tuple | list) else (shape,) for shape in shapes]
    rank = max([len(each) for each in sizes], default=0)
    result: list[Any] = []
    for axis in range(-rank, 0):
        wide = {each[axis] for each in sizes if len(each) >= -axis and each[axis] != 1}
        if len(wide) > 1:
            named = ", ".join(str(tuple(each)) for each in sizes)
            raise ShapeError(f"broadcast_shapes: {named} do not broadcast along axis {axis}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def copy(x: ArrayLike, order: str | None = None) -> AnyTensor:
    """x as a new array. `order` has no effect: elements are always in C order.

    >>> tn.copy([1, 2])
    Tensor([1, 2])
    """
    a = array("copy", x)
    return Tensor(np.array(a.numpy())) if type(a) is Tensor else a


def size(x: Any, axis: Axis = None) -> Any:
    """The number of elements; along `axis` if given.

    >>> tn.size([[1, 2], [3, 4]], 0)
    2
    """
    shape = x.shape if hasattr(x, "shape") else array("size", x).shape
    if axis is None:
        return product(shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    return product(shape[normal_axis("size", each, len(shape))] for each in axes)


def ndim(x: Any) -> int:
    """The number of axes.

    >>> tn.ndim([[1, 2], [3, 4]])
    2
    """
    return int(x.ndim if hasattr(x, "ndim") else array("ndim", x).ndim)


def frombuffer(
    buffer: Any, dtype: DTypeLike = "float64", count: int = -1, offset: int = 0
) -> AnyTensor:
    """A vector of the elements whose bytes a buffer holds, as `numpy.frombuffer`.

    >>> tn.frombuffer(bytes([1, 2]), "uint8")
    Tensor([1, 2], dtype=uint8)
    """
    try:
        return tn.asarray(np.frombuffer(buffer, dtype, count, offset))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"frombuffer: {error}") from None


def fromstring(
    string: str, dtype: DTypeLike = "float64", count: int = -1, *, sep: str
) -> AnyTensor:
    """A vector of the numbers in a text, between which `sep` stands.

    >>> tn.fromstring("1 2", sep=" ")
    Tensor([1., 2.])
    """
    try:
        return tn.asarray(np.array(string.split(sep)[: None if count < 0 else count], dtype))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"fromstring: {error}") from None


def fromiter(iterable: Iterable[Any], dtype: DTypeLike, count: int = -1) -> AnyTensor:
    """A vector of the numbers that an iterator gives.

    >>> tn.fromiter(range(3), "int32")
    Tensor([0, 1, 2], dtype=int32)
    """
    try:
        return tn.asarray(np.fromiter(iterable, dtype, count))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"fromiter: {error}") from None
