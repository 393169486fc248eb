"""Contractions as standard ops, written with the array functions of tenferro, for any executor.

Array functions have no loops, so a contraction is a broadcast sum that is reduced at once. XLA
fuses the two and does not store all products, if there is only arithmetic between them. Operands
are therefore cleared of NaN and of the infinity that could produce NaN. Ordinary matrix products
count separately where that infinity wins.

The first winner is found in two steps: the best of each block of contracted indices, then the index
within the first best block. The number of blocks is about the number of indices in each. The arrays
that are stored are then smaller than all products by about half the root of the contracted size.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import tenferro as tn
from tenferro_ext_tropical.forms import Form
from tenferro_ext_tropical.semiring import Semiring


def values(ring: Semiring, a: Any, b: Any) -> Any:
    """The product of `[batch, left, contracted]` and `[batch, contracted, right]`.

    >>> from tenferro_ext_tropical.semiring import semiring
    >>> values(semiring("maxplus"), tn.Tensor([[[1.0, 5.0]]]), tn.Tensor([[[3.0], [0.0]]]))
    Tensor([[[5.]]])
    """
    blocks = _block_values(ring, tn.expand_dims(a, axis=2), tn.expand_dims(b, axis=1))
    return tn.squeeze(blocks, axis=2)


def winners(ring: Semiring, a: Any, b: Any) -> tuple[Any, Any]:
    """The first contracted index of the best product, and whether there is a product.

    >>> from tenferro_ext_tropical.semiring import semiring
    >>> a, b = tn.Tensor([[[1.0, 5.0]]]), tn.Tensor([[[4.0], [0.0]]])
    >>> winners(semiring("maxplus"), a, b)
    (Tensor([[[0]]]), Tensor([[[ True]]]))
    """
    batch, left, contracted = a.shape
    right = b.shape[2]
    length = isqrt(max(contracted - 1, 0)) + 1
    blocks = -(-contracted // length)
    short = blocks * length - contracted
    a = tn.pad(a, ((0, 0), (0, 0), (0, short)), constant_values=ring.zero)
    b = tn.pad(b, ((0, 0), (0, short), (0, 0)), constant_values=ring.zero)
    a = tn.reshape(a, (batch, left, blocks, length))
    b = tn.reshape(b, (batch, blocks, length, right))
    of_blocks = _block_values(ring, a, b)
    best = _reduced(ring, of_blocks, axis=2)
    block = _first(ring, of_blocks, axis=2)
    i, m, n = (
        tn.reshape(tn.arange(size), shape)
        for size, shape in ((batch, (-1, 1, 1)), (left, (1, -1, 1)), (right, (1, 1, -1)))
    )
    products = a[i, m, block] + tn.permute_dims(b, (0, 1, 3, 2))[i, block, n]
    within = tn.argmax(tn.astype(products == tn.expand_dims(best, axis=3), "int32"), axis=3)
    return block * length + within, best != ring.zero


def _block_values(ring: Semiring, a: Any, b: Any) -> Any:
    """`[batch, left, block, right]`, from operands with contracted indices `[block, length]`."""
    infinity = -ring.zero
    sums = tn.expand_dims(_tame(ring, a), axis=4) + tn.expand_dims(_tame(ring, b), axis=1)
    best = _reduced(ring, sums, axis=3)
    found = [_as_numbers(x, x == infinity) for x in (a, b)]
    present = [_as_numbers(x, (x == x) & (x != ring.zero)) for x in (a, b)]
    count = _blockwise(found[0], present[1]) + _blockwise(present[0], found[1])
    return tn.where(count > 0, tn.full((), infinity, dtype=a.dtype), best)


def _tame(ring: Semiring, x: Any) -> Any:
    """The elements, with NaN and the other infinity replaced by the zero of the semiring."""
    wild = (x != x) | (x == -ring.zero)
    return tn.where(wild, tn.full((), ring.zero, dtype=x.dtype), x)


def _as_numbers(x: Any, claim: Any) -> Any:
    return tn.astype(claim, x.dtype)


def _blockwise(a: Any, b: Any) -> Any:
    """`[batch, left, block, right]`: an ordinary matrix product for each block."""
    return tn.permute_dims(tn.matmul(tn.permute_dims(a, (0, 2, 1, 3)), b), (0, 2, 1, 3))


def _reduced(ring: Semiring, x: Any, axis: int) -> Any:
    return (tn.max if ring.extremum == "max" else tn.min)(x, axis=axis)


def _first(ring: Semiring, x: Any, axis: int) -> Any:
    return (tn.argmax if ring.extremum == "max" else tn.argmin)(x, axis=axis)


def _add_at(size: int, places: Any, updates: Any) -> Any:
    return tn.zeros((size,), dtype=updates.dtype).at[places].add(updates)


STANDARD = Form(tn, values, winners, _add_at)
