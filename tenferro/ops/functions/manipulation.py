"""Reshape, move, join, split, repeat, pad."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from tenferro.errors import AxisError, ShapeError, counted
from tenferro.ir import (
    BOOL,
    INT64,
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Exact,
    Integers,
    Order,
    Shape,
    Size,
    TensorMeta,
    as_dtype,
    assume_not_one,
    assume_positive,
    canonical,
    dim,
    dtype_kind,
    floordiv,
    maximum,
    minimum,
    product,
    read_integer,
)
from tenferro.ops import (
    BroadcastInDim,
    Concatenate,
    DynamicSlice,
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
    scalar,
    size_of_scalar,
)
from tenferro.ops import Pad as PadOp
from tenferro.ops.functions.dispatch import KINDS, apply, array_function, broadcast_like, emit
from tenferro.ops.functions.elementwise import remainder, subtract
from tenferro.ops.functions.indexing import counted_from_front
from tenferro.ops.functions.promotion import (
    agree_off,
    array,
    as_value,
    assume_size,
    broadcast,
    called,
    convert,
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

__all__ = [
    "broadcast_to",
    "diagonal",
    "dynamic_truncate",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "pad_to_match",
    "permute_dims",
    "ravel",
    "reshape",
    "shape_of",
    "squeeze",
    "swapaxes",
    "tile",
    "tril",
    "triu",
]

# Array functions that move, repeat, join or select elements.

PadWidth = Size | Sequence[Size] | Sequence[Sequence[Size]]


@array_function
def permute_dims(a: ArrayLike, axes: Sequence[int] | None = None) -> AnyTensor:
    """The axes of `a` in the order `axes`; reversed if None.

    >>> tn.permute_dims([[1, 2], [3, 4]], (1, 0))
    Tensor([[1, 3],
            [2, 4]])
    """
    a = array(a)
    rank = a.meta.rank
    if axes is None:
        return emit(Transpose(tuple(range(rank)[::-1])), a)
    order = axes if isinstance(axes, tuple | list) else tuple(np.ravel(axes))
    perm = tuple([normal_axis("permute_dims", axis, rank) for axis in order])
    if len(perm) != rank:
        raise AxisError(f"permute_dims: axes {perm} must name each axis of {a.meta} once")
    return called("permute_dims", Transpose(perm), a)


@array_function
def matrix_transpose(x: ArrayLike) -> AnyTensor:
    """The last two axes of x exchanged.

    >>> tn.matrix_transpose([[1, 2], [3, 4]])
    Tensor([[1, 3],
            [2, 4]])
    """
    x = array(x)
    rank = x.meta.rank
    if rank < 2:
        raise ShapeError(f"matrix_transpose: needs at least two axes, got {x.meta}")
    return emit(Transpose((*range(rank - 2), rank - 1, rank - 2)), x)


@array_function
def moveaxis(
    a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]
) -> AnyTensor:
    """The axes `source` moved to the positions `destination`; the other axes keep their order.

    >>> tn.moveaxis([[1, 2], [3, 4]], 0, 1)
    Tensor([[1, 3],
            [2, 4]])
    """
    a = array(a)
    rank = a.meta.rank
    starts, ends = (
        [
            normal_axis("moveaxis", axis, rank)
            for axis in (axes if isinstance(axes, Sequence) else (axes,))
        ]
        for axes in (source, destination)
    )
    if len(starts) != len(ends) or len(set(starts)) + len(set(ends)) != len(starts) + len(ends):
        raise AxisError(
            f"moveaxis: {source} and {destination} must name as many axes, each of them once"
        )
    order = [axis for axis in range(rank) if axis not in starts]
    for end, start in sorted(zip(ends, starts, strict=True)):
        order.insert(end, start)
    return emit(Transpose(tuple(order)), a)


@array_function
def reshape(
    a: ArrayLike, shape: Shape, order: Order = "C", *, copy: bool | None = None
) -> AnyTensor:
    """The elements of `a` in another shape; a size of -1 is inferred. `order="F"` is column-major.

    An array cannot be changed, so that `copy` has no effect; it is that of the array API.

    >>> tn.reshape([1, 2, 3, 4], (2, -1))
    Tensor([[1, 2],
            [3, 4]])
    """
    a = array(a)
    sizes = sizes_of(shape)
    if a.meta.dims is None and a.meta.rank == 1:
        ones = [axis for axis, size in enumerate(sizes) if size == 1]
        if len(ones) == len(sizes) - 1 and -1 in sizes:  # a vector with further axes of size 1
            return expand_dims(a, ones)
    target = _infer_size(a.meta, [dim(size) for size in sizes])
    a = _of_as_many(a, product(target))
    if order == "F":
        flipped = emit(Reshape(target[::-1]), permute_dims(a))
        return permute_dims(flipped)
    if order != "C":
        raise ShapeError(f"reshape: order must be 'C' or 'F', got {order!r}")
    return emit(Reshape(target), a)


@array_function
def ravel(a: ArrayLike, order: Order = "C") -> AnyTensor:
    """All elements of `a` along one axis.

    >>> tn.ravel([[1, 2], [3, 4]], order="F")
    Tensor([1, 3, 2, 4])
    """
    a = array(a)
    if a.meta.rank == 1 and order in ("C", "F"):
        return a
    return reshape(a, (-1,), order=order)


@array_function
def flip(m: ArrayLike, axis: Axis = None) -> AnyTensor:
    """The elements along `axis` (None: all axes) in reverse order.

    >>> tn.flip([1, 2, 3])
    Tensor([3, 2, 1])
    """
    m = array(m)
    return emit(Reverse(normal_axes("flip", axis, m.meta.rank)), m)


@array_function
def expand_dims(a: ArrayLike, axis: int | Sequence[int] = 0) -> AnyTensor:
    """`a` with new axes of size 1 at the positions `axis` of the result.

    >>> tn.expand_dims([1, 2], axis=1)
    Tensor([[1],
            [2]])
    """
    a = array(a)
    meta: TensorMeta = a.meta
    count = len(axis) if isinstance(axis, tuple | list) else 1
    new = normal_axes("expand_dims", axis, meta.rank + count)
    old_axes = tuple(i for i in range(meta.rank + count) if i not in new)
    extents = iter(meta.extents)
    wide = meta.with_extents(
        Exact(1) if i in new else next(extents) for i in range(meta.rank + count)
    )
    return broadcast_like(a, wide, old_axes, "expand_dims")


@array_function
def squeeze(a: ArrayLike, axis: Axis = None) -> AnyTensor:
    """`a` without the axes `axis`, whose size is 1; without all axes of size 1 if None.

    The result has as many axes for all sizes of a name. So with None a program refuses a run in
    which the size of a name is 1: name the axes.

    >>> tn.squeeze([[1, 2]])
    Tensor([1, 2])
    """
    a = array(a)
    meta: TensorMeta = a.meta
    ones = [i for i, extent in enumerate(meta.extents) if extent == Exact(1)]
    axes = ones if axis is None else normal_axes("squeeze", axis, meta.rank)
    if axis is None:
        _assume_none_dropped(meta)
    for i in axes:
        if meta.extents[i] != Exact(1):
            raise ShapeError(f"squeeze: axis {i} of {meta} has size {meta.extents[i]}, not 1")
    return drop_axes(a, axes)


def _assume_none_dropped(meta: TensorMeta) -> None:
    """Assume that no axis of named size has size 1."""
    for i, extent in enumerate(meta.extents):
        if isinstance(extent, Exact) and isinstance(extent.dim, DimExpr):
            assume_not_one(
                extent.dim,
                f"squeeze: axis {i} of {meta} stays, so its size must not be 1; name the axes to "
                "drop with axis=",
            )


@array_function
def broadcast_to(array: ArrayLike, shape: Shape) -> AnyTensor:
    """`array` repeated to `shape`, axes aligned at the end.

    >>> tn.broadcast_to([1, 2], (2, 2))
    Tensor([[1, 2],
            [1, 2]])
    """
    (value,) = promote((array,))
    return expanded(value, [dim(size) for size in sizes_of(shape)])


def concat(*arrays: ArrayLike, axis: int | None = 0, dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays one after another along `axis`; flattened first if None."""
    if not arrays:
        raise ShapeError("concat: needs at least one array")
    values = promote(arrays, None if dtype is None else as_dtype(dtype))
    if axis is None:
        values, axis = [ravel(value) for value in values], 0
    index = normal_axis("concat", axis, values[0].meta.rank)
    return called("concat", Concatenate(index), *agree_off(values, index))


