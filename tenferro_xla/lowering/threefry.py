"""The block cipher of random numbers, in plain operations on words.

Written out, its rounds are joined with what reads them, and the words are never stored. Compiling
them takes a tenth of a second for each reader; so for few elements the rounds are a loop on CPUs,
where a loop costs microseconds.
"""

from __future__ import annotations

import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.ops import PARITY, ROTATIONS, Threefry2x32
from tenferro_xla.lowering.extents import known
from tenferro_xla.lowering.registry import lower

_FEW = 1 << 12
"""The largest number of elements for which the rounds are a loop."""

_Words = tuple[Array, Array]


@lower.register
def _(op: Threefry2x32, key0: Array, key1: Array, left: Array, right: Array) -> _Words:
    words = (key0, key1, left, right)
    if not known(left.shape) or left.size > _FEW:
        return _written_out(*words)
    result: _Words = lax.platform_dependent(*words, cpu=_looped, default=_written_out)
    return result


def _written_out(key0: Array, key1: Array, left: Array, right: Array) -> _Words:
    schedule = _schedule(key0, key1)
    left, right = lax.add(left, key0), lax.add(right, key1)
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            left, right = _mixed(left, right, np.uint32(distance))
        left = lax.add(left, schedule[(group + 1) % 3])
        right = lax.add(right, schedule[(group + 2) % 3])
        right = lax.add(right, lax.full_like(right, group + 1))
    return left, right


def _looped(key0: Array, key1: Array, left: Array, right: Array) -> _Words:
    schedule = jnp.stack(_schedule(key0, key1))
    rotations = jnp.asarray(np.array(ROTATIONS, np.uint32))

    def group(number: Array, words: _Words) -> _Words:
        left, right = words
        distances = rotations[number % 2]
        for place in range(4):
            left, right = _mixed(left, right, distances[place])
        left = lax.add(left, schedule[(number + 1) % 3])
        right = lax.add(right, schedule[(number + 2) % 3])
        return left, lax.add(right, lax.broadcast((number + 1).astype(np.uint32), right.shape))

    start = (lax.add(left, key0), lax.add(right, key1))
    result: _Words = lax.fori_loop(0, 5, group, start)
    return result


def _schedule(key0: Array, key1: Array) -> list[Array]:
    parity = lax.full_like(key0, PARITY)
    return [key0, key1, lax.bitwise_xor(lax.bitwise_xor(key0, key1), parity)]


def _mixed(left: Array, right: Array, distance: Array | np.uint32) -> _Words:
    """One round: the right word turned by a distance towards its higher bits, and both mixed."""
    left = lax.add(left, right)
    by = lax.broadcast(distance, right.shape)
    back = lax.broadcast(np.uint32(32) - distance, right.shape)
    turned = lax.bitwise_or(lax.shift_left(right, by), lax.shift_right_logical(right, back))
    return left, lax.bitwise_xor(turned, left)
