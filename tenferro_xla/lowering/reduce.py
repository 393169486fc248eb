"""Reductions that are not linear."""

from __future__ import annotations

from math import prod
from typing import cast

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tenferro.ops import ReduceAnd, ReduceMax, ReduceMin, ReduceNorm, ReduceOr, ReduceProd
from tenferro.shape import is_complex, is_floating
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
def _(op: ReduceNorm, x: Array, *, options: LoweringOptions) -> Array:
    total = _sum_of_squares(x, op.axes)
    info = np.finfo(total.dtype)
    least, most = float(info.tiny / info.eps**2), float(info.max)

    def scaled() -> Array:
        largest = lax.reduce_max(lax.abs(x), op.axes)
        largest = jnp.where((largest > 0) & (largest <= most), largest, 1)
        rest = jnp.expand_dims(largest, op.axes).astype(x.dtype)
        return lax.sqrt(_sum_of_squares(x / rest, op.axes)) * largest

    precise = (total > least) & (total <= most)
    if options.mesh is not None:
        return jnp.where(precise, lax.sqrt(total), scaled())
    return cast(Array, lax.cond(jnp.all(precise), lambda: lax.sqrt(total), scaled))


def _sum_of_squares(x: Array, axes: tuple[int, ...]) -> Array:
    if not is_complex(x.dtype):
        return lax.reduce_sum(x * x, axes)
    re, im = lax.real(x), lax.imag(x)
    return lax.reduce_sum(re * re + im * im, axes)


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
