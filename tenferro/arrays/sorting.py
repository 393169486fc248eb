"""Sorting, indices of extrema, and selection along an axis."""

from __future__ import annotations

from tenferro.arrays.bounds import fill_of, within
from tenferro.arrays.broadcasting import broadcast_to
from tenferro.arrays.elementwise import remainder, where
from tenferro.arrays.indexing import from_the_front, size_value
from tenferro.arrays.joining import window
from tenferro.arrays.operands import Operand, normal_axis, promote
from tenferro.arrays.rearrange import ravel
from tenferro.chainrules import Emitter, V
from tenferro.errors import DTypeError, ShapeError
from tenferro.ops import (
    SUB,
    ArgMax,
    ArgMin,
    Reverse,
    Sort,
    broadcast_like,
    gather_along,
    scalar,
)
from tenferro.shape import INT64, Exact, TensorMeta, integer_of, is_integer, refuse_traced


def sort(
    at: Emitter[V],
    x: Operand[V],
    axis: int = -1,
    *,
    descending: bool = False,
    stable: bool = True,
) -> V:
    """The elements of x along `axis` in ascending or descending order. NaN counts as the largest.

    Sorting is always stable.

    >>> tn.sort([3.0, 1.0, 2.0])
    Tensor([1., 2., 3.])
    """
    (value,) = promote(at, (x,))
    place = normal_axis("sort", axis, at.ctx.meta(value).rank)
    if not descending:
        return at.emit_all(Sort(place), value)[0]
    flip = Reverse((place,))
    return at.emit(flip, at.emit_all(Sort(place), at.emit(flip, value))[0])


def argsort(
    at: Emitter[V],
    x: Operand[V],
    axis: int = -1,
    *,
    descending: bool = False,
    stable: bool = True,
) -> V:
    """The indices that sort x along `axis`; equal elements keep their order.

    >>> tn.argsort([3.0, 1.0, 2.0], descending=True)
    Tensor([0, 2, 1])
    """
    (value,) = promote(at, (x,))
    place = normal_axis("argsort", axis, at.ctx.meta(value).rank)
    if not descending:
        return at.emit_all(Sort(place), value)[1]
    flip = Reverse((place,))
    places = at.emit(flip, at.emit_all(Sort(place), at.emit(flip, value))[1])
    last = at.emit(SUB, size_value(at, value, place), at.emit(scalar(1, INT64)))
    return at.emit(SUB, broadcast_like(at, last, at.ctx.meta(places), (), "argsort"), places)


def top_places(at: Emitter[V], x: Operand[V], k: int) -> V:
    """The indices of the k largest elements along the last axis, the largest first."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    extent = meta.extents[-1] if meta.rank else Exact(0)
    limit = extent.dim if isinstance(extent, Exact) else None
    refuse_traced("top_k", "k", k)
    count = integer_of(k)
    if count is None or count < 0:
        raise ShapeError(f"top_k: k must be a number of elements, got {k!r}")
    k = count
    if meta.rank == 0 or (isinstance(limit, int) and k > limit):
        raise ShapeError(f"top_k: {meta} does not have {k} elements along its last axis")
    return window(at, argsort(at, value, descending=True), meta.rank - 1, 0, k)


def argmax(at: Emitter[V], x: Operand[V], axis: int | None = None, *, keepdims: bool = False) -> V:
    """The index of the largest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the largest.

    >>> tn.argmax([3.0, 1.0, 3.0])
    Tensor(0)
    """
    return _place(at, "argmax", ArgMax, x, axis, keepdims)


def argmin(at: Emitter[V], x: Operand[V], axis: int | None = None, *, keepdims: bool = False) -> V:
    """The index of the smallest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the smallest.

    >>> tn.argmin([3.0, 1.0, 3.0])
    Tensor(1)
    """
    return _place(at, "argmin", ArgMin, x, axis, keepdims)


def _place(
    at: Emitter[V],
    name: str,
    op: type[ArgMax] | type[ArgMin],
    x: Operand[V],
    axis: int | None,
    keepdims: bool,
) -> V:
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if axis is None:
        place = at.emit(op(0), ravel(at, value))
        remaining: list[int] = []
    else:
        along = normal_axis(name, axis, meta.rank)
        place = at.emit(op(along), value)
        remaining = [i for i in range(meta.rank) if i != along]
    if not keepdims:
        return place
    extents = [meta.extents[i] if i in remaining else Exact(1) for i in range(meta.rank)]
    return broadcast_like(at, place, TensorMeta(INT64, extents), remaining, name)


def take_along_axis(
    at: Emitter[V],
    x: V,
    indices: V,
    axis: int = -1,
    mode: str | None = None,
    fill_value: bool | complex | None = None,
) -> V:
    """The elements of x at `indices` along `axis`; the other axes of the two are matched.

    Out of bounds, `mode` is one of "clip", "wrap" and "fill"; the nearest element if None.
    """
    meta, indices_meta = at.ctx.meta(x), at.ctx.meta(indices)
    along = normal_axis("take_along_axis", axis, meta.rank)
    if not is_integer(indices_meta.dtype):
        raise DTypeError(f"take_along_axis: indices must be integers, got {indices_meta}")
    if meta.rank != indices_meta.rank:
        raise ShapeError(
            f"take_along_axis: indices {indices_meta} must have as many axes as {meta}; "
            "insert axes of size 1"
        )
    shapes = [list(m.exact_shape("take_along_axis", "operand")) for m in (meta, indices_meta)]
    for i in range(meta.rank):
        if i != along:
            ones = [shape[i] == 1 for shape in shapes]
            shapes[0][i] = shapes[1][i] = shapes[1][i] if ones[0] else shapes[0][i]
    places = from_the_front(at, x, indices, along)
    if mode == "wrap":
        places = remainder(at, indices, size_value(at, x, along))
    whole, wide = broadcast_to(at, x, shapes[0]), broadcast_to(at, places, shapes[1])
    taken = gather_along(at, whole, wide, along, unique=False)
    if mode != "fill":
        return taken
    inside = within(at, wide, size_value(at, x, along))
    value = fill_of(meta.dtype) if fill_value is None else fill_value
    return where(at, inside, taken, value)
