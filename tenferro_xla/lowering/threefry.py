"""The block cipher of random numbers, written out: compilers join it with what reads it."""

from __future__ import annotations

import numpy as np
from jax import Array, lax

from tenferro.ops import PARITY, ROTATIONS, Threefry2x32
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Threefry2x32, key0: Array, key1: Array, left: Array, right: Array) -> tuple[Array, ...]:
    schedule = (key0, key1, lax.bitwise_xor(lax.bitwise_xor(key0, key1), _full(key0, PARITY)))
    left, right = lax.add(left, key0), lax.add(right, key1)
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            left = lax.add(left, right)
            right = lax.bitwise_xor(_rotated(right, distance), left)
        left = lax.add(left, schedule[(group + 1) % 3])
        right = lax.add(right, schedule[(group + 2) % 3])
        right = lax.add(right, _full(right, group + 1))
    return left, right


def _rotated(x: Array, distance: int) -> Array:
    """The bits of each word turned towards the higher ones."""
    high = lax.shift_left(x, _full(x, distance))
    return lax.bitwise_or(high, lax.shift_right_logical(x, _full(x, 32 - distance)))


def _full(like: Array, number: int | np.integer) -> Array:
    return lax.full_like(like, number)
