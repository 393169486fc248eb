"""Bits, integers and choices as functions of a key, over an emitter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro.arrays import (
    Expression,
    analytic,
    apply,
    broadcasting,
    elementwise,
    logical,
    operands,
    rearrange,
    reductions,
    scans,
    sorting,
)
from tenferro.chainrules import Emitter, V
from tenferro.ops import REM
from tenferro.random import blocks, formulas
from tenferro.random.parameters import real
from tenferro.shape import FLOAT64, INT64, UINT32, Dim, DimExpr, DType, as_dtype

Shape = tuple[Dim, ...]


def bits(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """Random bits."""
    return blocks.drawn_bits(at, key, shape, dtype, "bits").value  # type: ignore[no-any-return]


def randint(at: Emitter[V], key: V, minval: Any, maxval: Any, *, shape: Shape, dtype: DType) -> V:
    """Integers of at least 32 bits from [minval, maxval): remainders of twice as many bits."""
    info = np.iinfo(dtype)
    wide = dtype if info.bits >= 32 else np.dtype(np.int32)
    low, _ = _clipped(at, minval, dtype, wide, 0)
    high, beyond = _clipped(at, maxval, dtype, wide, 1)
    unsigned = as_dtype(f"u{8 * wide.itemsize}")
    keys = Expression(at, blocks.split(at, key, shape=(2,)))
    upper, lower = (blocks.drawn_bits(at, keys[i].value, shape, unsigned, "bits") for i in range(2))
    empty = high <= low
    span = _where(empty, 1, (high - low).astype(unsigned))
    if beyond is not None:
        span = _where(beyond & ~empty, span + 1, span)
    factor = _rem(2 ** (4 * wide.itemsize), span)
    factor = _rem(factor * factor, span)
    offset = _rem(_rem(upper, span) * factor + _rem(lower, span), span)
    if beyond is not None:  # the range may be that of the dtype: then its size is 0 here
        offset = _where(_same(span, 0), lower, offset)
    return (low + offset.astype(wide)).astype(dtype).value  # type: ignore[no-any-return]


def _clipped(
    at: Emitter[V], bound: Any, dtype: DType, wide: DType, over: int
) -> tuple[Expression, Expression | None]:
    """A bound within the range of `dtype`, and whether it was above it.

    If the bits are drawn in a wider dtype, the bound may be `over` beyond the range.
    """
    info = np.iinfo(dtype)
    if isinstance(bound, DimExpr):
        bound = operands.as_value(at, bound, INT64)
    if isinstance(bound, int):
        most = info.max if wide == dtype else info.max + over
        value = operands.as_value(at, min(max(bound, info.min), most), wide)
        above = over and wide == dtype and bound > info.max
        return Expression(at, value), _true(at) if above else None
    x = Expression(at, operands.as_value(at, bound, at.ctx.meta(bound).dtype))
    of_bound = np.iinfo(x.dtype)
    if wide != dtype:
        most = min(info.max + over, of_bound.max)
        return _clip(x, max(info.min, of_bound.min), most).astype(wide), None
    beyond = x > info.max if over and of_bound.max > info.max else None
    return _clip(x, max(info.min, of_bound.min), min(info.max, of_bound.max)).astype(wide), beyond


def _clip(x: Expression, low: int, high: int) -> Expression:
    x = apply(elementwise.maximum, x, low)
    return apply(elementwise.minimum, x, high)  # type: ignore[no-any-return]


def _same(x: Expression, number: int) -> Expression:
    return apply(logical.equal, x, number)  # type: ignore[no-any-return]


def _true(at: Emitter[Any]) -> Expression:
    return Expression(at, operands.as_value(at, True, np.dtype(bool)))


def _rem(x: Expression | int, y: Expression) -> Expression:
    dividend = _number(y, x) if isinstance(x, int) else x
    return Expression(y.emitter, y.emitter.emit(REM, *_alike(dividend, y)))


def _number(like: Expression, value: int) -> Expression:
    return Expression(like.emitter, operands.as_value(like.emitter, value, like.dtype))


def _alike(x: Expression, y: Expression) -> list[Any]:
    """The values of both, of one shape."""
    return broadcasting.broadcast(x.emitter, "random.randint", [x.value, y.value])


def _where(condition: Expression, x: Any, y: Any) -> Expression:
    return apply(elementwise.where, condition, x, y)  # type: ignore[no-any-return]


def bernoulli(at: Emitter[V], key: V, p: Any, *, shape: Shape, dtype: DType, mode: str) -> V:
    """Whether uniform numbers are below p."""
    chance = real(at, "random.bernoulli", "p", p, dtype)
    if mode == "low":
        return (formulas.unit(at, key, shape, dtype, "random.bernoulli") < chance).value  # type: ignore[no-any-return]
    both = formulas.unit(at, key, (2, *shape), dtype, "random.bernoulli")
    fine = both[1] * 2.0 ** -np.finfo(dtype).nmant
    return (fine < chance - both[0]).value  # type: ignore[no-any-return]


def rademacher(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """1 or -1."""
    heads = formulas.unit(at, key, shape, FLOAT64, "random.rademacher") < 0.5
    return (heads.astype(dtype) * 2 - 1).astype(dtype).value  # type: ignore[no-any-return]


def categorical(at: Emitter[V], key: V, logits: V, *, shape: Shape, axis: int, mode: str) -> V:
    """With replacement: the places of the largest sums with Gumbel noise, along `axis`.

    `shape` is that of the noise, which may have further axes in front; the axis is counted from the
    end.
    """
    x = Expression(at, logits)
    noisy = formulas.gumbels(at, key, shape, x.dtype, mode) + x
    return apply(sorting.argmax, noisy, axis=axis).value  # type: ignore[no-any-return]


def categories(
    at: Emitter[V], key: V, logits: V, *, shape: Shape, axis: int, count: int, mode: str
) -> V:
    """Without replacement: the places of the `count` largest sums, along a first axis."""
    x = Expression(at, logits)
    noisy = formulas.gumbels(at, key, shape, x.dtype, mode) + x
    noisy = apply(rearrange.moveaxis, noisy, source=axis, destination=-1)
    places: Expression = apply(sorting.top_places, noisy, k=count)
    return apply(rearrange.moveaxis, places, source=-1, destination=0).value  # type: ignore[no-any-return]


def shuffled(at: Emitter[V], key: V, x: V, *, shape: Shape, axis: int) -> V:
    """x with each vector along an axis shuffled for itself: sorted by random bits."""
    result, words = Expression(at, x), Expression(at, key)
    count = math.prod(size for size in shape if isinstance(size, int))
    rounds = math.ceil(3 * math.log(max(1, count)) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = Expression(at, blocks.split(at, words.value, shape=(2,)))
        words = keys[0]
        order = blocks.drawn_bits(at, keys[1].value, shape, UINT32, "bits")
        places: Expression = apply(sorting.argsort, order, axis=axis)
        result = apply(sorting.take_along_axis, result, places, axis=axis)
    return result.value  # type: ignore[no-any-return]


def chosen_by(at: Emitter[V], key: V, p: V, *, shape: Shape) -> V:
    """Places, drawn with probabilities p: how many cumulated sums are below a random part."""
    sums: Expression = apply(scans.cumsum, Expression(at, p))
    part = sums[-1] * (1 - formulas.unit(at, key, shape, sums.dtype, "random.choice"))
    (count,) = sums.shape
    if isinstance(count, int):
        return _number_below(sums, part, count).value  # type: ignore[no-any-return]
    wide: Expression = apply(rearrange.expand_dims, part, axis=-1)
    return apply(reductions.sum, (sums < wide).astype(INT64), axis=-1).value  # type: ignore[no-any-return]


def _number_below(sums: Expression, part: Expression, count: int) -> Expression:
    """How many of `count` ascending numbers are below a part: bisection."""
    found = (part * 0).astype(INT64)
    for power in reversed(range(count.bit_length())):
        further = found + (1 << power)
        last: Expression = apply(elementwise.minimum, further, count)
        below = _at(sums, last - 1) < part
        found = _where((further <= count) & below, further, found)
    return found


def _at(x: Expression, places: Expression) -> Expression:
    """The elements of a vector at places."""
    if places.meta.rank:
        return x[(places,)]  # type: ignore[index]  # expressions have what indexing needs
    return x[(apply(rearrange.expand_dims, places, axis=0),)][0]


def first_places(at: Emitter[V], key: V, p: V, *, shape: Shape, count: int, mode: str) -> V:
    """`count` different places, drawn with probabilities p one after the other."""
    noisy = formulas.gumbels(at, key, shape, at.ctx.meta(p).dtype, mode)
    noisy = noisy + apply(analytic.log, Expression(at, p))
    return apply(sorting.top_places, noisy, k=count).value  # type: ignore[no-any-return]
