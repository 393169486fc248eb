"""Contractions as standard ops, written with the array functions of tenferro, for any executor.

A contraction is a loop over the contracted index: `tn.scan`, whose carry is the best product so
far. Its memory is that of the result, whatever the contracted size. XLA compiles several rounds as
one, so that the carry is read and written once for them. If the result is small, all products are
computed at once, since the loop would be mostly overhead.
"""

from __future__ import annotations

from typing import Any

import tenferro as tn
from tenferro_ext_tropical.forms import Form
from tenferro_ext_tropical.semiring import Semiring

UNROLL = 16
"""Contracted indices that one step of the compiled loop processes."""
SMALL = 64
"""Largest number of elements of the result for which all products are computed at once."""


def values(ring: Semiring, a: Any, b: Any) -> Any:
    """The product of `[batch, left, contracted]` and `[batch, contracted, right]`.

    >>> from tenferro_ext_tropical.semiring import semiring
    >>> values(semiring("maxplus"), tn.Tensor([[[1.0, 5.0]]]), tn.Tensor([[[3.0], [0.0]]]))
    Tensor([[[5.]]])
    """
    if _is_small(a, b):
        return _best(ring, _all_products(ring, a, b))

    def step(best: Any, factors: Any) -> tuple[Any, None]:
        product = _product(*factors)
        return tn.where(ring.better(product, best), product, best), None

    best, _ = tn.scan(step, _full(a, b, ring.zero, a.dtype), _by_contracted(a, b), unroll=UNROLL)
    return best


def winners(ring: Semiring, a: Any, b: Any) -> tuple[Any, Any]:
    """The first contracted index of the best product, and whether there is a product.

    >>> from tenferro_ext_tropical.semiring import semiring
    >>> a, b = tn.Tensor([[[1.0, 5.0]]]), tn.Tensor([[[4.0], [0.0]]])
    >>> winners(semiring("maxplus"), a, b)
    (Tensor([[[0]]]), Tensor([[[ True]]]))
    """
    if _is_small(a, b):
        products = _all_products(ring, a, b)
        first = (tn.argmax if ring.extremum == "max" else tn.argmin)(products, axis=2)
        return first, _best(ring, products) != ring.zero

    # indices as wide as elements, so that one vector instruction takes as many of either
    index_dtype = "int32" if a.dtype == tn.float32 else "int64"

    def step(state: Any, entry: Any) -> tuple[Any, None]:
        (best, index), (number, factors) = state, entry
        product = _product(*factors)
        wins = ring.better(product, best)
        return (tn.where(wins, product, best), tn.where(wins, number, index)), None

    numbers = tn.arange(a.shape[2], dtype=index_dtype)
    start = (_full(a, b, ring.zero, a.dtype), _full(a, b, -1, index_dtype))
    (_, index), _ = tn.scan(step, start, (numbers, _by_contracted(a, b)), unroll=UNROLL)
    return index, index >= 0


def _by_contracted(a: Any, b: Any) -> tuple[Any, Any]:
    """The operands with the contracted index first."""
    return tn.permute_dims(a, (2, 0, 1)), tn.permute_dims(b, (1, 0, 2))


def _product(column: Any, row: Any) -> Any:
    """`[batch, left, right]`, from `[batch, left]` and `[batch, right]`."""
    return tn.expand_dims(column, axis=2) + tn.expand_dims(row, axis=1)


def _full(a: Any, b: Any, value: float, dtype: Any) -> Any:
    return tn.full((a.shape[0], a.shape[1], b.shape[2]), value, dtype=dtype)


def _is_small(a: Any, b: Any) -> bool:
    """Whether the result is so small that a loop over contracted indices is mostly overhead."""
    return bool(a.shape[0] * a.shape[1] * b.shape[2] <= SMALL and a.shape[2] > UNROLL)


def _all_products(ring: Semiring, a: Any, b: Any) -> Any:
    """`[batch, left, contracted, right]`, zero where NaN."""
    products = tn.expand_dims(a, axis=3) + tn.expand_dims(b, axis=1)
    return tn.where(products == products, products, tn.full((), ring.zero, dtype=a.dtype))


def _best(ring: Semiring, products: Any) -> Any:
    return (tn.max if ring.extremum == "max" else tn.min)(products, axis=2)


def _add_at(size: int, places: Any, updates: Any) -> Any:
    return tn.zeros((size,), dtype=updates.dtype).at[places].add(updates)


STANDARD = Form(tn, values, winners, _add_at)
