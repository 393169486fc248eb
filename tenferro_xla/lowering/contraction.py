"""DotGeneral."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import DotGeneral
from tenferro_xla.lowering.registry import LoweringOptions, lower


@lower.register
def _(op: DotGeneral, lhs: Array, rhs: Array, *, options: LoweringOptions) -> Array:
    axes = ((op.lhs_contract, op.rhs_contract), (op.lhs_batch, op.rhs_batch))
    return lax.dot_general(lhs, rhs, axes, precision=options.precision)