def stack(*arrays: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays along a new axis."""
    if not arrays:
        raise ShapeError("stack: needs at least one array")
    values = promote(arrays, None if dtype is None else as_dtype(dtype))
    metas: list[TensorMeta] = [value.meta for value in values]
    for meta in metas:
        sizes = (metas[0].static_shape, meta.static_shape)
        if meta.rank != metas[0].rank or (None not in sizes and sizes[0] != sizes[1]):
            raise ShapeError(f"stack: {metas[0]} and {meta} must have equal shapes")
    place = normal_axis("stack", axis, metas[0].rank + 1)
    return concat(*(expand_dims(value, place) for value in values), axis=place)


def from_entries(operand: Any) -> Any:
    """A list whose entries are traced, eager, or sizes as one array; other operands unchanged.

    A list of arrays and numbers only is for NumPy to read, and stays.
    """
    if not isinstance(operand, list | tuple) or not _any_recorded(operand):
        return operand
    return apply(entries, *map(from_entries, operand))


def entries(*values: ArrayLike) -> AnyTensor:
    """The entries of a list along a new axis; numbers have dtypes of their own, as in NumPy."""
    return stack(*map(array, values))


def _any_recorded(values: Iterable[Any]) -> bool:
    return any(
        _any_recorded(value)
        if isinstance(value, list | tuple)
        else type(value) in KINDS and KINDS[type(value)].precedence > 0
        for value in values
    )


@array_function
def tril(m: ArrayLike, k: int = 0) -> AnyTensor:
    """The part of `m` on and below diagonal `k` of its last two axes.

    >>> tn.tril([[1, 2], [3, 4]])
    Tensor([[1, 0],
            [3, 4]])
    """
    m = array(m)
    return emit(Tril(read_integer("tril", "k", k)), m)


@array_function
def triu(m: ArrayLike, k: int = 0) -> AnyTensor:
    """The part of `m` on and above diagonal `k` of its last two axes.

    >>> tn.triu([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [0, 4]])
    """
    m = array(m)
    return emit(Triu(read_integer("triu", "k", k)), m)


@array_function
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> AnyTensor:
    """The elements with index i along `axis1` and i + `offset` along `axis2`, along the last axis.

    >>> tn.diagonal([[1, 2], [3, 4]])
    Tensor([1, 4])
    >>> tn.diagonal([[1, 2, 3], [4, 5, 6]], offset=1)
    Tensor([2, 6])
    """
    a = array(a)
    meta: TensorMeta = a.meta
    if meta.rank < 2:
        raise ShapeError(f"diagonal: needs at least two axes, got {meta}")
    offset = read_integer("diagonal", "offset", offset)
    rows, columns = normal_axes("diagonal", (axis1, axis2), meta.rank)
    if normal_axis("diagonal", axis1, meta.rank) != rows:
        offset = -offset
    sizes = meta.exact_shape("diagonal", "operand")
    if offset or sizes[rows] != sizes[columns]:
        a = _square(a, rows, columns, offset)
    return moveaxis(emit(ExtractDiag(rows, columns), a), rows, -1)


def _square(x: AnyTensor, rows: int, columns: int, offset: int) -> AnyTensor:
    """The part of x whose main diagonal is the diagonal of x at `offset`."""
    sizes = x.meta.exact_shape("diagonal", "operand")
    m, n = sizes[rows], sizes[columns]
    top, left = minimum(max(-offset, 0), m), minimum(max(offset, 0), n)
    count = minimum(m - top, n - left)
    starts: list[Dim] = [0] * len(sizes)
    limits = list(sizes)
    starts[rows], limits[rows] = top, top + count
    starts[columns], limits[columns] = left, left + count
    return emit(Slice(tuple(starts), tuple(limits), (1,) * len(sizes)), x)


def pad(x: AnyTensor, *values: ArrayLike, pad_width: PadWidth) -> AnyTensor:
    """x with a border of zeros, of one number, or of one before and behind each axis."""
    meta: TensorMeta = x.meta
    pairs = _pairs(pad_width, meta)
    numbers = [_border(value, meta.dtype) for value in values]
    for number in numbers:
        if number.meta.rank:
            raise ShapeError(f"pad: constant_values must be numbers, got {number.meta}")
    if len(numbers) <= 1:
        value = numbers[0] if numbers else emit(scalar(0, meta.dtype))
        low, high = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        return emit(PadOp(low, high, (0,) * meta.rank), x, value)
    for place, number in enumerate(numbers):  # the borders of later axes have the corners
        axis, side = divmod(place, 2)
        widths: list[list[Dim]] = [[0] * meta.rank, [0] * meta.rank]
        widths[side][axis] = pairs[axis][side]
        x = emit(PadOp(tuple(widths[0]), tuple(widths[1]), (0,) * meta.rank), x, number)
    return x


def _border(value: ArrayLike, dtype: DType) -> AnyTensor:
    """A number of a border as a value of the dtype of the array; 0 and 1 are bools, too.

    A real number becomes an integer as in NumPy: it is cut off.
    """
    if dtype == BOOL and is_number(value) and value in (0, 1):
        return as_value(value, dtype)
    if dtype_kind(dtype) in "iu":
        meta = getattr(value, "meta", None)
        if isinstance(meta, TensorMeta) and dtype_kind(meta.dtype) == "f":
            return convert(cast(AnyTensor, value), dtype)
        if isinstance(value, float | np.floating) and np.isfinite(value):
            return as_value(int(value), dtype)
    return fitting("pad", value, dtype)


def sizes_of(shape: object) -> list[Size]:
    """The sizes of a shape, which is one size or several; NumPy integers become Python integers.

    Raises:
        ShapeError: an item is not a size.
    """
    single = isinstance(shape, str) or getattr(shape, "ndim", None) == 0
    many: list[Any] = list(shape) if isinstance(shape, Iterable) and not single else [shape]
    return [size if isinstance(size, str) else dim(size) for size in many]


def _of_as_many(x: AnyTensor, count: Dim) -> AnyTensor:
    """x, with its number of elements assumed to be `count` unless it certainly is or is not.

    To state the assumption, x is flattened.
    """
    dims = x.meta.dims
    if dims is None or product(dims) == count or canonical(product(dims), count) is None:
        return x
    return assume_size(emit(Reshape((product(dims),)), x), 0, count)


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
            f"reshape: {meta} has {counted(total, 'element')}, which the other sizes of "
            f"{tuple(sizes)} do not divide"
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


def window(x: AnyTensor, axis: int, start: Dim, stop: Dim) -> AnyTensor:
    """The elements from `start` up to `stop` along one axis."""
    sizes = list(x.meta.exact_shape("slice", "operand"))
    starts: list[Dim] = [0] * len(sizes)
    starts[axis], sizes[axis] = start, stop
    return emit(Slice(tuple(starts), tuple(sizes), (1,) * len(sizes)), x)


def piece(x: AnyTensor, axis: int, start: Dim, stop: Dim, drop: bool = False) -> AnyTensor:
    """A window, without its axis if `drop`."""
    part = window(x, axis, start, stop)
    if not drop:
        return part
    sizes = part.meta.exact_shape("unstack", "operand")
    return emit(Reshape(tuple(size for i, size in enumerate(sizes) if i != axis)), part)


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
def like_the_others(x: ArrayLike, *others: ArrayLike) -> AnyTensor:
    """x in the shape to which it and `others` broadcast."""
    values = [promote((operand,))[0] for operand in (x, *others)]
    return broadcast("broadcast_arrays", values)[0]


@array_function
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> AnyTensor:
    """Two axes exchanged.

    >>> tn.swapaxes([[1, 2], [3, 4]], 0, 1)
    Tensor([[1, 3],
            [2, 4]])
    """
    a = array(a)
    rank = a.meta.rank
    order = list(range(rank))
    i, j = (normal_axis("swapaxes", axis, rank) for axis in (axis1, axis2))
    order[i], order[j] = j, i
    return emit(Transpose(tuple(order)), a)


def repeat(x: AnyTensor, count: Dim, axis: int | None = None) -> AnyTensor:
    """Each element along `axis` repeated `count` times; of the flattened array if None."""
    if axis is None:
        x, axis = ravel(x), 0
    meta: TensorMeta = x.meta
    along = normal_axis("repeat", axis, meta.rank)
    sizes = meta.exact_shape("repeat", "operand")
    wide = (*sizes[: along + 1], count, *sizes[along + 1 :])
    old_axes = tuple(i for i in range(len(wide)) if i != along + 1)
    target = (*sizes[:along], sizes[along] * count, *sizes[along + 1 :])
    return emit(Reshape(target), emit(BroadcastInDim(wide, old_axes), x))


@array_function
def tile(A: ArrayLike, reps: Integers) -> AnyTensor:  # noqa: N803  # NumPy's name
    """`A` repeated as a whole `reps` times along each axis; axes align at the end.

    >>> tn.tile([1, 2], (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    x = array(A)
    counts = counts_of("tile", "the repetitions", reps)
    if any(isinstance(count, int) and count < 0 for count in counts):
        raise ShapeError(f"tile: repetitions must not be negative, got {tuple(counts)}")
    meta: TensorMeta = x.meta
    rank = max(meta.rank, len(counts))
    sizes = (*([1] * (rank - meta.rank)), *meta.exact_shape("tile", "operand"))
    counts = [*([1] * (rank - len(counts))), *counts]
    wide = tuple(size for pair in zip(counts, sizes, strict=True) for size in pair)
    old_axes = tuple(2 * i + 1 for i in range(rank - meta.rank, rank))
    target = tuple(count * size for count, size in zip(counts, sizes, strict=True))
    return emit(Reshape(target), emit(BroadcastInDim(wide, old_axes), x))


@array_function
def roll(a: ArrayLike, shift: Integers, axis: Axis = None) -> AnyTensor:
    """The elements shifted cyclically by `shift` places along `axis`; of the flat array if None.

    >>> tn.roll([1, 2, 3], 1)
    Tensor([3, 1, 2])
    """
    a = array(a)
    meta: TensorMeta = a.meta
    if axis is None:
        flat = roll(ravel(a), shift, 0)
        return reshape(flat, meta.exact_shape("roll", "operand"))
    for place, by in shifts_of(axis, counts_of("roll", "the shifts", shift)):
        a = _rolled(a, normal_axis("roll", place, meta.rank), by)
    return a


def shifts_of(axis: Axis, shifts: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs of an axis and a shift: one of them may be for all of the others.

    Raises:
        AxisError: their numbers differ.
    """
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise AxisError(
            f"roll: got {counted(len(shifts), 'shift')} for {counted(len(axes), 'axis', 'axes')}; "
            "pass one shift, or one for each axis"
        )
    count = max(len(shifts), len(axes)) if shifts and axes else 0
    return [(axes[i % len(axes)], shifts[i % len(shifts)]) for i in range(count)]


def _rolled(x: AnyTensor, axis: int, shift: Dim) -> AnyTensor:
    size = x.meta.exact_shape("roll", "operand")[axis]
    shift = shift % maximum(size, 1)
    if shift == 0:
        return x
    start = size - shift
    return concat(window(x, axis, start, size), window(x, axis, 0, start), axis=axis)


def rolled_by(x: AnyTensor, shift: AnyTensor, axis: int) -> AnyTensor:
    """The elements shifted cyclically by a scalar of int64 along an axis of known size.

    A window of two copies one after the other, which moves whole rows.
    """
    shape = x.meta.exact_shape("roll", "operand")
    start = subtract(shape[axis], remainder(shift, shape[axis]))
    zero = emit(scalar(0, INT64))
    starts = [start if i == axis else zero for i in range(len(shape))]
    return emit(DynamicSlice(shape), concat(x, x, axis=axis), *starts)


@array_function
def fliplr(m: ArrayLike) -> AnyTensor:
    """The elements along the second axis in the opposite order.

    >>> tn.fliplr([[1, 2], [3, 4]])
    Tensor([[2, 1],
            [4, 3]])
    """
    m = array(m)
    return flip(m, 1)


@array_function
def flipud(m: ArrayLike) -> AnyTensor:
    """The elements along the first axis in the opposite order.

    >>> tn.flipud([[1, 2], [3, 4]])
    Tensor([[3, 4],
            [1, 2]])
    """
    m = array(m)
    return flip(m, 0)


def at_least(x: ArrayLike, rank: int) -> AnyTensor:
    """x with new axes in front until it has `rank` axes; a third axis comes last, as in NumPy."""
    (value,) = promote((x,))
    x_rank = value.meta.rank
    if rank == 3 and x_rank in (1, 2):
        value = expand_dims(value, x_rank)
        x_rank += 1
    return expand_dims(value, tuple(range(rank - x_rank))) if x_rank < rank else value


def atleast_1d(x: ArrayLike) -> AnyTensor:
    """x with at least one axis."""
    return at_least(x, 1)


def atleast_2d(x: ArrayLike) -> AnyTensor:
    """x with at least two axes."""
    return at_least(x, 2)


def atleast_3d(x: ArrayLike) -> AnyTensor:
    """x with at least three axes."""
    return at_least(x, 3)


def hstack(*arrays: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays one after another along the second axis; vectors along the first."""
    values = [at_least(x, 1) for x in _at_least_one("hstack", arrays)]
    return concat(*values, axis=0 if values[0].meta.rank == 1 else 1, dtype=dtype)


def vstack(*arrays: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays one below another."""
    rows = [at_least(x, 2) for x in _at_least_one("vstack", arrays)]
    return concat(*rows, axis=0, dtype=dtype)


def dstack(*arrays: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays one behind another along the third axis."""
    layers = [at_least(x, 3) for x in _at_least_one("dstack", arrays)]
    return concat(*layers, axis=2, dtype=dtype)


def column_stack(*arrays: ArrayLike) -> AnyTensor:
    """The arrays side by side, vectors as columns."""
    columns = []
    for x in _at_least_one("column_stack", arrays):
        value = at_least(x, 1)
        columns.append(expand_dims(value, 1) if value.meta.rank == 1 else value)
    return concat(*columns, axis=1)


def _at_least_one(name: str, arrays: tuple[ArrayLike, ...]) -> tuple[ArrayLike, ...]:
    if not arrays:
        raise ShapeError(f"{name}: needs at least one array, got none")
    return arrays


# Array functions with data-dependent sizes.


@array_function
def shape_of(x: ArrayLike, axis: int = 0) -> AnyTensor:
    """The size of an axis as a value; for sizes that `x.shape` does not know while tracing.

    >>> tn.shape_of([[1, 2, 3], [4, 5, 6]], axis=1)
    Tensor(3)
    """
    (value,) = promote((x,))
    rank = value.meta.rank
    return emit(ShapeOf(normal_axis("shape_of", axis, rank)), value)


@array_function(operands=2)
def dynamic_truncate(x: ArrayLike, size: ArrayLike, axis: int = 0) -> AnyTensor:
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
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    index = normal_axis("dynamic_truncate", axis, meta.rank)
    if isinstance(size, DimExpr) or is_number(size):
        count: Dim = size if isinstance(size, DimExpr) else size_of_scalar(np.asarray(size))
        if meta.dims is not None:
            return _first(value, index, count)
    count_value = promote((size,))[0]
    return emit(DynamicTruncate(index), value, count_value)


@array_function(operands=2)
def pad_to_match(x: ArrayLike, reference: ArrayLike, axis: int = 0) -> AnyTensor:
    """x padded with zeros at the end of an axis, up to the size of that axis of `reference`.

    A larger x is returned unchanged. Only the shape of `reference` is read.

    >>> tn.pad_to_match([1, 2], [0, 0, 0, 0])
    Tensor([1, 2, 0, 0])
    """
    (value,), (like,) = promote((x,)), promote((reference,))
    index = normal_axis("pad_to_match", axis, value.meta.rank)
    return emit(PadToMatch(index), value, like)


def _first(x: AnyTensor, axis: int, count: Dim) -> AnyTensor:
    sizes = x.meta.exact_shape("dynamic_truncate", "operand")
    limits = [minimum(count, size) if i == axis else size for i, size in enumerate(sizes)]
    return emit(Slice((0,) * len(sizes), tuple(limits), (1,) * len(sizes)), x)
