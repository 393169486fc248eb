"""Reductions that are not linear."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from jax import Array, lax

from tenferro.ops import ReduceAnd, ReduceMax, ReduceMin, ReduceOr, ReduceProd
from tenferro.shape import is_floating
from tenferro_xla.lowering.extents import known
from tenferro_xla.lowering.registry import LoweringOptions, lower

MANY = 1024
"""Numbers below which XLA reduces them itself; from 4096 on it takes a library."""


@lower.register
def _(op: ReduceProd, x: Array) -> Array:
    return lax.reduce_prod(x, op.axes)


@lower.register
def _(op: ReduceMax, x: Array, *, options: LoweringOptions) -> Array:
    return _with_nan(lax.reduce_max(x, op.axes), x, op.axes, options)


@lower.register
def _(op: ReduceMin, x: Array, *, options: LoweringOptions) -> Array:
    return _with_nan(lax.reduce_min(x, op.axes), x, op.axes, options)


@lower.register
def _(op: ReduceAnd, x: Array) -> Array:
    return lax.reduce_and(x, op.axes)


@lower.register
def _(op: ReduceOr, x: Array) -> Array:
    return lax.reduce_or(x, op.axes)


def _with_nan(found: Array, x: Array, axes: tuple[int, ...], options: LoweringOptions) -> Array:
    """The extremum that XLA finds, or NaN where it is among the numbers.

    XLA on the CPU drops NaN when it reduces many numbers, and when devices combine their results. A
    sum does not, and is quick; it is also NaN where infinities of both signs meet.
    """
    few = known(x.shape) and prod(x.shape) < MANY
    right = few or not options.drops_nan
    if not is_floating(x.dtype) or (right and options.mesh is None):
        return found

    def looked_for() -> Array:
        nan = lax.reduce_or(lax.ne(x, x), axes)
        return lax.select(nan, lax.full_like(found, np.nan), found)

    if options.mesh is not None:
        return looked_for()
    sums = lax.reduce_sum(x, axes)
    none = lax.reduce_and(lax.eq(sums, sums), range(sums.ndim))
    return cast(Array, lax.cond(none, lambda: found, looked_for))
