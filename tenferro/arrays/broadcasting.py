"""Broadcasting of shapes by NumPy's rule: axes align at the end, size 1 is repeated.

Symbolic sizes of aligned axes are assumed equal unless they certainly differ. The assumption is an
op of the graph and is checked when the sizes are known. Data-dependent sizes must certainly be
equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules import Emitter, V
from tenferro.errors import ShapeError, UnsupportedDynamicShapeError
from tenferro.ops import (
    AssumeSize,
    BroadcastInDim,
    Convert,
    DotGeneral,
    ReduceSum,
    Reshape,
    broadcast_like,
)
from tenferro.shape import (
    BOOL,
    INT32,
    Dim,
    Exact,
    ShapeExtent,
    TensorMeta,
    canonical,
    describe,
    same_size,
    short_name,
)


def broadcast(at: Emitter[V], name: str, values: Sequence[V]) -> list[V]:
    """The values repeated to their common shape.

    Raises:
        ShapeError: two sizes differ and neither is 1; names the axis.
        UnsupportedDynamicShapeError: a size is data-dependent and may differ between the values.
    """
    metas: list[TensorMeta] = [at.ctx.meta(value) for value in values]
    dims = metas[0].dims
    if dims is not None and all(meta is metas[0] or meta.dims == dims for meta in metas):
        return list(values)
    extents = broadcast_extents(name, metas)
    return [repeated(at, name, value, extents) for value in values]


def broadcast_extents(name: str, metas: Sequence[TensorMeta]) -> tuple[ShapeExtent, ...]:
    """The extents of the common shape of operands."""
    rank = max(meta.rank for meta in metas)
    result: list[ShapeExtent] = []
    for axis in range(-rank, 0):
        result.append(Exact(1))
        for meta in metas:
            if meta.rank >= -axis:
                result[-1] = _aligned_extent(name, axis, result[-1], meta.extents[axis], metas)
    return tuple(result)


def common_batch(
    name: str, metas: Sequence[TensorMeta], given: Sequence[TensorMeta] | None = None
) -> tuple[ShapeExtent, ...]:
    """The common batch axes of matrices; `given` are the types that errors show, if they differ.

    Raises:
        ShapeError: the batch axes cannot be broadcast.
    """
    batches = [meta.with_extents(meta.extents[:-2]) for meta in metas]
    try:
        return broadcast_extents(name, batches)
    except UnsupportedDynamicShapeError:
        raise
    except ShapeError as error:
        types = " and ".join(map(str, given or metas))
        axes = " and ".join(str(meta)[len(short_name(meta.dtype)) :] for meta in batches)
        text = f"{name}: operands have types {types}; their batch axes {axes} do not broadcast"
        raise ShapeError(text) from error


def broadcast_shape(name: str, metas: Sequence[TensorMeta]) -> tuple[Dim, ...]:
    """The common shape of operands; all their sizes must be exact."""
    return TensorMeta(metas[0].dtype, broadcast_extents(name, metas)).exact_shape(name, "operand")


def broadcast_to(at: Emitter[V], value: V, shape: Sequence[Dim], name: str = "broadcast_to") -> V:
    """The value repeated to `shape`, axes aligned at the end.

    Raises:
        ShapeError: a size is neither 1 nor that of the result; `name` is the calling function.
    """
    meta: TensorMeta = at.ctx.meta(value)
    if meta.dims == tuple(shape):
        return value
    offset = len(shape) - meta.rank
    if offset < 0:
        result_meta = TensorMeta.of(meta.dtype, shape)
        raise ShapeError(f"{name}: {meta} has more axes than the result {result_meta}")
    for axis, extent in enumerate(meta.extents):
        size = shape[axis + offset]
        value = _with_assumed_size(at, value, axis, extent, Exact(size))
        current = at.ctx.meta(value).extents[axis]
        if isinstance(current, Exact) and current.dim not in (1, size):
            raise ShapeError(
                f"{name}: axis {axis} of {meta} has size {current}, but axis {axis + offset} of "
                f"the result {TensorMeta.of(meta.dtype, shape)} has size {size}"
            )
    if at.ctx.meta(value).dims == tuple(shape):
        return value
    return at.emit(BroadcastInDim(tuple(shape), tuple(range(offset, len(shape)))), value)


def repeated(at: Emitter[V], name: str, value: V, extents: Sequence[ShapeExtent]) -> V:
    """The value repeated to `extents`, a result of `broadcast_extents` or `common_batch`."""
    meta: TensorMeta = at.ctx.meta(value)
    offset = len(extents) - meta.rank
    for axis, extent in enumerate(meta.extents):
        value = _with_assumed_size(at, value, axis, extent, extents[axis + offset])
    meta = at.ctx.meta(value)
    if offset == 0 and all(map(same_size, meta.extents, extents)):
        return value
    wide = meta.with_extents(extents)
    return broadcast_like(at, value, wide, range(offset, len(extents)), name)


def drop_axes(at: Emitter[V], x: V, axes: Sequence[int]) -> V:
    """The value without `axes`, whose size is 1."""
    meta: TensorMeta = at.ctx.meta(x)
    if not axes:
        return x
    if meta.dims is not None:
        remaining = tuple(size for axis, size in enumerate(meta.dims) if axis not in axes)
        return at.emit(Reshape(remaining), x)
    if meta.dtype == BOOL:  # sum over the axes of size 1; that needs no exact sizes
        return at.emit(Convert(BOOL), drop_axes(at, at.emit(Convert(INT32), x), axes))
    return at.emit(ReduceSum(tuple(axes)), x)


def insert_axes(at: Emitter[V], x: V, axes: Sequence[int]) -> V:
    """The value with new axes of size 1 at the positions `axes` of the result."""
    meta: TensorMeta = at.ctx.meta(x)
    if not axes:
        return x
    rank = meta.rank + len(axes)
    old_axes = tuple(axis for axis in range(rank) if axis not in axes)
    if meta.dims is not None:
        shape: list[Dim] = [1] * rank
        for size, axis in zip(meta.dims, old_axes, strict=True):
            shape[axis] = size
        return at.emit(Reshape(tuple(shape)), x)
    extents: list[ShapeExtent] = [Exact(1)] * rank
    for extent, axis in zip(meta.extents, old_axes, strict=True):
        extents[axis] = extent
    return broadcast_like(at, x, meta.with_extents(extents), old_axes, "expand_dims")


def assume_size(at: Emitter[V], value: V, axis: int, size: Dim) -> V:
    """The value with the size of an axis assumed to be `size`; unchanged if it is that already."""
    extent = at.ctx.meta(value).extents[axis]
    return value if extent == Exact(size) else at.emit(AssumeSize(axis, size), value)


def _with_assumed_size(
    at: Emitter[V], value: V, axis: int, extent: ShapeExtent, target: ShapeExtent
) -> V:
    """The value with the size of an axis assumed to be `target`, if the two can be equal."""
    if extent == Exact(1) or not isinstance(extent, Exact) or not isinstance(target, Exact):
        return value
    may_be = canonical(extent.dim, target.dim) is not None
    return assume_size(at, value, axis, target.dim) if may_be else value


def agree(at: Emitter[V], x: V, x_axis: int, y: V, y_axis: int) -> tuple[V, V]:
    """Two values with the sizes of axis `x_axis` of x and `y_axis` of y assumed to be equal.

    If the sizes certainly differ, the values are unchanged: the op that matches the axes raises.
    """
    x_extent, y_extent = at.ctx.meta(x).extents[x_axis], at.ctx.meta(y).extents[y_axis]
    if not isinstance(x_extent, Exact) or not isinstance(y_extent, Exact):
        return x, y
    size = canonical(x_extent.dim, y_extent.dim)
    if size is None:
        return x, y
    return assume_size(at, x, x_axis, size), assume_size(at, y, y_axis, size)


def agree_off(at: Emitter[V], values: Sequence[V], axis: int) -> list[V]:
    """Values of equal rank whose sizes are assumed equal on every axis except `axis`."""
    result = list(values)
    shapes = {_without(at.ctx.meta(value).extents, axis) for value in result}
    if len(shapes) == 1:
        return result
    for i in range(at.ctx.meta(result[0]).rank):
        for _ in range(2):  # after one round, the first value has the common size
            for position in range(1, len(result)):
                same_rank = at.ctx.meta(result[position]).rank == at.ctx.meta(result[0]).rank
                if i != axis and same_rank:
                    result[0], result[position] = agree(at, result[0], i, result[position], i)
    return result


def _without(extents: Sequence[ShapeExtent], axis: int) -> tuple[ShapeExtent, ...]:
    return (*extents[:axis], *extents[axis + 1 :])


def matched(at: Emitter[V], dot: DotGeneral, lhs: V, rhs: V) -> tuple[V, V]:
    """The operands of a contraction with the sizes of matched axes assumed to be equal."""
    pairs = (
        *zip(dot.lhs_contract, dot.rhs_contract, strict=True),
        *zip(dot.lhs_batch, dot.rhs_batch, strict=True),
    )
    for i, j in pairs:
        lhs, rhs = agree(at, lhs, i, rhs, j)
    return lhs, rhs


def _aligned_extent(
    name: str, axis: int, a: ShapeExtent, b: ShapeExtent, metas: Sequence[TensorMeta]
) -> ShapeExtent:
    """The extent to which two aligned axes broadcast."""
    if b == Exact(1) or a is b or same_size(a, b):
        return a
    if a == Exact(1):
        return b
    if not isinstance(a, Exact) or not isinstance(b, Exact):
        inexact = a if isinstance(b, Exact) else b
        raise UnsupportedDynamicShapeError(name, f"operand[{axis}]", describe(inexact))
    size = canonical(a.dim, b.dim)
    if size is None:
        typed = " and ".join(str(meta) for meta in metas)
        raise ShapeError(
            f"{name}: operands have types {typed}; axis {axis} has sizes "
            f"{a} and {b}, which do not broadcast"
        )
    return Exact(size)
