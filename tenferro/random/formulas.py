"""Draws as functions of the words of a key, over an emitter.

The formulas are those of `jax.random`, step by step, so that the numbers are the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro.core import Emitter, V
from tenferro.ir import FLOAT64, INT64, UINT32, Dim, DimExpr, DType, as_dtype, real_dtype
from tenferro.ops import REM, STOP_GRADIENT
from tenferro.ops.functions import (
    Expression,
    analytic,
    apply,
    elementwise,
    is_number,
    logical,
    manipulation,
    promotion,
    reductions,
)
from tenferro.random import threefry
from tenferro.random.prng import real

# Random numbers of continuous distributions as functions of a key, over an emitter.

Shape = tuple[Dim, ...]


def unit(at: Emitter[V], key: V, shape: Shape, dtype: DType, name: str) -> Expression:
    """Numbers in [0, 1): multiples of the distance of the numbers below 1, each as likely."""
    digits = np.finfo(dtype).nmant
    if dtype == FLOAT64:
        high, low = threefry.drawn_words(at, key, shape, name)
        low = low >> (64 - digits)
        return high.astype(dtype) * 2.0**-32 + low.astype(dtype) * 2.0**-digits
    width = 8 * dtype.itemsize
    bits = threefry.drawn_bits(at, key, shape, as_dtype(f"u{width}"), name)
    return (bits >> (width - digits)).astype(dtype) * 2.0**-digits


def between(
    at: Emitter[V], key: V, minval: Any, maxval: Any, shape: Shape, dtype: DType, name: str
) -> Expression:
    """Numbers in [minval, maxval)."""
    fraction = unit(at, key, shape, dtype, name)
    if is_number(minval) and is_number(maxval) and (minval, maxval) == (0, 1):
        return fraction
    low = real(at, name, "minval", minval, dtype)
    high = real(at, name, "maxval", maxval, dtype)
    numbers = fraction * (high - low) + low
    return apply(elementwise.maximum, low, numbers)


def uniform(at: Emitter[V], key: V, minval: Any, maxval: Any, *, shape: Shape, dtype: DType) -> V:
    """Numbers in [minval, maxval)."""
    return between(at, key, minval, maxval, shape, dtype, "random.uniform").value  # type: ignore[no-any-return]


def normal(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """Numbers of the normal distribution, real or complex."""
    if dtype.kind != "c":
        return normals(at, key, shape, dtype).value  # type: ignore[no-any-return]
    keys = Expression(at, threefry.split(at, key, shape=(2,)))
    parts = [normals(at, keys[place].value, shape, real_dtype(dtype)) for place in range(2)]
    both: Expression = apply(elementwise.complex, *parts)
    return (both / _rounded(math.sqrt(2), both)).value  # type: ignore[no-any-return]


def normals(at: Emitter[V], key: V, shape: Shape, dtype: DType) -> Expression:
    """Real numbers of the normal distribution."""
    lowest = float(np.nextafter(dtype.type(-1), dtype.type(0)))
    numbers = between(at, key, lowest, 1.0, shape, dtype, "random.normal")
    root: Expression = apply(analytic.erf_inv, numbers)
    return root * _rounded(math.sqrt(2), root)


def _rounded(value: float, like: Expression) -> float:
    """A number, rounded to the precision of an expression."""
    return float(real_dtype(like.dtype).type(value))


def exponential(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """-log(1 - u) for uniform u."""
    return (-_log1p(-unit(at, key, shape, dtype, "random.exponential"))).value  # type: ignore[no-any-return]


def gumbel(at: Emitter[V], key: V, *, shape: Shape, dtype: DType, mode: str) -> V:
    """Numbers of the Gumbel distribution."""
    return gumbels(at, key, shape, dtype, mode).value  # type: ignore[no-any-return]


def gumbels(at: Emitter[V], key: V, shape: Shape, dtype: DType, mode: str) -> Expression:
    """Numbers of the Gumbel distribution; "high" draws two for each."""
    info = np.finfo(dtype)
    tiny = float(info.tiny)
    if mode == "low":
        numbers = between(at, key, tiny, 1.0, shape, dtype, "random.gumbel")
        return -_log(-_log(numbers))
    both = unit(at, key, (2, *shape), dtype, "random.gumbel")
    high, low = both[0], both[1]
    fine = high + low * 2.0**-info.nmant + tiny
    numbers = apply(elementwise.where, high >= 0.5, high, fine)
    return -_log(-_log1p(-numbers))


def laplace(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """sign(u)·log(1 - |u|) for u uniform between -1 and 1."""
    lowest = float(dtype.type(-1.0) + np.finfo(dtype).epsneg)
    numbers = between(at, key, lowest, 1.0, shape, dtype, "random.laplace")
    sign: Expression = apply(elementwise.sign, numbers)
    return (sign * _log1p(-abs(numbers))).value  # type: ignore[no-any-return]


def logistic(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """log(u/(1 - u)) for uniform u."""
    tiny = float(np.finfo(dtype).tiny)
    numbers = between(at, key, tiny, 1.0, shape, dtype, "random.logistic")
    return (_log(numbers) - _log1p(-numbers)).value  # type: ignore[no-any-return]


def cauchy(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """tan(π(u - 1/2)) for uniform u."""
    eps = float(np.finfo(dtype).eps)
    numbers = between(at, key, eps, 1.0, shape, dtype, "random.cauchy")
    return apply(analytic.tan, (numbers - 0.5) * math.pi).value  # type: ignore[no-any-return]


def truncated_normal(
    at: Emitter[V], key: V, lower: Any, upper: Any, *, shape: Shape, dtype: DType
) -> V:
    """The inverse of erf at uniform numbers between erf of both bounds, as JAX draws them.

    Where erf has too few digits left, the inverse of the logarithm of the tail.
    """
    name = "random.truncated_normal"
    low, high = real(at, name, "lower", lower, dtype), real(at, name, "upper", upper, dtype)
    root2 = _rounded(math.sqrt(2), low)
    first, last = (apply(analytic.erf, bound / root2) for bound in (low, high))
    level = unit(at, key, shape, dtype, name)
    fraction: Expression = apply(elementwise.maximum, first, level * (last - first) + first)
    tail = None
    if not (is_number(lower) and is_number(upper) and lower <= 0 <= upper):
        tail = _saturated(low, high, first, last, fraction)
        fraction = apply(elementwise.where, tail, 0.0, fraction)
    inner: Expression = apply(analytic.erf_inv, fraction)
    inner = inner * root2
    if tail is not None:
        outer = _of_tail(low, high, last < 0, tail, level)
        inner = apply(elementwise.where, tail, outer, inner)
    inner = apply(elementwise.maximum, inner, _next(low, 1))
    return apply(elementwise.minimum, inner, _next(high, -1)).value  # type: ignore[no-any-return]


def _saturated(
    low: Expression, high: Expression, first: Expression, last: Expression, fraction: Expression
) -> Expression:
    """Where the values of erf have too few digits between both bounds, or the one drawn is ±1."""
    right, left = first > 0, last < 0
    edge: Expression = apply(elementwise.where, right, first, -last)
    few = edge > 1 - 128 * float(np.finfo(first.dtype).eps)
    return (right | left) & (low < high) & (few | (abs(fraction) >= 1))


def _of_tail(
    low: Expression, high: Expression, left: Expression, tail: Expression, level: Expression
) -> Expression:
    """Normal numbers between bounds of one sign, at a level of the probability between them.

    x with (x² - near²)/2 - log(E(x)/E(near)) = -log(1 - level·(1 - r)), by Newton's method, where E
    is `erfcx` of x/√2 and r the share of what lies beyond the far bound.
    """

    def where(condition: Expression, x: Any, y: Any) -> Expression:
        return apply(elementwise.where, condition, x, y)

    def scaled(x: Expression) -> Expression:
        return apply(_erfcx, x * math.sqrt(0.5))

    near = where(tail, where(left, -high, low), 1.0)
    far = where(tail, where(left, -low, high), 2.0)
    level = where(left, 1 - level, level)
    start = scaled(near)
    beyond = _exp((far - near) * (far + near) * -0.5) * (scaled(far) / start)
    depth = -_log1p(level * (beyond - 1))
    energy = depth
    for _ in range(_NEWTON_STEPS):
        x = near + _excess(energy, near)
        density = scaled(x)
        missing = energy - depth - _log(density / start)
        energy = energy - missing * x * density * math.sqrt(math.pi / 2)
    x = near + _excess(energy, near)
    return where(left, -x, x)


_NEWTON_STEPS = 3
"""Enough for 15 digits, since the logarithm changes slowly."""


def _excess(energy: Expression, near: Expression) -> Expression:
    """x - near, where energy is (x² - near²)/2."""
    ratio = energy / near
    root: Expression = apply(analytic.sqrt, ratio / near * 2 + 1)
    return ratio * 2 / (root + 1)


def _erfcx(at: Emitter[V], x: V) -> V:
    return analytic.special(at, "random.truncated_normal", "erfcx", x)


def _exp(x: Expression) -> Expression:
    return apply(analytic.exp, x)


def _next(bound: Expression, direction: int) -> Expression:
    """The number after a bound, towards plus or minus infinity; a constant for derivatives.

    Source: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and successor in rounding
    to nearest", BIT 49, 2009.
    """
    info = np.finfo(bound.dtype)
    x = Expression(bound.emitter, bound.emitter.emit(STOP_GRADIENT, bound.value))
    unit_roundoff = float(info.eps) / 2
    step = abs(x) * (unit_roundoff * (1 + 2 * unit_roundoff)) + float(info.smallest_subnormal)
    infinite: Expression = apply(logical.isinf, x)
    largest: Expression = apply(elementwise.sign, x) * float(info.max)
    return apply(elementwise.where, infinite, largest, x + step * direction)


def _log(x: Expression) -> Expression:
    return apply(analytic.log, x)


def _log1p(x: Expression) -> Expression:
    return apply(analytic.log1p, x)


# Bits, integers and choices as functions of a key, over an emitter.


def bits(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """Random bits."""
    return threefry.drawn_bits(at, key, shape, dtype, "bits").value  # type: ignore[no-any-return]


def randint(at: Emitter[V], key: V, minval: Any, maxval: Any, *, shape: Shape, dtype: DType) -> V:
    """Integers of at least 32 bits from [minval, maxval): remainders of twice as many bits."""
    info = np.iinfo(dtype)
    wide = dtype if info.bits >= 32 else np.dtype(np.int32)
    low, _ = _clipped(at, minval, dtype, wide, 0)
    high, beyond = _clipped(at, maxval, dtype, wide, 1)
    unsigned = as_dtype(f"u{8 * wide.itemsize}")
    keys = Expression(at, threefry.split(at, key, shape=(2,)))
    upper, lower = (
        threefry.drawn_bits(at, keys[i].value, shape, unsigned, "bits") for i in range(2)
    )
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
        bound = promotion.as_value(at, bound, INT64)
    if isinstance(bound, int):
        most = info.max if wide == dtype else info.max + over
        value = promotion.as_value(at, min(max(bound, info.min), most), wide)
        above = over and wide == dtype and bound > info.max
        return Expression(at, value), _true(at) if above else None
    x = Expression(at, promotion.as_value(at, bound, at.ctx.meta(bound).dtype))
    of_bound = np.iinfo(x.dtype)
    if wide != dtype:
        most = min(info.max + over, of_bound.max)
        return _clip(x, max(info.min, of_bound.min), most).astype(wide), None
    beyond = x > info.max if over and of_bound.max > info.max else None
    return _clip(x, max(info.min, of_bound.min), min(info.max, of_bound.max)).astype(wide), beyond


def _clip(x: Expression, low: int, high: int) -> Expression:
    x = apply(elementwise.maximum, x, low)
    return apply(elementwise.minimum, x, high)


def _same(x: Expression, number: int) -> Expression:
    return apply(logical.equal, x, number)


def _true(at: Emitter[Any]) -> Expression:
    return Expression(at, promotion.as_value(at, True, np.dtype(bool)))


def _rem(x: Expression | int, y: Expression) -> Expression:
    dividend = _number(y, x) if isinstance(x, int) else x
    return Expression(y.emitter, y.emitter.emit(REM, *_alike(dividend, y)))


def _number(like: Expression, value: int) -> Expression:
    return Expression(like.emitter, promotion.as_value(like.emitter, value, like.dtype))


def _alike(x: Expression, y: Expression) -> list[Any]:
    """The values of both, of one shape."""
    return promotion.broadcast(x.emitter, "random.randint", [x.value, y.value])


def _where(condition: Expression, x: Any, y: Any) -> Expression:
    return apply(elementwise.where, condition, x, y)


def bernoulli(at: Emitter[V], key: V, p: Any, *, shape: Shape, dtype: DType, mode: str) -> V:
    """Whether uniform numbers are below p."""
    chance = real(at, "random.bernoulli", "p", p, dtype)
    if mode == "low":
        return (unit(at, key, shape, dtype, "random.bernoulli") < chance).value  # type: ignore[no-any-return]
    both = unit(at, key, (2, *shape), dtype, "random.bernoulli")
    fine = both[1] * 2.0 ** -np.finfo(dtype).nmant
    return (fine < chance - both[0]).value  # type: ignore[no-any-return]


def rademacher(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """1 or -1."""
    heads = unit(at, key, shape, FLOAT64, "random.rademacher") < 0.5
    return (heads.astype(dtype) * 2 - 1).astype(dtype).value  # type: ignore[no-any-return]


def categorical(at: Emitter[V], key: V, logits: V, *, shape: Shape, axis: int, mode: str) -> V:
    """With replacement: the places of the largest sums with Gumbel noise, along `axis`.

    `shape` is that of the noise, which may have further axes in front; the axis is counted from the
    end.
    """
    x = Expression(at, logits)
    noisy = gumbels(at, key, shape, x.dtype, mode) + x
    return apply(reductions.argmax, noisy, axis=axis).value  # type: ignore[no-any-return]


def categories(
    at: Emitter[V], key: V, logits: V, *, shape: Shape, axis: int, count: int, mode: str
) -> V:
    """Without replacement: the places of the `count` largest sums, along a first axis."""
    x = Expression(at, logits)
    noisy = gumbels(at, key, shape, x.dtype, mode) + x
    noisy = apply(manipulation.moveaxis, noisy, source=axis, destination=-1)
    places: Expression = apply(reductions.top_places, noisy, k=count)
    return apply(manipulation.moveaxis, places, source=-1, destination=0).value  # type: ignore[no-any-return]


def shuffled(at: Emitter[V], key: V, x: V, *, shape: Shape, axis: int) -> V:
    """x with each vector along an axis shuffled for itself: sorted by random bits."""
    result, words = Expression(at, x), Expression(at, key)
    count = math.prod(size for size in shape if isinstance(size, int))
    rounds = math.ceil(3 * math.log(max(1, count)) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = Expression(at, threefry.split(at, words.value, shape=(2,)))
        words = keys[0]
        order = threefry.drawn_bits(at, keys[1].value, shape, UINT32, "bits")
        places: Expression = apply(reductions.argsort, order, axis=axis)
        result = apply(reductions.take_along_axis, result, places, axis=axis)
    return result.value  # type: ignore[no-any-return]


def chosen_by(at: Emitter[V], key: V, p: V, *, shape: Shape) -> V:
    """Places, drawn with probabilities p: how many cumulated sums are below a random part."""
    sums: Expression = apply(reductions.cumsum, Expression(at, p))
    part = sums[-1] * (1 - unit(at, key, shape, sums.dtype, "random.choice"))
    (count,) = sums.shape
    if isinstance(count, int):
        return _number_below(sums, part, count).value  # type: ignore[no-any-return]
    wide: Expression = apply(manipulation.expand_dims, part, axis=-1)
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
    is_scalar = not places.meta.rank
    index: Any = apply(manipulation.expand_dims, places, axis=0) if is_scalar else places
    return x[(index,)][0] if is_scalar else x[(index,)]


def first_places(at: Emitter[V], key: V, p: V, *, shape: Shape, count: int, mode: str) -> V:
    """`count` different places, drawn with probabilities p one after the other."""
    noisy = gumbels(at, key, shape, at.ctx.meta(p).dtype, mode)
    noisy = noisy + apply(analytic.log, Expression(at, p))
    return apply(reductions.top_places, noisy, k=count).value  # type: ignore[no-any-return]
