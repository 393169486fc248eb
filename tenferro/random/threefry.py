"""Threefry: random words and bits of a key, and keys made of keys.

The counter of an element is its place in the result, in row-major order, whatever the size of the
result: this is the layout of `jax.random` (`jax_threefry_partitionable`).
"""

from __future__ import annotations

from typing import Any

from tenferro.ir import UINT32, UINT64, AnyTensor, Dim, DType, product
from tenferro.ops import Iota, Threefry2x32, scalar
from tenferro.ops.functions import convert, emit, emit_all, manipulation, promotion

_WORD = 1 << 32


def encrypted(
    key: AnyTensor, counts: tuple[AnyTensor, AnyTensor], shape: tuple[Dim, ...], purpose: str
) -> tuple[AnyTensor, AnyTensor]:
    """The two words for each counter.

    Args:
        key: the words of keys, u32[..., 2].
        counts: the words of counters, which broadcast to `shape`.
        shape: that of the counters of one key; the result has the axes of the keys before it.
        purpose: what the words are for; see `Threefry2x32`.
    """
    keys = key.meta.exact_shape("random", "key")[:-1]
    words = []
    for place in range(2):
        word = manipulation.piece(key, len(keys), place, place + 1, drop=True)
        word = manipulation.expand_dims(word, tuple(range(len(keys), len(keys) + len(shape))))
        words.append(promotion.broadcast_to(word, (*keys, *shape)))
    counters = [promotion.broadcast_to(count, (*keys, *shape)) for count in counts]
    left, right = emit_all(Threefry2x32(purpose), *words, *counters)
    return left, right


def counters(shape: tuple[Dim, ...]) -> tuple[AnyTensor, AnyTensor]:
    """The high and the low word of the place of each element."""
    size = product(shape)
    zero = emit(scalar(0, UINT32))
    if not shape:
        return zero, zero
    if isinstance(size, int) and size <= _WORD:
        return zero, manipulation.reshape(emit(Iota(UINT32, size)), shape)
    places = manipulation.reshape(emit(Iota(UINT64, size)), shape)
    return (places >> 32).astype(UINT32), places.astype(UINT32)


def drawn_words(
    key: AnyTensor, shape: tuple[Dim, ...], purpose: str
) -> tuple[AnyTensor, AnyTensor]:
    """Two random words for each element."""
    return encrypted(key, counters(shape), shape, purpose)


def drawn_bits(key: AnyTensor, shape: tuple[Dim, ...], dtype: DType, purpose: str) -> AnyTensor:
    """Random bits as unsigned integers of `dtype`."""
    left, right = drawn_words(key, shape, purpose)
    if dtype == UINT64:
        return left.astype(UINT64) << 32 | right.astype(UINT64)
    return (left ^ right).astype(dtype)


def split(key: AnyTensor, *, shape: tuple[Dim, ...], purpose: str = "split") -> AnyTensor:
    """The words of `shape` new keys: what the key makes of their places."""
    left, right = drawn_words(key, shape, purpose)
    return manipulation.stack(left, right, axis=-1)


def fold_in(key: AnyTensor, data: Any) -> AnyTensor:
    """The words of the key that a key makes of an integer."""
    zero = emit(scalar(0, UINT32))
    left, right = encrypted(key, (zero, convert(data, UINT32)), (), "fold_in")
    return manipulation.stack(left, right, axis=-1)


def seeded(seed: AnyTensor) -> AnyTensor:
    """The words of the key of a seed: the high and the low word of the integer."""
    number = seed
    wide = number.dtype.itemsize == 8
    bits = number.astype(UINT64)
    high = (bits >> 32 if wide else bits * 0).astype(UINT32)
    return manipulation.stack(high, bits.astype(UINT32), axis=-1)
