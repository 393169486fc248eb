"""DotGeneral."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jax import Array, lax

from tenferro.ops import DotGeneral
from tenferro_xla.lowering.registry import LoweringOptions, lower

MANY = 5
"""Batch axes beyond these are merged: XLA on the CPU aborts the process at 8 axes."""


@lower.register
def _(op: DotGeneral, lhs: Array, rhs: Array, *, options: LoweringOptions) -> Array:
    axes = ((op.lhs_contract, op.rhs_contract), (op.lhs_batch, op.rhs_batch))
    if len(op.lhs_batch) <= MANY:
        return lax.dot_general(lhs, rhs, axes, precision=options.precision)
    left, left_axes = _merged(lhs, op.lhs_batch, op.lhs_contract)
    right, right_axes = _merged(rhs, op.rhs_batch, op.rhs_contract)
    axes = ((left_axes, right_axes), ((0,), (0,)))
    result = lax.dot_general(left, right, axes, precision=options.precision)
    batch = [lhs.shape[axis] for axis in op.lhs_batch]
    return lax.reshape(result, (*batch, *result.shape[1:]))


def _merged(
    x: Array, batch: Sequence[int], contract: Sequence[int]
) -> tuple[Array, tuple[int, ...]]:
    """The operand with its batch axes merged into the first axis, and its contracted axes then."""
    rest = [axis for axis in range(x.ndim) if axis not in batch]
    moved = lax.transpose(x, (*batch, *rest))
    size = math.prod(x.shape[axis] for axis in batch)
    shape = (size, *(x.shape[axis] for axis in rest))
    return lax.reshape(moved, shape), tuple(1 + rest.index(axis) for axis in contract)
