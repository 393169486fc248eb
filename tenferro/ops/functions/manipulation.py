"""Reshape, move, join, split, repeat, pad."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tenferro.core import Emitter, V
from tenferro.errors import AxisError, ShapeError
from tenferro.ir import (
    BOOL,
    Axis,
    Dim,
    DimExpr,
    DType,
    Exact,
    Integers,
    Order,
    Shape,
    Size,
    TensorMeta,
    assume_not_one,
    assume_positive,
    canonical,
    dim,
    floordiv,
    maximum,
    minimum,
    product,
    read_integer,
)
from tenferro.ops import (
    BroadcastInDim,
    Concatenate,
    DynamicTruncate,
    ExtractDiag,
    PadToMatch,
    Reshape,
    Reverse,
    ShapeOf,
    Slice,
    Transpose,
    Tril,
    Triu,
    broadcast_like,
    scalar,
    size_of_scalar,
)
from tenferro.ops import Pad as PadOp
from tenferro.ops.functions.indexing import counted_from_front
from tenferro.ops.functions.promotion import (
    Operand,
    agree_off,
    as_value,
    assume_size,
    broadcast,
    called,
    drop_axes,
    fitting,
    is_number,
    named,
    normal_axes,
    normal_axis,
    promote,
)
from tenferro.ops.functions.promotion import broadcast_to as expanded
from tenferro.ops.functions.promotion import counts as counts_of

# Array functions that move, repeat, join or select elements.

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


# Array functions that split, repeat and join arrays.


def window(at: Emitter[V], x: V, axis: int, start: Dim, stop: Dim) -> V:
    """The elements from `start` up to `stop` along one axis."""
    sizes = list(at.ctx.meta(x).exact_shape("slice", "operand"))
    starts: list[Dim] = [0] * len(sizes)
    starts[axis], sizes[axis] = start, stop
    return at.emit(Slice(tuple(starts), tuple(sizes), (1,) * len(sizes)), x)


def piece(at: Emitter[V], x: V, axis: int, start: Dim, stop: Dim, drop: bool = False) -> V:
    """A window, without its axis if `drop`."""
    part = window(at, x, axis, start, stop)
    if not drop:
        return part
    sizes = at.ctx.meta(part).exact_shape("unstack", "operand")
    return at.emit(Reshape(tuple(size for i, size in enumerate(sizes) if i != axis)), part)


def windows(
    name: str, meta: TensorMeta, axis: int, cuts: Integers | None
) -> tuple[int, list[tuple[Dim, Dim]]]:
    """The axis that is cut, counted from the front; and where each part starts and stops.

    `cuts` is the number of parts or the positions between them; None makes a part of each element.
    """
    along = normal_axis(name, axis, meta.rank)
    size = meta.exact_shape(name, "operand")[along]
    numbers = [] if cuts is None else counts_of(name, "the number of parts, or the places,", cuts)
    if np.ndim(cuts) == 0:  # type: ignore[arg-type]  # of None it is 0
        count = None if cuts is None else numbers[0]
        if isinstance(count, DimExpr):
            raise ShapeError(f"{name}: the number of parts must be a constant, got {count}")
        return along, list(pairwise(_even_cuts(name, meta, along, size, count)))
    ends = [maximum(minimum(counted_from_front(cut, size), size), 0) for cut in (*numbers, size)]
    return along, [(start, maximum(start, stop)) for start, stop in pairwise([0, *ends])]


def _even_cuts(name: str, meta: TensorMeta, axis: int, size: Dim, count: int | None) -> list[Dim]:
    if not isinstance(size, int):
        raise ShapeError(
            f"{name}: axis {axis} of {meta} has a symbolic size; pass the positions of the cuts"
        )
    parts = size if count is None else count
    if parts < 1 and count is not None:
        raise ShapeError(f"{name}: the number of parts must be positive, got {parts}")
    if parts and size % parts and name != "array_split":
        raise ShapeError(f"{name}: axis {axis} of {meta} cannot be cut into {parts} equal parts")
    return [i * (size // parts) + min(i, size % parts) for i in range(parts + 1)] if parts else [0]


@named("broadcast_arrays")
def like_the_others(at: Emitter[V], x: Operand[V], *others: Operand[V]) -> V:
    """x in the shape to which it and `others` broadcast."""
    values = [promote(at, (operand,))[0] for operand in (x, *others)]
    return broadcast(at, "broadcast_arrays", values)[0]


def swapaxes(at: Emitter[V], x: V, axis1: int, axis2: int) -> V:
    """Two axes exchanged.

    >>> tn.swapaxes([[1, 2], [3, 4]], 0, 1)
    Tensor([[1, 3],
            [2, 4]])
    """
    rank = at.ctx.meta(x).rank
    order = list(range(rank))
    i, j = (normal_axis("swapaxes", axis, rank) for axis in (axis1, axis2))
    order[i], order[j] = j, i
    return at.emit(Transpose(tuple(order)), x)


def repeat(at: Emitter[V], x: V, count: Dim, axis: int | None = None) -> V:
    """Each element along `axis` repeated `count` times; of the flattened array if None."""
    if axis is None:
        x, axis = ravel(at, x), 0
    meta: TensorMeta = at.ctx.meta(x)
    along = normal_axis("repeat", axis, meta.rank)
    sizes = meta.exact_shape("repeat", "operand")
    wide = (*sizes[: along + 1], count, *sizes[along + 1 :])
    old_axes = tuple(i for i in range(len(wide)) if i != along + 1)
    target = (*sizes[:along], sizes[along] * count, *sizes[along + 1 :])
    return at.emit(Reshape(target), at.emit(BroadcastInDim(wide, old_axes), x))


def tile(at: Emitter[V], x: V, reps: Integers) -> V:
    """x repeated as a whole `reps` times along each axis; axes align at the end.

    >>> tn.tile([1, 2], (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = counts_of("tile", "the repetitions", reps)
    if any(isinstance(count, int) and count < 0 for count in counts):
        raise ShapeError(f"tile: repetitions must not be negative, got {tuple(counts)}")
    meta: TensorMeta = at.ctx.meta(x)
    rank = max(meta.rank, len(counts))
    sizes = (*([1] * (rank - meta.rank)), *meta.exact_shape("tile", "operand"))
    counts = [*([1] * (rank - len(counts))), *counts]
    wide = tuple(size for pair in zip(counts, sizes, strict=True) for size in pair)
    old_axes = tuple(2 * i + 1 for i in range(rank - meta.rank, rank))
    target = tuple(count * size for count, size in zip(counts, sizes, strict=True))
    return at.emit(Reshape(target), at.emit(BroadcastInDim(wide, old_axes), x))


def roll(at: Emitter[V], x: V, shift: Integers, axis: Axis = None) -> V:
    """The elements shifted cyclically by `shift` places along `axis`; of the flat array if None.

    >>> tn.roll([1, 2, 3], 1)
    Tensor([3, 1, 2])
    """
    meta: TensorMeta = at.ctx.meta(x)
    if axis is None:
        flat = roll(at, ravel(at, x), shift, 0)
        return reshape(at, flat, meta.exact_shape("roll", "operand"))
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    shifts = counts_of("roll", "the shifts", shift)
    if len(shifts) not in (1, len(axes)):
        raise AxisError(
            f"roll: got {len(shifts)} shifts for {len(axes)} axes; pass one shift, or one for each "
            "axis"
        )
    for i in range(len(axes)):
        along = normal_axis("roll", axes[i], meta.rank)
        x = _rolled(at, x, along, shifts[i % len(shifts)])
    return x


def _rolled(at: Emitter[V], x: V, axis: int, shift: Dim) -> V:
    size = at.ctx.meta(x).exact_shape("roll", "operand")[axis]
    shift = shift % maximum(size, 1)
    if shift == 0:
        return x
    start = size - shift
    return concat(at, window(at, x, axis, start, size), window(at, x, axis, 0, start), axis=axis)


def fliplr(at: Emitter[V], x: V) -> V:
    """The elements along the second axis in the opposite order.

    >>> tn.fliplr([[1, 2], [3, 4]])
    Tensor([[2, 1],
            [4, 3]])
    """
    return flip(at, x, 1)


def flipud(at: Emitter[V], x: V) -> V:
    """The elements along the first axis in the opposite order.

    >>> tn.flipud([[1, 2], [3, 4]])
    Tensor([[3, 4],
            [1, 2]])
    """
    return flip(at, x, 0)


def at_least(at: Emitter[V], x: Operand[V], rank: int) -> V:
    """x with new axes in front until it has `rank` axes; a third axis comes last, as in NumPy."""
    (value,) = promote(at, (x,))
    x_rank = at.ctx.meta(value).rank
    if rank == 3 and x_rank in (1, 2):
        value = expand_dims(at, value, x_rank)
        x_rank += 1
    return expand_dims(at, value, tuple(range(rank - x_rank))) if x_rank < rank else value


def atleast_1d(at: Emitter[V], x: Operand[V]) -> V:
    """x with at least one axis."""
    return at_least(at, x, 1)


def atleast_2d(at: Emitter[V], x: Operand[V]) -> V:
    """x with at least two axes."""
    return at_least(at, x, 2)


def atleast_3d(at: Emitter[V], x: Operand[V]) -> V:
    """x with at least three axes."""
    return at_least(at, x, 3)


def hstack(at: Emitter[V], *arrays: Operand[V]) -> V:
    """The arrays one after another along the second axis; vectors along the first."""
    values = [at_least(at, x, 1) for x in _at_least_one("hstack", arrays)]
    return concat(at, *values, axis=0 if at.ctx.meta(values[0]).rank == 1 else 1)


def vstack(at: Emitter[V], *arrays: Operand[V]) -> V:
    """The arrays one below another."""
    return concat(at, *(at_least(at, x, 2) for x in _at_least_one("vstack", arrays)), axis=0)


def dstack(at: Emitter[V], *arrays: Operand[V]) -> V:
    """The arrays one behind another along the third axis."""
    return concat(at, *(at_least(at, x, 3) for x in _at_least_one("dstack", arrays)), axis=2)


def column_stack(at: Emitter[V], *arrays: Operand[V]) -> V:
    """The arrays side by side, vectors as columns."""
    columns = []
    for x in _at_least_one("column_stack", arrays):
        value = at_least(at, x, 1)
        columns.append(expand_dims(at, value, 1) if at.ctx.meta(value).rank == 1 else value)
    return concat(at, *columns, axis=1)


def _at_least_one(name: str, arrays: tuple[Operand[V], ...]) -> tuple[Operand[V], ...]:
    if not arrays:
        raise ShapeError(f"{name}: needs at least one array, got none")
    return arrays


# Array functions with data-dependent sizes.


def shape_of(at: Emitter[V], x: Operand[V], axis: int = 0) -> V:
    """The size of an axis as a value; for sizes that `x.shape` does not know while tracing.

    >>> tn.shape_of([[1, 2, 3], [4, 5, 6]], axis=1)
    Tensor(3)
    """
    (value,) = promote(at, (x,))
    rank = at.ctx.meta(value).rank
    return at.emit(ShapeOf(normal_axis("shape_of", axis, rank)), value)


def dynamic_truncate(at: Emitter[V], x: Operand[V], size: Operand[V], axis: int = 0) -> V:
    """The first `size` elements along an axis; `size` may be a computed value.

    `size` is rounded, half away from zero, and clamped between 0 and the size of the axis. While
    tracing, the size of the result is an upper bound unless `size` is known. Derivatives treat
    `size` as constant.

    Raises:
        RuntimeSizeError: the size is NaN or infinite.

    >>> scores = [0.9, 0.7, 0.2, 0.1]
    >>> tn.dynamic_truncate(scores, tn.sum(tn.array(scores) > 0.5))
    Tensor([0.9, 0.7])
    """
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    index = normal_axis("dynamic_truncate", axis, meta.rank)
    if isinstance(size, DimExpr) or is_number(size):
        count: Dim = size if isinstance(size, DimExpr) else size_of_scalar(np.asarray(size))
        if meta.dims is not None:
            return _first(at, value, index, count)
    count_value = promote(at, (size,))[0]
    return at.emit(DynamicTruncate(index), value, count_value)


def pad_to_match(at: Emitter[V], x: Operand[V], reference: Operand[V], axis: int = 0) -> V:
    """x padded with zeros at the end of an axis, up to the size of that axis of `reference`.

    A larger x is returned unchanged. Only the shape of `reference` is read.

    >>> tn.pad_to_match([1, 2], [0, 0, 0, 0])
    Tensor([1, 2, 0, 0])
    """
    (value,), (like,) = promote(at, (x,)), promote(at, (reference,))
    index = normal_axis("pad_to_match", axis, at.ctx.meta(value).rank)
    return at.emit(PadToMatch(index), value, like)


def _first(at: Emitter[V], x: V, axis: int, count: Dim) -> V:
    sizes = at.ctx.meta(x).exact_shape("dynamic_truncate", "operand")
    limits = [minimum(count, size) if i == axis else size for i, size in enumerate(sizes)]
    return at.emit(Slice((0,) * len(sizes), tuple(limits), (1,) * len(sizes)), x)
