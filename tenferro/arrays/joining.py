"""Array functions that split, repeat and join arrays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tenferro.arrays.operands import Operand, broadcast, named, normal_axis, promote
from tenferro.arrays.operands import counts as counts_of
from tenferro.arrays.rearrange import concat, expand_dims, flip, ravel, reshape
from tenferro.arrays.windows import counted_from_front
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, ShapeError
from tenferro.ops import BroadcastInDim, Reshape, Slice, Transpose
from tenferro.shape import Dim, DimExpr, TensorMeta, maximum, minimum
from tenferro.typing import Axis, Integers


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
