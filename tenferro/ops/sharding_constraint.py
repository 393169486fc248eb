"""ShardingConstraint: how a value is divided among the devices of a mesh."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V, each_active, multilinear
from tenferro.errors import ShapeError
from tenferro.exec_ir import AxisMap, MaskSite, Order, payload
from tenferro.ops.base import Unchanged
from tenferro.shape import Dim, TensorMeta


@payload
class ShardingConstraint(Unchanged, name="sharding_constraint"):
    """The operand, divided by the named axes of the mesh that the program runs on.

    `spec` has an entry for each axis: the names, none where the axis is whole, and None where the
    compiler may choose. On one device the op has no effect.
    """

    spec: tuple[tuple[str, ...] | None, ...]

    moves = True
    view = True

    @property
    def divides(self) -> Sequence[Sequence[str]]:
        """The names of the spec."""
        return [names or () for names in self.spec]

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type."""
        if x.rank != len(self.spec):
            raise ShapeError(
                f"{self.name}: {x} has {x.rank} axes, but the spec has {len(self.spec)}"
            )
        return x

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent is divided as the operand is."""
        return each_active(at, lambda ct: at.emit(self, ct))

    def leading(self, size: Dim) -> ShardingConstraint:
        """The compiler may choose how the new axis is divided."""
        return ShardingConstraint((None, *self.spec))

    def trailing(self, size: int) -> ShardingConstraint:
        """The new axis, which parts of complex numbers have, is whole."""
        return ShardingConstraint((*self.spec, ()))

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        """Each axis stays."""
        return (tuple(range(ranks[0])),)

    def permuted(self, orders: Sequence[Order]) -> tuple[ShardingConstraint, Order]:
        """The entries of the spec go with their axes."""
        (order,) = orders
        return ShardingConstraint(tuple([self.spec[axis] for axis in order])), order

    def masked(self, at: MaskSite) -> None:
        """Padding stays padding."""
        at.keep(at.operand(0), zeros=at.has_zeros(0))
