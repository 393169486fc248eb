"""Reductions that are not linear: product, maximum, minimum."""

from __future__ import annotations

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V, chain
from tenferro.errors import ShapeError, UnsupportedDynamicShapeError
from tenferro.exec_ir import Array, payload
from tenferro.ops.arithmetic import ADD, DIV, MUL
from tenferro.ops.base import StdTensorOp, check_kind
from tenferro.ops.broadcast_reduce import BroadcastInDim, ReduceSum, full_like, reduced, zeros_like
from tenferro.ops.compare import REAL_KINDS, SELECT, Compare
from tenferro.ops.window import Concatenate, Slice
from tenferro.shape import TensorMeta, describe


@payload
class ReduceProd(StdTensorOp, name="reduce_prod"):
    """Product over `axes`, which leave the shape."""

    axes: tuple[int, ...]

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`."""
        check_kind(self.name, x, "iufc")
        return reduced(self.name, x, self.axes)

    def numpy(self, x: Array) -> Array:
        """`numpy.prod`, in the operand's dtype."""
        return np.asarray(np.prod(x, axis=self.axes, dtype=x.dtype))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The product rule along a tree of halves: right where factors are zero, to any order."""
        value, tangent = at.primal[0], at.tangent[0]
        assert tangent is not None
        for axis in sorted(self.axes, reverse=True):
            value, tangent = self._along(at, axis, value, tangent)
        return (tangent,)

    def _along(self, at: JvpSite[V], axis: int, value: V, tangent: V) -> tuple[V, V]:
        meta = at.ctx.meta(value)
        size = meta.exact_shape(self.name, "operand")[axis]
        if not isinstance(size, int):
            raise UnsupportedDynamicShapeError(
                self.name, f"operand[{axis}]", describe(meta.extents[axis])
            )
        while size > 1:
            half = size // 2
            a, b = (_window(at, value, axis, start, start + half) for start in (0, half))
            da, db = (_window(at, tangent, axis, start, start + half) for start in (0, half))
            values = [at.emit(MUL, a, b)]
            tangents = [at.emit(ADD, at.emit(MUL, da, b), at.emit(MUL, a, db))]
            if size % 2:
                values.append(_window(at, value, axis, size - 1, size))
                tangents.append(_window(at, tangent, axis, size - 1, size))
            value, tangent = (at.emit(Concatenate(axis), *parts) for parts in (values, tangents))
            size = half + size % 2
        if size == 0:
            return full_like(at.emitter, 1, at.emit(ReduceSum((axis,)), value)), at.emit(
                ReduceSum((axis,)), tangent
            )
        return at.emit(ReduceSum((axis,)), value), at.emit(ReduceSum((axis,)), tangent)


def _window(at: JvpSite[V], value: V, axis: int, start: int, limit: int) -> V:
    sizes = at.ctx.meta(value).exact_shape("reduce_prod", "operand")
    starts = tuple(start if i == axis else 0 for i in range(len(sizes)))
    limits = tuple(limit if i == axis else size for i, size in enumerate(sizes))
    return at.emit(Slice(starts, limits, (1,) * len(sizes)), value)


class ReduceExtremum(StdTensorOp):
    """Largest or smallest element: NaN wins; the derivative is the average over ties."""

    axes: tuple[int, ...]

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`."""
        check_kind(self.name, x, REAL_KINDS)
        result = reduced(self.name, x, self.axes)
        for axis in self.axes:
            if x.dims is not None and x.dims[axis] == 0:
                raise ShapeError(f"{self.name}: axis {axis} of {x} has no elements to choose from")
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The mean of the tangents where the operand is the result."""
        x, out = at.primal[0], at.out[0]
        shape = at.ctx.meta(x).exact_shape(self.name, "operand")
        kept = tuple(axis for axis in range(len(shape)) if axis not in self.axes)
        is_result = at.emit(Compare("EQ"), x, at.emit(BroadcastInDim(shape, kept), out))
        mask = at.emit(SELECT, is_result, full_like(at.emitter, 1, x), zeros_like(at.emitter, x))
        count = at.emit(ReduceSum(self.axes), mask)
        return chain(
            at, lambda t: at.emit(DIV, at.emit(ReduceSum(self.axes), at.emit(MUL, mask, t)), count)
        )


@payload
class ReduceMax(ReduceExtremum, name="reduce_max"):
    """Largest element over `axes`, which leave the shape."""

    axes: tuple[int, ...]

    def numpy(self, x: Array) -> Array:
        """`numpy.max`."""
        return np.asarray(np.max(x, axis=self.axes))


@payload
class ReduceMin(ReduceExtremum, name="reduce_min"):
    """Smallest element over `axes`, which leave the shape."""

    axes: tuple[int, ...]

    def numpy(self, x: Array) -> Array:
        """`numpy.min`."""
        return np.asarray(np.min(x, axis=self.axes))
