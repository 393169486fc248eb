"""Array functions that move, repeat, join or select elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tenferro.arrays.broadcasting import agree_off, assume_size, drop_axes
from tenferro.arrays.broadcasting import broadcast_to as expanded
from tenferro.arrays.operands import (
    Operand,
    as_value,
    called,
    fitting,
    is_number,
    normal_axes,
    normal_axis,
    promote,
)
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, ShapeError
from tenferro.ops import (
    Concatenate,
    ExtractDiag,
    Reshape,
    Reverse,
    Slice,
    Transpose,
    Tril,
    Triu,
    broadcast_like,
    scalar,
)
from tenferro.ops import Pad as PadOp
from tenferro.shape import (
    BOOL,
    Dim,
    DimExpr,
    DType,
    Exact,
    TensorMeta,
    assume_not_one,
    assume_positive,
    canonical,
    dim,
    floordiv,
    minimum,
    product,
    read_integer,
)
from tenferro.typing import Axis, Order, Shape, Size

PadWidth = Size | Sequence[Size] | Sequence[Sequence[Size]]


def permute_dims(at: Emitter[V], x: V, axes: Sequence[int] | None = None) -> V:
    """The axes of x in the order `axes`; reversed if None.

    >>> tn.permute_dims([[1, 2], [3, 4]], (1, 0))
    Tensor([[1, 3],
            [2, 4]])
    """
    rank = at.ctx.meta(x).rank
    if axes is None:
        return at.emit(Transpose(tuple(range(rank)[::-1])), x)
    order = axes if isinstance(axes, tuple | list) else tuple(np.ravel(axes))
    perm = tuple([normal_axis("permute_dims", axis, rank) for axis in order])
    if len(perm) != rank:
        raise AxisError(f"permute_dims: axes {perm} must name each axis of {at.ctx.meta(x)} once")
    return called(at, "permute_dims", Transpose(perm), x)


def matrix_transpose(at: Emitter[V], x: V) -> V:
    """The last two axes of x exchanged.

    >>> tn.matrix_transpose([[1, 2], [3, 4]])
    Tensor([[1, 3],
            [2, 4]])
    """
    rank = at.ctx.meta(x).rank
    if rank < 2:
        raise ShapeError(f"matrix_transpose: needs at least two axes, got {at.ctx.meta(x)}")
    return at.emit(Transpose((*range(rank - 2), rank - 1, rank - 2)), x)


def moveaxis(
    at: Emitter[V], x: V, source: int | Sequence[int], destination: int | Sequence[int]
) -> V:
    """The axes `source` moved to the positions `destination`; the other axes keep their order.

    >>> tn.moveaxis([[1, 2], [3, 4]], 0, 1)
    Tensor([[1, 3],
            [2, 4]])
    """
    rank = at.ctx.meta(x).rank
    starts, ends = (
        [normal_axis("moveaxis", axis, rank) for axis in _several(axes)]
        for axes in (source, destination)
    )
    if len(starts) != len(ends) or len(set(starts)) + len(set(ends)) != len(starts) + len(ends):
        raise AxisError(
            f"moveaxis: {source} and {destination} must name as many axes, each of them once"
        )
    order = [axis for axis in range(rank) if axis not in starts]
    for end, start in sorted(zip(ends, starts, strict=True)):
        order.insert(end, start)
    return at.emit(Transpose(tuple(order)), x)


def _several(axes: int | Sequence[int]) -> Sequence[int]:
    return axes if isinstance(axes, Sequence) else (axes,)


def reshape(
    at: Emitter[V], x: V, shape: Shape, *, order: Order = "C", copy: bool | None = None
) -> V:
    """The elements of x in another shape; a size of -1 is inferred. `order="F"` is column-major.

    An array cannot be changed, so that `copy` has no effect; it is that of the array API.

    >>> tn.reshape([1, 2, 3, 4], (2, -1))
    Tensor([[1, 2],
            [3, 4]])
    """
    sizes = sizes_of(shape)
    if at.ctx.meta(x).dims is None and _is_one_axis(at.ctx.meta(x), sizes):
        return expand_dims(at, x, [axis for axis, size in enumerate(sizes) if size == 1])
    target = _infer_size(at.ctx.meta(x), [dim(size) for size in sizes])
    x = _of_as_many(at, x, product(target))
    if order == "F":
        flipped = at.emit(Reshape(target[::-1]), permute_dims(at, x))
        return permute_dims(at, flipped)
    if order != "C":
        raise ShapeError(f"reshape: order must be 'C' or 'F', got {order!r}")
    return at.emit(Reshape(target), x)


def _is_one_axis(meta: TensorMeta, sizes: Sequence[object]) -> bool:
    """Whether a vector, whose size data decide, gets axes of size 1 beside its own."""
    return meta.rank == 1 and sorted(sizes, key=str) == [-1, *[1] * (len(sizes) - 1)]


def ravel(at: Emitter[V], x: V, *, order: Order = "C") -> V:
    """All elements of x along one axis.

    >>> tn.ravel([[1, 2], [3, 4]], order="F")
    Tensor([1, 3, 2, 4])
    """
    if at.ctx.meta(x).rank == 1 and order in ("C", "F"):
        return x
    return reshape(at, x, (-1,), order=order)


def flip(at: Emitter[V], x: V, axis: Axis = None) -> V:
    """The elements along `axis` (None: all axes) in reverse order.

    >>> tn.flip([1, 2, 3])
    Tensor([3, 2, 1])
    """
    return at.emit(Reverse(normal_axes("flip", axis, at.ctx.meta(x).rank)), x)


def expand_dims(at: Emitter[V], x: V, axis: int | Sequence[int] = 0) -> V:
    """x with new axes of size 1 at the positions `axis` of the result.

    >>> tn.expand_dims([1, 2], axis=1)
    Tensor([[1],
            [2]])
    """
    meta: TensorMeta = at.ctx.meta(x)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    new = normal_axes("expand_dims", axis, meta.rank + count)
    old_axes = tuple(i for i in range(meta.rank + count) if i not in new)
    extents = iter(meta.extents)
    wide = meta.with_extents(
        Exact(1) if i in new else next(extents) for i in range(meta.rank + count)
    )
    return broadcast_like(at, x, wide, old_axes, "expand_dims")


def squeeze(at: Emitter[V], x: V, axis: Axis = None) -> V:
    """x without the axes `axis`, whose size is 1; without all axes of size 1 if None.

    The result has as many axes for all sizes of a name. So with None a program refuses a run in
    which the size of a name is 1: name the axes.

    >>> tn.squeeze([[1, 2]])
    Tensor([1, 2])
    """
    meta: TensorMeta = at.ctx.meta(x)
    ones = [i for i, extent in enumerate(meta.extents) if extent == Exact(1)]
    axes = ones if axis is None else normal_axes("squeeze", axis, meta.rank)
    if axis is None:
        _assume_kept(meta)
    for i in axes:
        if meta.extents[i] != Exact(1):
            raise ShapeError(f"squeeze: axis {i} of {meta} has size {meta.extents[i]}, not 1")
    return drop_axes(at, x, axes)


def _assume_kept(meta: TensorMeta) -> None:
    """Assume that no axis of named size has size 1."""
    for i, extent in enumerate(meta.extents):
        if isinstance(extent, Exact) and isinstance(extent.dim, DimExpr):
            assume_not_one(
                extent.dim,
                f"squeeze: axis {i} of {meta} stays, so its size must not be 1; name the axes to "
                "drop with axis=",
            )


def broadcast_to(at: Emitter[V], x: Operand[V], shape: Shape) -> V:
    """x repeated to `shape`, axes aligned at the end.

    >>> tn.broadcast_to([1, 2], (2, 2))
    Tensor([[1, 2],
            [1, 2]])
    """
    (value,) = promote(at, (x,))
    return expanded(at, value, [dim(size) for size in sizes_of(shape)])


def concat(at: Emitter[V], *arrays: Operand[V], axis: int | None = 0) -> V:
    """The arrays one after another along `axis`; flattened first if None."""
    if not arrays:
        raise ShapeError("concat: needs at least one array")
    values = promote(at, arrays)
    if axis is None:
        values, axis = [ravel(at, value) for value in values], 0
    index = normal_axis("concat", axis, at.ctx.meta(values[0]).rank)
    return called(at, "concat", Concatenate(index), *agree_off(at, values, index))


def stack(at: Emitter[V], *arrays: Operand[V], axis: int = 0) -> V:
    """The arrays along a new axis."""
    if not arrays:
        raise ShapeError("stack: needs at least one array")
    values = promote(at, arrays)
    metas: list[TensorMeta] = [at.ctx.meta(value) for value in values]
    for meta in metas:
        sizes = (metas[0].static_shape, meta.static_shape)
        if meta.rank != metas[0].rank or (None not in sizes and sizes[0] != sizes[1]):
            raise ShapeError(f"stack: {metas[0]} and {meta} must have equal shapes")
    place = normal_axis("stack", axis, metas[0].rank + 1)
    return concat(at, *(expand_dims(at, value, place) for value in values), axis=place)


def tril(at: Emitter[V], x: V, k: int = 0) -> V:
    """The part of x on and below diagonal `k` of its last two axes.

    >>> tn.tril([[1, 2], [3, 4]])
    Tensor([[1, 0],
            [3, 4]])
    """
    return at.emit(Tril(read_integer("tril", "k", k)), x)


def triu(at: Emitter[V], x: V, k: int = 0) -> V:
    """The part of x on and above diagonal `k` of its last two axes.

    >>> tn.triu([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [0, 4]])
    """
    return at.emit(Triu(read_integer("triu", "k", k)), x)


def diagonal(at: Emitter[V], x: V, offset: int = 0, axis1: int = 0, axis2: int = 1) -> V:
    """The elements with index i along `axis1` and i + `offset` along `axis2`, along the last axis.

    >>> tn.diagonal([[1, 2], [3, 4]])
    Tensor([1, 4])
    >>> tn.diagonal([[1, 2, 3], [4, 5, 6]], offset=1)
    Tensor([2, 6])
    """
    meta: TensorMeta = at.ctx.meta(x)
    if meta.rank < 2:
        raise ShapeError(f"diagonal: needs at least two axes, got {meta}")
    offset = read_integer("diagonal", "offset", offset)
    rows, columns = normal_axes("diagonal", (axis1, axis2), meta.rank)
    if normal_axis("diagonal", axis1, meta.rank) != rows:
        offset = -offset
    sizes = meta.exact_shape("diagonal", "operand")
    if offset or sizes[rows] != sizes[columns]:
        x = _square(at, x, rows, columns, offset)
    return moveaxis(at, at.emit(ExtractDiag(rows, columns), x), rows, -1)


def _square(at: Emitter[V], x: V, rows: int, columns: int, offset: int) -> V:
    """The part of x whose main diagonal is the diagonal of x at `offset`."""
    sizes = at.ctx.meta(x).exact_shape("diagonal", "operand")
    m, n = sizes[rows], sizes[columns]
    top, left = minimum(max(-offset, 0), m), minimum(max(offset, 0), n)
    count = minimum(m - top, n - left)
    starts: list[Dim] = [0] * len(sizes)
    limits = list(sizes)
    starts[rows], limits[rows] = top, top + count
    starts[columns], limits[columns] = left, left + count
    return at.emit(Slice(tuple(starts), tuple(limits), (1,) * len(sizes)), x)


def pad(at: Emitter[V], x: V, *values: Operand[V], pad_width: PadWidth) -> V:
    """x with a border of zeros, of one number, or of one before and behind each axis."""
    meta: TensorMeta = at.ctx.meta(x)
    pairs = _pairs(pad_width, meta)
    numbers = [_border(at, value, meta.dtype) for value in values]
    for number in numbers:
        if at.ctx.meta(number).rank:
            raise ShapeError(f"pad: constant_values must be numbers, got {at.ctx.meta(number)}")
    if len(numbers) <= 1:
        value = numbers[0] if numbers else at.emit(scalar(0, meta.dtype))
        low, high = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        return at.emit(PadOp(low, high, (0,) * meta.rank), x, value)
    for place, number in enumerate(numbers):  # the borders of later axes have the corners
        axis, side = divmod(place, 2)
        widths: list[list[Dim]] = [[0] * meta.rank, [0] * meta.rank]
        widths[side][axis] = pairs[axis][side]
        x = at.emit(PadOp(tuple(widths[0]), tuple(widths[1]), (0,) * meta.rank), x, number)
    return x


def _border(at: Emitter[V], value: Operand[V], dtype: DType) -> V:
    """A number of a border as a value of the dtype of the array; 0 and 1 are bools, too."""
    if dtype == BOOL and is_number(value) and value in (0, 1):
        return as_value(at, value, dtype)
    return fitting(at, "pad", value, dtype)


def sizes_of(shape: object) -> list[Size]:
    """The sizes of a shape, which is one size or several; NumPy integers become Python integers.

    Raises:
        ShapeError: an item is not a size.
    """
    single = isinstance(shape, str) or getattr(shape, "ndim", None) == 0
    many: list[Any] = list(shape) if isinstance(shape, Iterable) and not single else [shape]
    return [size if isinstance(size, str) else dim(size) for size in many]


def _of_as_many(at: Emitter[V], x: V, count: Dim) -> V:
    """x, with its number of elements assumed to be `count` unless it certainly is or is not.

    To state the assumption, x is flattened.
    """
    dims = at.ctx.meta(x).dims
    if dims is None or product(dims) == count or canonical(product(dims), count) is None:
        return x
    return assume_size(at, at.emit(Reshape((product(dims),)), x), 0, count)


def _infer_size(meta: TensorMeta, sizes: list[Dim]) -> tuple[Dim, ...]:
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape: only one size of {tuple(sizes)} may be -1")
    if -1 not in sizes:
        return tuple(sizes)
    total = product(meta.exact_shape("reshape", "operand"))
    known = product(size for size in sizes if size != -1)
    if known == 0:
        raise ShapeError(
            f"reshape: -1 in {tuple(sizes)} is ambiguous, since the other sizes have product 0"
        )
    assume_positive(
        known, f"reshape: -1 in {tuple(sizes)} needs other sizes whose product is not 0"
    )
    if isinstance(total, int) and isinstance(known, int) and total % known:
        raise ShapeError(
            f"reshape: {meta} has {total} elements, which the other sizes of {tuple(sizes)} do "
            "not divide"
        )
    return tuple(floordiv(total, known) if size == -1 else size for size in sizes)


def _pairs(pad_width: PadWidth, meta: TensorMeta) -> list[tuple[Dim, Dim]]:
    """`pad_width` repeated to one pair for each axis, by NumPy's broadcasting."""
    try:
        pairs = np.broadcast_to(np.asarray(pad_width, dtype=object), (meta.rank, 2)).tolist()
    except ValueError:
        raise ShapeError(
            f"pad: {pad_width!r} does not give a pair of sizes for each axis of {meta}"
        ) from None
    return [(dim(before), dim(after)) for before, after in map(sizes_of, pairs)]
