"""BroadcastInDim and ReduceSum, each the other's transpose; and values that are uniform.

`BroadcastInDim` needs exact sizes. Where data decide one, `DynamicBroadcastInDim` takes it from a
value that has it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from tenferro.chainrules import (
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    each_active,
    multilinear,
)
from tenferro.errors import AxisError, GraphError, ShapeError
from tenferro.exec_ir import Array, AxisMap, Conjugation, MaskSite, Resolution, payload
from tenferro.ops.base import (
    Reduction,
    StdTensorOp,
    check_axes,
    check_kind,
    inferred_once,
    reduced,
)
from tenferro.ops.constant import Constant, scalar
from tenferro.ops.shape_sources import extent_of, runtime_shape, size_at
from tenferro.shape import Dim, DType, Exact, TensorMeta, same_size


@payload
class BroadcastInDim(StdTensorOp, name="broadcast_in_dim"):
    """Repeat the operand along new axes: operand axis i becomes axis `dims[i]` of `shape`.

    An operand axis has the size of its target, or size 1 and is repeated.
    """

    shape: tuple[Dim, ...]
    dims: tuple[int, ...]

    moves = True
    repeats = True

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        """Axis i becomes axis `dims[i]`."""
        return (self.dims,)

    def trailing(self, size: int) -> BroadcastInDim:
        """The new axis goes along."""
        return BroadcastInDim((*self.shape, size), (*self.dims, len(self.shape)))

    def masked(self, at: MaskSite) -> None:
        """Padding is repeated along; an axis that is new, or was of size 1, has copies there."""
        carried = {self.dims[axis] for axis in at.padded(0)}
        own = at.padded_axes(at.result_metas[0]).keys() <= carried
        at.keep(at.operand(0), zeros=own and at.has_zeros(0))

    seen_through = True

    @inferred_once
    def infer(self, x: TensorMeta) -> TensorMeta:
        """`shape`, if the operand fits it."""
        if len(self.dims) != x.rank:
            raise AxisError(
                f"{self.name}: dims {self.dims} must name one axis for each axis of {x}"
            )
        result = TensorMeta.of(x.dtype, self.shape)
        check_axes(self.name, self.dims, len(self.shape), result)
        if list(self.dims) != sorted(self.dims):
            raise AxisError(f"{self.name}: dims {self.dims} must increase; transpose {x} first")
        for axis, (size, target) in enumerate(
            zip(x.exact_shape(self.name, "operand"), self.dims, strict=True)
        ):
            if size not in (1, self.shape[target]):
                raise ShapeError(
                    f"{self.name}: axis {axis} of {x} has size {size}, "
                    f"but axis {target} of the result {result} has size {self.shape[target]}"
                )
        return result

    def numpy(self, x: Array) -> Array:
        """Reshape, then repeat."""
        shape = [1] * len(self.shape)
        for axis, target in enumerate(self.dims):
            shape[target] = x.shape[axis]
        return np.broadcast_to(x.reshape(shape), self.shape)  # type: ignore[arg-type]  # sizes are bound

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Sum over the axes that were repeated, and put back those of size 1."""
        return each_active(at, lambda ct: sum_back(at, self.dims, ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a broadcast to the same shape; join two in a row."""
        (x,) = operands
        if at.ctx.meta(x).dims == self.shape:
            return x
        made = at.producer(x)
        if made is None or type(made[0]) is not BroadcastInDim:
            return None
        inner, (source,) = made
        return at.emit(BroadcastInDim(self.shape, tuple(self.dims[i] for i in inner.dims)), source)


@payload
class DynamicBroadcastInDim(StdTensorOp, name="dynamic_broadcast_in_dim"):
    """`BroadcastInDim` of the first operand to a shape that may speak of the sizes of the others.

    `dim(1, 0)` in `shape` is the size of axis 0 of operand 1. The further operands are read for
    their shapes alone.
    """

    shape: tuple[Dim, ...]
    dims: tuple[int, ...]

    n_inputs = None
    moves = True
    repeats = True
    follows_shapes = True
    seen_through = True

    def reads_shape_only(self, operand: int) -> bool:
        """The further operands are."""
        return operand > 0

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """`shape`, with the guarantees of the sizes that it speaks of."""
        if not metas:
            raise GraphError(f"{self.name}: takes at least one operand")
        x = metas[0]
        if len(self.dims) != x.rank:
            raise AxisError(
                f"{self.name}: dims {self.dims} must name one axis for each axis of {x}"
            )
        result = TensorMeta(x.dtype, [extent_of(self.name, size, metas) for size in self.shape])
        check_axes(self.name, self.dims, result.rank, result)
        if list(self.dims) != sorted(self.dims):
            raise AxisError(f"{self.name}: dims {self.dims} must increase; transpose {x} first")
        for axis, target in enumerate(self.dims):
            have, want = x.extents[axis], result.extents[target]
            if have != Exact(1) and not same_size(have, want):
                raise ShapeError(
                    f"{self.name}: axis {axis} of {x} does not have the size of axis {target} of "
                    f"the result {result}"
                )
        return result

    def numpy(self, x: Array, *sources: Array) -> Array:
        """`BroadcastInDim` to the sizes that the operands have."""
        return self._at([x.shape, *(source.shape for source in sources)]).numpy(x)

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, Array] | None = None
    ) -> Resolution:
        """The broadcast of the first operand."""
        return Resolution(self._at([meta.exact_shape(self.name) for meta in metas]), (0,))

    def _at(self, shapes: Sequence[tuple[Dim, ...]]) -> BroadcastInDim:
        return BroadcastInDim(tuple(size_at(size, shapes) for size in self.shape), self.dims)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in the first operand; the others are shapes."""
        tangent, *_ = at.tangent
        return (None if tangent is None else at.emit(self, tangent, *at.primal[1:]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Sum over the axes that were repeated, and put back those of size 1."""
        ct = at.ct[0]
        if ct is None or not at.active[0]:
            return (None,) * len(at.inputs)
        return (sum_back(at, self.dims, ct), *(None,) * (len(at.inputs) - 1))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """An ordinary broadcast where all sizes are exact; nothing where there is none."""
        metas = [at.ctx.meta(operand) for operand in operands]
        result = self.infer(*metas)
        if result.dims is not None:
            return at.emit(BroadcastInDim(result.dims, self.dims), operands[0])
        if metas[0].rank == result.rank and all(map(same_size, metas[0].extents, result.extents)):
            return operands[0]
        return None


@payload
class ReduceSum(Reduction, name="reduce_sum"):
    """Sum over `axes`, which leave the shape."""

    axes: tuple[int, ...]

    conjugation = Conjugation.ZERO_SIGNS
    componentwise = True

    def trailing(self, size: int) -> ReduceSum:
        """The same axes."""
        return self

    def neutral(self, dtype: DType) -> Array:
        """Zero."""
        return np.zeros((), dtype)

    @inferred_once
    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`."""
        check_kind(self.name, x, "iufc")
        return reduced(self.name, x, self.axes)

    def numpy(self, x: Array) -> Array:
        """`numpy.sum`, in the operand's dtype."""
        return np.asarray(np.add.reduce(x, axis=self.axes, dtype=x.dtype))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Repeat along `axes`."""
        meta = at.ctx.meta(at.inputs[0])
        dims = tuple(axis for axis in range(meta.rank) if axis not in self.axes)
        return each_active(at, lambda ct: broadcast_like(at.emitter, ct, meta, dims, self.name))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a sum over no axes; join two in a row."""
        (x,) = operands
        if not self.axes:
            return x
        made = at.producer(x)
        if made is None or type(made[0]) is not ReduceSum:
            return None
        inner, (source,) = made
        left = [axis for axis in range(at.ctx.meta(source).rank) if axis not in inner.axes]
        axes = sorted([*inner.axes, *(left[axis] for axis in self.axes)])
        return at.emit(ReduceSum(tuple(axes)), source)


def broadcast_like(
    at: Emitter[V], x: V, meta: TensorMeta, dims: Sequence[int], primitive: str
) -> V:
    """`x` repeated to the shape of `meta`: operand axis i becomes axis `dims[i]`.

    Sizes that data decide are taken from values that have them.

    Raises:
        UnsupportedDynamicShapeError: there is not such a value; names `primitive` and the axis.
    """
    if meta.dims is not None:
        return at.emit(_broadcast(meta.dims, tuple(dims)), x)
    shape, sources = runtime_shape(meta, primitive)
    return at.emit(DynamicBroadcastInDim(shape, tuple(dims)), x, *sources)


@functools.lru_cache(maxsize=4096)
def _broadcast(shape: tuple[Dim, ...], dims: tuple[int, ...]) -> BroadcastInDim:
    """The op, made once: derivatives are full of ones and zeros of few shapes."""
    return BroadcastInDim(shape, dims)


def sum_back(at: TransposeSite[V], dims: Sequence[int], ct: V) -> V:
    """The cotangent of what was repeated along `dims` of the shape of `ct`."""
    meta, wide = at.ctx.meta(at.inputs[0]), at.ctx.meta(ct)
    kept = {
        target: i
        for i, target in enumerate(dims)
        if same_size(meta.extents[i], wide.extents[target])
    }
    summed = tuple(axis for axis in range(wide.rank) if axis not in kept)
    total = at.emit(ReduceSum(summed), ct)
    return broadcast_like(at.emitter, total, meta, tuple(kept.values()), "broadcast_in_dim")


def may_repeat(at: Emitter[V], value: V) -> bool:
    """Whether a value is a constant or a broadcast: whether it can be a repeated scalar."""
    made = at.producer(value)
    return made is not None and type(made[0]) in (Constant, BroadcastInDim, DynamicBroadcastInDim)


def uniform(at: Emitter[V], value: V) -> Array | None:
    """The rank-0 array that every element of `value` is known to equal, or None."""
    made = at.producer(value)
    if made is not None and type(made[0]) in (BroadcastInDim, DynamicBroadcastInDim):
        made = at.producer(made[1][0])
    if made is None or type(made[0]) is not Constant or made[0].shape != ():
        return None
    return made[0].value  # type: ignore[no-any-return]


def scalar_source(at: Emitter[V], value: V) -> V | None:
    """The scalar of which `value` is made by repeating it, or None."""
    made = at.producer(value)
    if made is None or type(made[0]) is not BroadcastInDim or made[0].dims:
        return None
    return made[1][0]


def on_scalars(at: Emitter[V], op: StdTensorOp, operands: Sequence[V]) -> V | None:
    """An elementwise `op` computed once and then repeated, if all operands are repeated scalars."""
    sources: list[V] = []
    for operand in operands:
        source = scalar_source(at, operand)
        if source is None:
            return None
        sources.append(source)
    made = at.producer(operands[0])
    assert made is not None, "a repeated scalar has a producer"
    return at.emit(made[0], at.emit(op, *sources))


def full(at: Emitter[V], value: object, meta: TensorMeta, primitive: str = "full") -> V:
    """A value of type `meta` whose every element is `value`.

    Raises:
        UnsupportedDynamicShapeError: data decide an extent, and no value that has it is known;
            names `primitive`.
    """
    return broadcast_like(at, at.emit(scalar(value, meta.dtype)), meta, (), primitive)


def full_like(at: Emitter[V], value: object, like: V) -> V:
    """A value of the type of `like` whose every element is `value`."""
    return full(at, value, at.ctx.meta(like))


def zeros_like(at: Emitter[V], like: V) -> V:
    """Explicit zeros of the type of `like`."""
    return full_like(at, 0, like)
