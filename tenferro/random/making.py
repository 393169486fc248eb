"""Making keys: from seeds, from other keys, and from words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.dispatch import apply, create
from tenferro.errors import DTypeError, ShapeError
from tenferro.random import blocks
from tenferro.random.keys import Key, words_of
from tenferro.random.parameters import integer, sizes
from tenferro.runtime import Tensor
from tenferro.shape import UINT32, TensorMeta
from tenferro.typing import AnyTensor, ArrayLike, Shape
from tenferro.values import is_array, meta_of_value


def key(seed: ArrayLike) -> Key:
    """The key of a seed.

    Args:
        seed: an integer of 64 bits, or a scalar integer array.

    Raises:
        DTypeError: the seed is not an integer.

    >>> tn.random.key(0)
    Key(shape=(), words=[0, 0])
    """
    return Key.of(_seeded("random.key", seed))


def PRNGKey(seed: ArrayLike) -> AnyTensor:  # noqa: N802  # JAX's name
    """The words of the key of a seed, uint32[2]; they are taken wherever a key is.

    Raises:
        DTypeError: the seed is not an integer.

    >>> tn.random.PRNGKey(0)
    Tensor([0, 0], dtype=uint32)
    """
    return _seeded("random.PRNGKey", seed)


def _seeded(name: str, seed: Any) -> AnyTensor:
    if is_array(seed):
        meta = meta_of_value(seed)
        assert meta is not None
        if meta.dtype.kind not in "iu" or meta.rank:
            raise DTypeError(f"{name}: the seed must be an integer, got {meta}")
        return apply(blocks.seeded, seed)
    number = integer(name, "the seed", seed)
    if not -(1 << 63) <= number < 1 << 63:
        raise DTypeError(f"{name}: the seed must be an integer of 64 bits, got {number}")
    bits = number % (1 << 64)
    return Tensor(np.array([bits >> 32, bits % (1 << 32)], np.uint32))


def split(key: Key | ArrayLike, num: Shape = 2) -> Key | AnyTensor:
    """New keys that are independent of each other; the key must not be used again.

    Args:
        key: a key.
        num: the number of new keys, or the shape of an array of keys.

    Raises:
        DTypeError: it is not a key.
        ShapeError: it is an array of keys, or `num` has a negative size.

    >>> key = tn.random.key(0)
    >>> key, for_noise = tn.random.split(key)
    >>> tn.random.split(key, (2, 3)).shape
    (2, 3)
    """
    words = words_of("random.split", key)
    return _like(key, create(blocks.split, words, shape=sizes("random.split", num)))


def fold_in(key: Key | ArrayLike, data: ArrayLike) -> Key | AnyTensor:
    """The key that a key and an integer make; the key may be used again with other integers.

    Args:
        key: a key.
        data: an integer of 32 bits, such as the number of a step, or a scalar integer array.

    Raises:
        DTypeError: it is not a key, or data is not an integer.
        ShapeError: it is an array of keys.

    >>> tn.random.fold_in(tn.random.key(0), 1)
    Key(shape=(), words=[928981903, 3453687069])
    """
    words = words_of("random.fold_in", key)
    if is_array(data):
        meta = meta_of_value(data)
        assert meta is not None
        if meta.dtype.kind not in "iu" or meta.rank:
            raise DTypeError(f"random.fold_in: data must be an integer, got {meta}")
    else:
        number = integer("random.fold_in", "data", data)
        if not 0 <= number < 1 << 32:
            raise DTypeError(f"random.fold_in: data must be an integer of 32 bits, got {number}")
        data = Tensor(np.uint32(number))
    return _like(key, create(blocks.fold_in, words, data))


def _like(key: Any, words: AnyTensor) -> Key | AnyTensor:
    """The words as keys, if a key was given, else as they are."""
    return Key.of(words) if isinstance(key, Key) else words


def key_data(keys: Key | ArrayLike) -> AnyTensor:
    """The words of keys, uint32[..., 2].

    Raises:
        DTypeError: they are not keys.

    >>> tn.random.key_data(tn.random.key(7))
    Tensor([0, 7], dtype=uint32)
    """
    words: AnyTensor = words_of("random.key_data", keys, several=True)
    return words


def wrap_key_data(words: ArrayLike) -> Key:
    """The keys with these words, uint32[..., 2].

    Raises:
        DTypeError: the words are of another type.
        ShapeError: the last axis has not two elements.

    >>> tn.random.wrap_key_data(tn.array([0, 7], dtype="uint32")) == tn.random.key(7)
    Tensor(True)
    """
    value: Any = words if is_array(words) else Tensor(words)
    meta = meta_of_value(value)
    assert isinstance(meta, TensorMeta)
    if meta.dtype != UINT32:
        raise DTypeError(f"random.wrap_key_data: words must be u32[..., 2], got {meta}")
    if not meta.rank or meta.exact_shape("random.wrap_key_data", "words")[-1] != 2:
        raise ShapeError(f"random.wrap_key_data: words must be u32[..., 2], got {meta}")
    return Key.of(Tensor(value) if isinstance(value, np.ndarray) else value)
