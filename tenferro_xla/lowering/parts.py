"""The ops of `parts` in terms of `jax.lax`."""

from __future__ import annotations

import numpy as np
from jax import Array, lax

from tenferro_xla.lowering.registry import lower
from tenferro_xla.passes import Factor, Join, Kept, Split, Stored


@lower.register
def _(op: Split, x: Array) -> Array:
    shape = (*x.shape, 2)
    first = lax.eq(_iota(shape, x.ndim), np.int32(0))  # a choice is faster than a concatenation
    along = tuple(range(x.ndim))
    re, im = (lax.broadcast_in_dim(part, shape, along) for part in (lax.real(x), lax.imag(x)))
    return lax.select(first, re, im)


@lower.register
def _(op: Join, x: Array) -> Array:
    return lax.complex(*_parts(x))


@lower.register
def _(op: Factor, x: Array) -> Array:
    re, im = (lax.real(x), lax.imag(x)) if np.iscomplexobj(x) else _parts(x)
    free = op.free if op.free >= 0 else re.ndim
    shape: list[int] = []
    along: list[int] = []
    merged: list[int] = []
    row = column = -1
    for axis in range(max(re.ndim, free + 1)):
        size = 1 if axis == re.ndim else re.shape[axis]
        if axis < re.ndim:
            along.append(len(shape))
            shape.append(size)
        if axis == op.contract:
            row = len(shape)
        if axis == free:
            column = len(shape)
        if axis in (op.contract, free):
            shape.append(2)
            size *= 2
        merged.append(size)
    re, im = (lax.broadcast_in_dim(part, shape, along) for part in (re, im))
    rows, columns = _iota(shape, row), _iota(shape, column)
    turned = lax.select(lax.lt(rows, columns), im, lax.neg(im))
    return lax.reshape(lax.select(lax.eq(rows, columns), re, turned), merged)


@lower.register
def _(op: Kept, x: Array) -> Array:
    value: Array = lax.optimization_barrier(x)  # type: ignore[no-untyped-call]  # JAX has no types there
    return value


@lower.register
def _(op: Stored, x: Array) -> Array:
    """The value beside a place that is empty, reduced to what is there: XLA computes no reduction
    again where it is read, and gives one that it does not know to no library."""
    empty = np.full((), -np.inf, x.dtype)
    beside = lax.pad(lax.expand_dims(x, (0,)), empty, [(0, 1, 0), *[(0, 0, 0)] * x.ndim])

    def what_is_there(one: Array, other: Array) -> Array:
        return lax.select(lax.ne(one, empty), one, other)

    value: Array = lax.reduce(beside, empty, what_is_there, (0,))
    return value


def _parts(x: Array) -> tuple[Array, Array]:
    last = x.ndim - 1
    re, im = (lax.slice_in_dim(x, i, i + 1, axis=last) for i in (0, 1))
    return lax.squeeze(re, (last,)), lax.squeeze(im, (last,))


def _iota(shape: tuple[int, ...] | list[int], axis: int) -> Array:
    return lax.broadcasted_iota(np.dtype(np.int32), tuple(shape), axis)
