"""Diagonals and triangles."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tenferro.ops import EmbedDiag, ExtractDiag, Tril, Triu, inverse
from tenferro_xla.lowering.extents import known
from tenferro_xla.lowering.registry import lower

WRITTEN = 1 << 14
"""The number of elements from which on a diagonal is written into zeros."""


@lower.register
def _(op: ExtractDiag, x: Array) -> Array:
    """Every (n+1)-th of the n·n elements of the two axes, laid out side by side."""
    n = x.shape[op.axis_a]
    others = [axis for axis in range(x.ndim) if axis not in (op.axis_a, op.axis_b)]
    sizes = [x.shape[axis] for axis in others]
    flat = lax.reshape(lax.transpose(x, [*others, op.axis_a, op.axis_b]), [*sizes, n * n])
    picked = lax.slice(flat, [0] * flat.ndim, flat.shape, [*(1 for _ in sizes), n + 1])
    return lax.transpose(picked, _moved(picked.ndim, picked.ndim - 1, op.axis_a))


@lower.register
def _(op: EmbedDiag, x: Array) -> Array:
    """Zeros into which the diagonal is written; small ones in a form that is compiled faster."""
    n = x.shape[op.axis_a]
    last = lax.transpose(x, _moved(x.ndim, op.axis_a, x.ndim - 1))
    is_large = known(x.shape) and x.size * n >= WRITTEN
    square = _written(last) if is_large else _spread(last)
    others = [axis for axis in range(x.ndim + 1) if axis not in (op.axis_a, op.axis_b)]
    return lax.transpose(square, inverse([*others, op.axis_a, op.axis_b]))


def _written(x: Array) -> Array:
    """Zeros with another axis of the size of the last, into whose diagonal `x` is written."""
    places = np.arange(x.shape[-1])
    zeros = jnp.zeros((*x.shape, x.shape[-1]), x.dtype)
    return zeros.at[..., places, places].set(
        x, indices_are_sorted=True, unique_indices=True, mode="promise_in_bounds"
    )


def _spread(x: Array) -> Array:
    """The same: n zeros between neighbours along the axis make it the n·n elements of two."""
    n = x.shape[-1]
    zero = np.zeros((), x.dtype)
    spread = lax.pad(x, zero, [*((0, 0, 0) for _ in range(x.ndim - 1)), (0, 0, n)])
    return lax.reshape(spread, [*x.shape, n])


@lower.register
def _(op: Tril, x: Array) -> Array:
    return lax.select(_on_or_below(x, op.k), x, lax.full_like(x, 0))


@lower.register
def _(op: Triu, x: Array) -> Array:
    return lax.select(_on_or_below(x, op.k - 1), lax.full_like(x, 0), x)


def _on_or_below(x: Array, k: int) -> Array:
    """Whether an element is on or below diagonal `k` of the last two axes."""
    rows, columns = x.shape[-2:]
    if not known([rows + columns]):  # in an export
        kind: np.dtype[Any] = np.dtype(np.int64)
    else:
        k = min(max(k, -rows), columns)
        kind = np.dtype(np.int32 if rows + columns < 2**31 else np.int64)
    row = lax.broadcasted_iota(kind, (rows, columns), 0)
    column = lax.broadcasted_iota(kind, (rows, columns), 1)
    mask = lax.ge(lax.add(row, lax.full_like(row, k)), column)
    return lax.broadcast(mask, x.shape[:-2])


def _moved(rank: int, source: int, target: int) -> list[int]:
    """The permutation that takes one axis to another place."""
    axes = [axis for axis in range(rank) if axis != source]
    axes.insert(target, source)
    return axes
