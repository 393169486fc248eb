"""Cumulative sums and products along an axis, and linear recurrences, their derivatives.

A `reverse` scan runs from the end of the axis to its start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tenferro.chainrules import (
    JvpSite,
    Slots,
    TransposeSite,
    V,
    add_terms,
    chain,
    each_active,
    multilinear,
)
from tenferro.exec_ir import Array, AxisMap, ExecOp, MaskSite, Order, payload
from tenferro.ops.arithmetic import MUL, conj
from tenferro.ops.base import StdTensorOp, check_axes, check_kind, same_type
from tenferro.ops.broadcast_reduce import full
from tenferro.ops.window import Pad
from tenferro.shape import Dim, DType, TensorMeta

NUMBERS = "iufc"


class Cumulative(StdTensorOp):
    """An op that combines, at each position of `axis`, the elements up to and including it."""

    axis: int
    reverse: bool

    def neutral(self, dtype: DType) -> Array:
        """The neutral element, as a rank-0 array."""
        raise AssertionError(f"{self.name}: has no neutral element")

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        """Each axis stays."""
        return (tuple(range(ranks[0])),)

    def permuted(self, orders: Sequence[Order]) -> tuple[ExecOp, Order]:
        """The scan along the position of `axis`."""
        (order,) = orders
        return replace(self, axis=order.index(self.axis)), order  # type: ignore[type-var]  # every op is a dataclass

    def leading(self, size: Dim) -> Cumulative:
        """The axis is counted one further."""
        return replace(self, axis=self.axis + 1)  # type: ignore[type-var]  # every op is a dataclass

    def masked(self, at: MaskSite) -> None:
        """Forward, padding comes after the elements; backward, it becomes the neutral element."""
        mixed = self.reverse and self.axis in at.padded(0)
        fill = self.neutral(at.operand_metas[0].dtype)
        at.keep(at.filled(0, fill) if mixed else at.operand(0))


@payload
class CumulativeSum(Cumulative, name="cumulative_sum"):
    """At each position of `axis`, the sum of the elements up to and including it."""

    axis: int
    reverse: bool = False

    def neutral(self, dtype: DType) -> Array:
        """Zero."""
        return np.zeros((), dtype)

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type."""
        check_kind(self.name, x, NUMBERS)
        check_axes(self.name, (self.axis,), x.rank, x)
        return x

    def numpy(self, x: Array) -> Array:
        """`numpy.cumsum`, in the operand's dtype."""
        return _directed(self, lambda x: np.cumsum(x, axis=self.axis, dtype=x.dtype), x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cumulative sum in the other direction."""
        return each_active(at, lambda ct: at.emit(CumulativeSum(self.axis, not self.reverse), ct))


@payload
class CumulativeProd(Cumulative, name="cumulative_prod"):
    """At each position of `axis`, the product of the elements up to and including it."""

    axis: int
    reverse: bool = False

    def neutral(self, dtype: DType) -> Array:
        """One."""
        return np.ones((), dtype)

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type."""
        check_kind(self.name, x, NUMBERS)
        check_axes(self.name, (self.axis,), x.rank, x)
        return x

    def numpy(self, x: Array) -> Array:
        """`numpy.cumprod`, in the operand's dtype."""
        return _directed(self, lambda x: np.cumprod(x, axis=self.axis, dtype=x.dtype), x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The product rule y'ᵢ = xᵢ·y'ᵢ₋₁ + yᵢ₋₁·dxᵢ; correct for factors of zero."""
        recurrence = LinearRecurrence(self.axis, self.reverse)
        before = _shifted(at, at.out[0], self.axis, 1 if self.reverse else -1, fill=1)
        return chain(at, lambda t: at.emit(recurrence, at.primal[0], at.emit(MUL, before, t)))


@payload
class LinearRecurrence(StdTensorOp, name="linear_recurrence"):
    """h with hᵢ = aᵢ·hᵢ₋₁ + bᵢ along `axis`, and h₀ = b₀."""

    axis: int
    reverse: bool = False

    n_inputs = 2

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The operands' common type."""
        result = same_type(self.name, metas, NUMBERS)
        check_axes(self.name, (self.axis,), result.rank, result)
        return result

    def leading(self, size: Dim) -> LinearRecurrence:
        """The axis is counted one further."""
        return LinearRecurrence(self.axis + 1, self.reverse)

    def numpy(self, a: Array, b: Array) -> Array:
        """One step for each position of the axis."""
        return _directed(self, self._forward, a, b)

    def _forward(self, a: Array, b: Array) -> Array:
        factors, result = np.moveaxis(a, self.axis, 0), np.moveaxis(b, self.axis, 0).copy()
        for i in range(1, len(result)):
            result[i] += factors[i] * result[i - 1]
        return np.moveaxis(result, 0, self.axis)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The same recurrence, on hᵢ₋₁·daᵢ + dbᵢ."""
        da, added = at.tangent
        if da is not None:
            before = _shifted(at, at.out[0], self.axis, 1 if self.reverse else -1)
            added = add_terms(at.emitter, [at.emit(MUL, before, da), added])
        return (None if added is None else at.emit(self, at.primal[0], added),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The recurrence in the other direction with factors moved by one; only b is active."""
        a = at.inputs[0]

        def pull(ct: V) -> V:
            factors = _shifted(at, conj(at.emitter, a), self.axis, -1 if self.reverse else 1)
            return at.emit(LinearRecurrence(self.axis, not self.reverse), factors, ct)

        return each_active(at, lambda ct: None, pull)


def _directed(
    op: CumulativeSum | CumulativeProd | LinearRecurrence,
    forward: Callable[..., Array],
    *operands: Array,
) -> Array:
    """A scan from the start; if reversed, of the flipped operands, and flipped back."""
    if not op.reverse:
        return forward(*operands)
    return np.flip(forward(*(np.flip(x, op.axis) for x in operands)), op.axis)


def _shifted(at: JvpSite[V] | TransposeSite[V], value: V, axis: int, step: int, fill: int = 0) -> V:
    """At each position the element `step` positions further on, `fill` beyond the ends."""
    meta: TensorMeta = at.ctx.meta(value)
    low, high = ([by if i == axis else 0 for i in range(meta.rank)] for by in (-step, step))
    filler = full(at.emitter, fill, TensorMeta.of(meta.dtype, ()))
    return at.emit(Pad(tuple(low), tuple(high), (0,) * meta.rank), value, filler)
