"""Batch rules of linear algebra: leading axes of operands are a batch anyway."""

from __future__ import annotations

from tenferro.core import Batched, BatchSite, V
from tenferro.families.linalg.solve import LuSolve
from tenferro.families.linalg.triangular_solve import TriangularSolve, TridiagonalSolve
from tenferro.ir import TensorMeta
from tenferro.ops.extension import Extension, ExtensionBatchRule, ExtensionOp, LeadingBatchRule
from tenferro.ops.functions import Expression, apply, expressions, manipulation


class SystemBatchRule(LeadingBatchRule):
    """Systems of equations, whose last input is the right side.

    If only the right side is batched, its entries become further columns, or rows where the matrix
    stands on the right of X: the matrix is factored once, and solved with once.
    """

    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """The op itself, on more columns or on a batch of systems."""
        *matrix, right = at.inputs
        meta: TensorMeta = at.ctx.meta(right)
        if any(at.batched[:-1]) or meta.dims is None:
            return super().batch(op, at)
        b = Expression(at.emitter, right)
        axis = b.ndim - (1 if getattr(op, "left", True) else 2)  # of columns, or rows
        together: Expression = apply(manipulation.moveaxis, b, source=0, destination=axis - 1)
        shape = together.shape
        merged = (*shape[: axis - 1], shape[axis - 1] * shape[axis], *shape[axis + 1 :])
        (flat,) = at.emitter.emit_all(Extension(op), *matrix, together.reshape(merged).value)
        (x,) = expressions(at.emitter, [flat])
        result: Expression = apply(
            manipulation.moveaxis, x.reshape(shape), source=axis - 1, destination=0
        )
        return ((result.value, True),)


_SYSTEMS = (LuSolve, TriangularSolve, TridiagonalSolve)


def batch_rule(family: type[ExtensionOp]) -> ExtensionBatchRule:
    """The batch rule of a family of linear algebra."""
    return SystemBatchRule(family) if family in _SYSTEMS else LeadingBatchRule(family)
