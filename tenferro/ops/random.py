"""Threefry-2x32: the function of keys and counters that all random numbers are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.errors import DTypeError
from tenferro.ir import UINT32, NumpyArray, TensorMeta, payload
from tenferro.ops.base import Inactive, same_type, types

__all__ = ["PARITY", "ROTATIONS", "Threefry2x32"]

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""How far the second word is rotated in the four rounds of even groups, and of odd ones."""

PARITY = np.uint32(0x1BD11BDA)
"""The third word of the key schedule is the exclusive or of this with both words of the key."""

_CHUNK = 1 << 15
_FEW = 8
"""So many elements take Python's integers less time than a hundred calls of NumPy take."""

_WORD = (1 << 32) - 1


@payload
class Threefry2x32(Inactive, name="threefry2x32"):
    """The block cipher Threefry with 20 rounds: a key of two words encrypts two counter words.

    The operands are the words of the key and of the counter, the outputs the encrypted words.

    Attributes:
        purpose: what the words are for: the name of a draw, "split", or "fold_in", which does not
            use the key up. It does not change the result; it keeps draws of different functions
            apart, so that a graph tells whether a key is used twice.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """

    purpose: str = "bits"

    n_inputs = 4
    n_outputs = 2
    pointwise = True

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        self.check_arity(len(metas))
        meta = same_type(self.name, metas, "u")
        if meta.dtype != UINT32:
            raise DTypeError(f"{self.name}: takes u32 operands, got {types(metas)}")
        return meta, meta

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        """In chunks that stay in the cache of a processor; a few elements one after another."""
        shape = inputs[0].shape
        if 0 < inputs[0].size <= _FEW:
            elements = zip(*(operand.ravel().tolist() for operand in inputs), strict=True)
            words = zip(*(_encrypted(*each) for each in elements), strict=True)
            return tuple([np.array(each, UINT32).reshape(shape) for each in words])
        operands = [_flat(operand) for operand in inputs]
        first, second = np.empty(shape, UINT32), np.empty(shape, UINT32)
        x0, x1 = first.reshape(-1), second.reshape(-1)
        spare = np.empty(min(_CHUNK, x0.size), UINT32)
        with np.errstate(over="ignore"):  # of scalars; sums of arrays wrap around silently
            for start in range(0, x0.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                key0, key1, count0, count1 = (
                    operand[part] if operand.ndim else operand for operand in operands
                )
                left, right = x0[part], x1[part]
                np.add(count0, key0, out=left)
                np.add(count1, key1, out=right)
                _encrypt(key0, key1, left, right, spare[: left.size])
        return first, second


def _encrypted(key0: int, key1: int, left: int, right: int) -> tuple[int, int]:
    """Both words for one counter, with Python's integers."""
    schedule = (key0, key1, key0 ^ key1 ^ int(PARITY))
    left, right = (left + key0) & _WORD, (right + key1) & _WORD
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            left = (left + right) & _WORD
            right = ((right << distance) & _WORD | right >> (32 - distance)) ^ left
        left = (left + schedule[(group + 1) % 3]) & _WORD
        right = (right + schedule[(group + 2) % 3] + group + 1) & _WORD
    return left, right


def _flat(operand: NumpyArray) -> NumpyArray:
    """The elements as a vector; a repeated number as that number."""
    if operand.size and not any(operand.strides):
        return np.asarray(operand[(0,) * operand.ndim])
    return operand.reshape(-1)


def _encrypt(
    key0: NumpyArray, key1: NumpyArray, left: NumpyArray, right: NumpyArray, spare: NumpyArray
) -> None:
    """The 20 rounds, in place; the key has been added once."""
    schedule = (key0, key1, key0 ^ key1 ^ PARITY)
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            np.add(left, right, out=left)
            np.left_shift(right, np.uint32(distance), out=spare)
            np.right_shift(right, np.uint32(32 - distance), out=right)
            np.bitwise_or(right, spare, out=right)
            np.bitwise_xor(right, left, out=right)
        np.add(left, schedule[(group + 1) % 3], out=left)
        np.add(right, schedule[(group + 2) % 3] + np.uint32(group + 1), out=right)
