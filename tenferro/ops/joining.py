"""Concatenate, whose transpose is a slice for each operand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V, jointly_linear
from tenferro.errors import DTypeError, GraphError, ShapeError, UnsupportedDynamicShapeError
from tenferro.exec_ir import Array, AxisMap, ExecOp, MaskSite, Order, payload
from tenferro.ops.base import (
    StdTensorOp,
    check_axes,
    check_same_shape,
    exact_meta,
    keep_axes,
    types,
)
from tenferro.ops.broadcast_reduce import zeros_like
from tenferro.ops.shape_sources import extent_of, size_in
from tenferro.ops.window import Slice
from tenferro.shape import Dim, Exact, InputDim, TensorMeta, describe, substitute, sum_of, symbol


@payload
class Concatenate(StdTensorOp, name="concatenate"):
    """The operands one after another along `axis`."""

    axis: int

    n_inputs = None
    moves = True
    derivative_needs_sizes = True

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        """Each axis stays."""
        return tuple(tuple(range(rank)) for rank in ranks)

    def permuted(self, orders: Sequence[Order]) -> tuple[ExecOp, Order] | None:
        """The concatenation along the position of `axis`, if all operands have one order."""
        order = orders[0]
        if any(next_order != order for next_order in orders):
            return None
        return Concatenate(order.index(self.axis)), order

    def leading(self, size: Dim) -> Concatenate:
        """The axis is counted one further."""
        return Concatenate(self.axis + 1)

    def trailing(self, size: int) -> Concatenate:
        """The same axis."""
        return self

    def masked(self, at: MaskSite) -> None:
        """Refused along a padded axis: its padding would come between elements."""
        metas = at.operand_metas
        for position, meta in enumerate(metas):
            if self.axis in at.padded(position):
                reason = f"axis {self.axis} of {meta} would be followed by its padding"
                raise at.refuse(reason, at.padded(position)[self.axis])
        places = range(len(metas))
        at.keep(*[at.operand(i) for i in places], zeros=all(at.has_zeros(i) for i in places))

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The operands' type, with the sizes along `axis` added."""
        if not metas:
            raise GraphError("concatenate: takes at least one operand")
        first = metas[0]
        check_axes(self.name, (self.axis,), first.rank, first)
        joined = self._constant(metas)
        if joined is not None:
            return joined
        text = f"operands {types(metas)} must agree off axis {self.axis}"
        off = keep_axes(first, [axis for axis in range(first.rank) if axis != self.axis])
        for meta in metas:
            if meta.dtype != first.dtype:
                raise DTypeError(
                    f"concatenate: operands have types {types(metas)}; convert them to one dtype"
                )
            if meta.rank != first.rank:
                raise ShapeError(f"concatenate: {text}")
            if meta is not first:
                other_axes = [axis for axis in range(meta.rank) if axis != self.axis]
                check_same_shape(self.name, off, keep_axes(meta, other_axes), text)
        joint = sum_of(symbol(InputDim(position, self.axis)) for position in range(len(metas)))
        extents = list(first.extents)
        extents[self.axis] = extent_of(self.name, joint, metas)
        return exact_meta(first.dtype, extents)

    def _constant(self, metas: Sequence[TensorMeta]) -> TensorMeta | None:
        """The type for operands of fitting constant shapes; None if they are not.

        There may be thousands.
        """
        first, axis = metas[0], self.axis
        shape, total = first.static_shape, 0
        for meta in metas:
            other = meta.static_shape
            if shape is None or other is None or meta.dtype != first.dtype:
                return None
            if (*other[:axis], *other[axis + 1 :]) != (*shape[:axis], *shape[axis + 1 :]):
                return None
            total += other[axis]
        assert shape is not None
        return TensorMeta.of(first.dtype, (*shape[:axis], total, *shape[axis + 1 :]))

    def numpy(self, *arrays: Array) -> Array:
        """`numpy.concatenate`."""
        return np.concatenate(arrays, axis=self.axis)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in all operands together."""
        return jointly_linear(at, self, lambda operand: zeros_like(at.emitter, operand))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Each operand's piece of the cotangent."""
        ct = at.ct[0]
        assert ct is not None
        rank = at.ctx.meta(ct).rank
        pieces: list[V | None] = []
        offset: Dim = 0
        for operand, active in zip(at.inputs, at.active, strict=True):
            extent = at.ctx.meta(operand).extents[self.axis]
            if not isinstance(extent, Exact):
                field = f"operand[{self.axis}]"
                raise UnsupportedDynamicShapeError(self.name, field, describe(extent))
            starts: list[Dim] = [0] * rank
            limits: list[Dim] = [symbol(InputDim(0, axis)) for axis in range(rank)]
            starts[self.axis], limits[self.axis] = offset, offset + extent.dim
            offset = offset + extent.dim
            sizes = [substitute(size, size_in(at.ctx.meta(ct))) for size in limits]
            window = Slice(tuple(starts), tuple(sizes), (1,) * rank)
            pieces.append(at.emit(window, ct) if active else None)
        return tuple(pieces)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The operand, if there is only one."""
        return operands[0] if len(operands) == 1 else None
