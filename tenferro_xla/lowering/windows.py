"""Reductions as functions of elements, of which XLA on the CPU makes vector instructions.

It reduces real numbers by a library, which loses NaN, and all others one by one. So windows of the
operand, one next to the other, are combined into one window, until the window is one element: an
operand of 1000 rows becomes 67, then 3, then 1. The operand is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from jax import Array, lax

from tenferro.ir import NumpyArray, dtype_kind

__all__ = ["by_windows", "stored"]

FIRST, NEXT = 15, 32
"""Windows that one kernel combines: the first kernel, in which XLA computes the operand as well if
it reads at most so many windows of it, and each of the next."""
LAST = 24
"""The size of which one kernel makes one element."""
ROW = 16
"""Elements that a window is a multiple of, if they lie side by side."""


def by_windows(x: Array, axes: Sequence[int], combine: Callable[[Array, Array], Array]) -> Array:
    """The reduction over `axes`, which the result does not have, of an array of a known shape.

    `combine` reduces two elements: it is associative, commutative, and makes x of x and x.
    """
    merged: list[int] = []
    places: list[int] = []
    for axis, size in enumerate(x.shape):
        if axis in axes and axis - 1 in axes:
            merged[-1] *= size
            continue
        places += [len(merged)] if axis in axes else []
        merged.append(size)
    rest = [size for axis, size in enumerate(x.shape) if axis not in axes]
    x = lax.reshape(x, merged)
    ways = FIRST
    for place in places:
        while (size := x.shape[place]) > 1:
            length = 1 if size <= LAST else -(-size // ways)
            if length > 1 and prod(x.shape[place + 1 :]) == 1:
                length = -(-length // ROW) * ROW
            x = _combined(x, place, length, combine)
            ways = NEXT
    return lax.reshape(x, rest)


def _combined(x: Array, axis: int, length: int, combine: Callable[[Array, Array], Array]) -> Array:
    """Windows of a length that cover the axis, combined; the last one overlaps the one before."""
    size = x.shape[axis]
    starts = [min(start, size - length) for start in range(0, size, length)]
    windows = [lax.slice_in_dim(x, start, start + length, axis=axis) for start in starts]
    while len(windows) > 1:
        pairs = [combine(*windows[i : i + 2]) for i in range(0, len(windows) - 1, 2)]
        windows = pairs + windows[2 * len(pairs) :]
    return windows[0]


def stored(x: Array) -> Array:
    """Numbers or bools that XLA computes once, and not again where they are read.

    They stand next to a place that is empty, and are reduced to what is there: XLA computes no
    reduction again, and gives one that it does not know to no library.
    """
    empty = _least(x.dtype)
    padded = lax.pad(lax.expand_dims(x, (0,)), empty, [(0, 1, 0), *[(0, 0, 0)] * x.ndim])

    def what_is_there(one: Array, other: Array) -> Array:
        return lax.select(lax.ne(one, empty), one, other)

    value: Array = lax.reduce(padded, empty, what_is_there, (0,))
    return value


def _least(dtype: np.dtype[Any]) -> NumpyArray:
    if dtype == np.bool_:
        return np.asarray(False)
    if dtype_kind(dtype) == "c":  # both parts, so that no zero has a sign that could be lost
        return np.asarray(complex(-np.inf, -np.inf), dtype)
    return np.asarray(np.iinfo(dtype).min if dtype_kind(dtype) in "iu" else -np.inf, dtype)
