"""BroadcastInDim and ReduceSum, each the other's transpose; and values that are uniform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V, each_active, multilinear
from tenferro.errors import AxisError, ShapeError
from tenferro.exec_ir import Array, payload
from tenferro.ops.base import StdTensorOp, check_axes, check_kind, keep_axes
from tenferro.ops.constant import Constant, scalar
from tenferro.shape import Dim, TensorMeta


@payload
class BroadcastInDim(StdTensorOp, name="broadcast_in_dim"):
    """Repeat the operand along new axes: operand axis i becomes axis `dims[i]` of `shape`.

    An operand axis has the size of its target, or size 1 and is repeated.
    """

    shape: tuple[Dim, ...]
    dims: tuple[int, ...]

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
        sizes = at.ctx.meta(at.inputs[0]).exact_shape(self.name, "operand")
        kept = {target: i for i, target in enumerate(self.dims) if sizes[i] == self.shape[target]}
        summed = tuple(axis for axis in range(len(self.shape)) if axis not in kept)

        def pull(ct: V) -> V:
            return at.emit(
                BroadcastInDim(sizes, tuple(kept.values())), at.emit(ReduceSum(summed), ct)
            )

        return each_active(at, pull)

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
class ReduceSum(StdTensorOp, name="reduce_sum"):
    """Sum over `axes`, which leave the shape."""

    axes: tuple[int, ...]

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`."""
        check_kind(self.name, x, "iufc")
        return reduced(self.name, x, self.axes)

    def numpy(self, x: Array) -> Array:
        """`numpy.sum`, in the operand's dtype."""
        return np.asarray(np.sum(x, axis=self.axes, dtype=x.dtype))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Repeat along `axes`."""
        shape = at.ctx.meta(at.inputs[0]).exact_shape(self.name, "operand")
        dims = tuple(axis for axis in range(len(shape)) if axis not in self.axes)
        return each_active(at, lambda ct: at.emit(BroadcastInDim(shape, dims), ct))

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


def reduced(name: str, x: TensorMeta, axes: Sequence[int]) -> TensorMeta:
    """The operand's type without `axes`."""
    check_axes(name, axes, x.rank, x)
    return keep_axes(x, [axis for axis in range(x.rank) if axis not in axes])


def may_repeat(at: Emitter[V], value: V) -> bool:
    """Whether a value is a constant or a broadcast: whether it can be a repeated scalar."""
    made = at.producer(value)
    return made is not None and type(made[0]) in (Constant, BroadcastInDim)


def uniform(at: Emitter[V], value: V) -> Array | None:
    """The rank-0 array that every element of `value` is known to equal, or None."""
    made = at.producer(value)
    if made is not None and type(made[0]) is BroadcastInDim:
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


def full(at: Emitter[V], value: object, meta: TensorMeta) -> V:
    """A value of type `meta` whose every element is `value`.

    Raises:
        UnsupportedDynamicShapeError: an extent is not exact.
    """
    constant = at.emit(scalar(value, meta.dtype))
    return at.emit(BroadcastInDim(meta.exact_shape("full"), ()), constant)


def full_like(at: Emitter[V], value: object, like: V) -> V:
    """A value of the type of `like` whose every element is `value`."""
    return full(at, value, at.ctx.meta(like))


def zeros_like(at: Emitter[V], like: V) -> V:
    """Explicit zeros of the type of `like`."""
    return full_like(at, 0, like)
