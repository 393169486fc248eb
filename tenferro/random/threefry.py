"""Threefry: random words and bits of a key, and keys made of keys, over an emitter.

The counter of an element is its place in the result, in row-major order, whatever the size of the
result: this is the layout of `jax.random` (`jax_threefry_partitionable`).
"""

from __future__ import annotations

from typing import Any

from tenferro.core import Emitter, V
from tenferro.ir import UINT32, UINT64, Dim, DType, product
from tenferro.ops import Iota, Threefry2x32, scalar
from tenferro.ops.functions import Expression, convert, manipulation, promotion

_WORD = 1 << 32


def encrypted(
    at: Emitter[V], key: V, counts: tuple[V, V], shape: tuple[Dim, ...], purpose: str
) -> tuple[Expression, Expression]:
    """The two words for each counter.

    Args:
        key: the words of keys, u32[..., 2].
        counts: the words of counters, which broadcast to `shape`.
        shape: that of the counters of one key; the result has the axes of the keys before it.
        purpose: what the words are for; see `Threefry2x32`.
    """
    keys = at.ctx.meta(key).exact_shape("random", "key")[:-1]
    words = []
    for place in range(2):
        word = manipulation.piece(at, key, len(keys), place, place + 1, drop=True)
        word = manipulation.expand_dims(at, word, tuple(range(len(keys), len(keys) + len(shape))))
        words.append(promotion.broadcast_to(at, word, (*keys, *shape)))
    counters = [promotion.broadcast_to(at, count, (*keys, *shape)) for count in counts]
    left, right = at.emit_all(Threefry2x32(purpose), *words, *counters)
    return Expression(at, left), Expression(at, right)


def counters(at: Emitter[V], shape: tuple[Dim, ...]) -> tuple[V, V]:
    """The high and the low word of the place of each element."""
    size = product(shape)
    zero = at.emit(scalar(0, UINT32))
    if not shape:
        return zero, zero
    if isinstance(size, int) and size <= _WORD:
        return zero, manipulation.reshape(at, at.emit(Iota(UINT32, size)), shape)
    places = Expression(at, manipulation.reshape(at, at.emit(Iota(UINT64, size)), shape))
    return (places >> 32).astype(UINT32).value, places.astype(UINT32).value


def drawn_words(
    at: Emitter[V], key: V, shape: tuple[Dim, ...], purpose: str
) -> tuple[Expression, Expression]:
    """Two random words for each element."""
    return encrypted(at, key, counters(at, shape), shape, purpose)


def drawn_bits(
    at: Emitter[V], key: V, shape: tuple[Dim, ...], dtype: DType, purpose: str
) -> Expression:
    """Random bits as unsigned integers of `dtype`."""
    left, right = drawn_words(at, key, shape, purpose)
    if dtype == UINT64:
        return left.astype(UINT64) << 32 | right.astype(UINT64)
    return (left ^ right).astype(dtype)


def split(at: Emitter[V], key: V, *, shape: tuple[Dim, ...], purpose: str = "split") -> V:
    """The words of `shape` new keys: what the key makes of their places."""
    left, right = drawn_words(at, key, shape, purpose)
    return manipulation.stack(at, left.value, right.value, axis=-1)  # type: ignore[no-any-return]


def fold_in(at: Emitter[V], key: V, data: Any) -> V:
    """The words of the key that a key makes of an integer."""
    zero = at.emit(scalar(0, UINT32))
    left, right = encrypted(at, key, (zero, convert(at, data, UINT32)), (), "fold_in")
    return manipulation.stack(at, left.value, right.value, axis=-1)  # type: ignore[no-any-return]


def seeded(at: Emitter[V], seed: V) -> V:
    """The words of the key of a seed: the high and the low word of the integer."""
    number = Expression(at, seed)
    wide = number.dtype.itemsize == 8
    bits = number.astype(UINT64)
    high = (bits >> 32 if wide else bits * 0).astype(UINT32)
    return manipulation.stack(at, high.value, bits.astype(UINT32).value, axis=-1)  # type: ignore[no-any-return]
