"""AssumeSize: the assumption that two sizes are equal, checked once both are known."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V, each_active, multilinear
from tenferro.errors import GuardViolationError, UnsupportedDynamicShapeError
from tenferro.exec_ir import Array, payload
from tenferro.ops.base import StdTensorOp, check_axes, meta_of
from tenferro.shape import Dim, Exact, Guard, TensorMeta, canonical, describe


@payload
class AssumeSize(StdTensorOp, name="assume_size"):
    """The operand with the assumption that axis `axis` has `size`.

    The op says which size the value has. The trace that it is emitted in collects the assumption,
    and the program checks it once the sizes are known, also where nothing reads the value; see
    `GraphProgram.guards`.
    """

    axis: int
    size: Dim

    assumes = True
    moves = True
    view = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type with that size."""
        check_axes(self.name, (self.axis,), x.rank, x)
        extent = x.extents[self.axis]
        if not isinstance(extent, Exact):
            raise UnsupportedDynamicShapeError(self.name, f"operand[{self.axis}]", describe(extent))
        if canonical(extent.dim, self.size) is None:
            raise GuardViolationError(
                f"{self.name}: axis {self.axis} of {x} was assumed to have size {self.size}"
            )
        extents = list(x.extents)
        extents[self.axis] = Exact(self.size)
        return TensorMeta(x.dtype, extents)

    def assumptions(self, metas: Sequence[TensorMeta], reason: str) -> Sequence[Guard]:
        """The size of the axis."""
        extent = metas[0].extents[self.axis]
        assert isinstance(extent, Exact), "assume_size takes exact sizes only"
        return [Guard(extent.dim, self.size, reason)]

    def leading(self, size: Dim) -> AssumeSize:
        """The axis is counted one further."""
        return AssumeSize(self.axis + 1, self.size)

    def numpy(self, x: Array) -> Array:
        """The operand."""
        if x.shape[self.axis] != self.size:
            raise GuardViolationError(
                f"{self.name}: axis {self.axis} of {meta_of(x)} was assumed "
                f"to have size {self.size}"
            )
        return x

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The assumption that the cotangent has the operand's size."""
        size = at.ctx.meta(at.inputs[0]).extents[self.axis]
        if not isinstance(size, Exact):
            raise UnsupportedDynamicShapeError(self.name, f"operand[{self.axis}]", describe(size))
        return each_active(at, lambda ct: at.emit(AssumeSize(self.axis, size.dim), ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The operand, if it certainly has the size."""
        (x,) = operands
        return x if at.ctx.meta(x).extents[self.axis] == Exact(self.size) else None
