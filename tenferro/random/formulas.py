"""Draws as functions of the words of a key.

The formulas are those of `jax.random`, step by step, so that the numbers are the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro.ir import FLOAT64, INT64, UINT32, AnyTensor, Dim, DimExpr, DType, as_dtype, real_dtype
from tenferro.ops import REM, STOP_GRADIENT
from tenferro.ops.functions import (
    analytic,
    elementwise,
    emit,
    is_number,
    logical,
    manipulation,
    promotion,
    reductions,
)
from tenferro.random import threefry
from tenferro.random.prng import real

# Random numbers of continuous distributions as functions of a key.

Shape = tuple[Dim, ...]


def unit(key: AnyTensor, shape: Shape, dtype: DType, name: str) -> AnyTensor:
    """Numbers in [0, 1): multiples of the distance of the numbers below 1, each as likely."""
    digits = np.finfo(dtype).nmant
    if dtype == FLOAT64:
        high, low = threefry.drawn_words(key, shape, name)
        low = low >> (64 - digits)
        return high.astype(dtype) * 2.0**-32 + low.astype(dtype) * 2.0**-digits
    width = 8 * dtype.itemsize
    bits = threefry.drawn_bits(key, shape, as_dtype(f"u{width}"), name)
    return (bits >> (width - digits)).astype(dtype) * 2.0**-digits


def between(
    key: AnyTensor, minval: Any, maxval: Any, shape: Shape, dtype: DType, name: str
) -> AnyTensor:
    """Numbers in [minval, maxval)."""
    fraction = unit(key, shape, dtype, name)
    if is_number(minval) and is_number(maxval) and (minval, maxval) == (0, 1):
        return fraction
    low = real(name, "minval", minval, dtype)
    high = real(name, "maxval", maxval, dtype)
    numbers = fraction * (high - low) + low
    return elementwise.maximum(low, numbers)


def uniform(key: AnyTensor, minval: Any, maxval: Any, *, shape: Shape, dtype: DType) -> AnyTensor:
    """Numbers in [minval, maxval)."""
    return between(key, minval, maxval, shape, dtype, "random.uniform")


def normal(key: AnyTensor, *, shape: Shape, dtype: DType) -> AnyTensor:
    """Numbers of the normal distribution, real or complex."""
    if dtype.kind != "c":
        return normals(key, shape, dtype)
    keys = threefry.split(key, shape=(2,))
    parts = [normals(keys[place], shape, real_dtype(dtype)) for place in range(2)]
    both: AnyTensor = elementwise.complex(*parts)
    return both / _rounded(math.sqrt(2), both)


def normals(key: AnyTensor, shape: Shape, dtype: DType) -> AnyTensor:
    """Real numbers of the normal distribution."""
    lowest = float(np.nextafter(dtype.type(-1), dtype.type(0)))
    numbers = between(key, lowest, 1.0, shape, dtype, "random.normal")
    root: AnyTensor = analytic.erf_inv(numbers)
    return root * _rounded(math.sqrt(2), root)


def _rounded(value: float, like: AnyTensor) -> float:
    """A number, rounded to the precision of an expression."""
    return float(real_dtype(like.dtype).type(value))


def exponential(key: AnyTensor, *, shape: Shape, dtype: DType) -> AnyTensor:
    """-log(1 - u) for uniform u."""
    return -_log1p(-unit(key, shape, dtype, "random.exponential"))


def gumbel(key: AnyTensor, *, shape: Shape, dtype: DType, mode: str) -> AnyTensor:
    """Numbers of the Gumbel distribution."""
    return gumbels(key, shape, dtype, mode)


def gumbels(key: AnyTensor, shape: Shape, dtype: DType, mode: str) -> AnyTensor:
    """Numbers of the Gumbel distribution; "high" draws two for each."""
    info = np.finfo(dtype)
    tiny = float(info.tiny)
    if mode == "low":
        numbers = between(key, tiny, 1.0, shape, dtype, "random.gumbel")
        return -_log(-_log(numbers))
    both = unit(key, (2, *shape), dtype, "random.gumbel")
    high, low = both[0], both[1]
    fine = high + low * 2.0**-info.nmant + tiny
    numbers = elementwise.where(high >= 0.5, high, fine)
    return -_log(-_log1p(-numbers))


def laplace(key: AnyTensor, *, shape: Shape, dtype: DType) -> AnyTensor:
    """sign(u)·log(1 - |u|) for u uniform between -1 and 1."""
    lowest = float(dtype.type(-1.0) + np.finfo(dtype).epsneg)
    numbers = between(key, lowest, 1.0, shape, dtype, "random.laplace")
    sign: AnyTensor = elementwise.sign(numbers)
    return sign * _log1p(-abs(numbers))


def logistic(key: AnyTensor, *, shape: Shape, dtype: DType) -> AnyTensor:
    """log(u/(1 - u)) for uniform u."""
    tiny = float(np.finfo(dtype).tiny)
    numbers = between(key, tiny, 1.0, shape, dtype, "random.logistic")
    return _log(numbers) - _log1p(-numbers)


def cauchy(key: AnyTensor, *, shape: Shape, dtype: DType) -> AnyTensor:
    """tan(π(u - 1/2)) for uniform u."""
    eps = float(np.finfo(dtype).eps)
    numbers = between(key, eps, 1.0, shape, dtype, "random.cauchy")
    return analytic.tan((numbers - 0.5) * math.pi)


def truncated_normal(
    key: AnyTensor, lower: Any, upper: Any, *, shape: Shape, dtype: DType
) -> AnyTensor:
    """The inverse of erf at uniform numbers between erf of both bounds, as JAX draws them.

    Where erf has too few digits left, the inverse of the logarithm of the tail.
    """
    name = "random.truncated_normal"
    low, high = real(name, "lower", lower, dtype), real(name, "upper", upper, dtype)
    root2 = _rounded(math.sqrt(2), low)
    first, last = (analytic.erf(bound / root2) for bound in (low, high))
    level = unit(key, shape, dtype, name)
    fraction: AnyTensor = elementwise.maximum(first, level * (last - first) + first)
    tail = None
    if not (is_number(lower) and is_number(upper) and lower <= 0 <= upper):
        tail = _saturated(low, high, first, last, fraction)
        fraction = elementwise.where(tail, 0.0, fraction)
    inner: AnyTensor = analytic.erf_inv(fraction)
    inner = inner * root2
    if tail is not None:
        outer = _of_tail(low, high, last < 0, tail, level)
        inner = elementwise.where(tail, outer, inner)
    inner = elementwise.maximum(inner, _next(low, 1))
    return elementwise.minimum(inner, _next(high, -1))


def _saturated(
    low: AnyTensor, high: AnyTensor, first: AnyTensor, last: AnyTensor, fraction: AnyTensor
) -> AnyTensor:
    """Where the values of erf have too few digits between both bounds, or the one drawn is ±1."""
    right, left = first > 0, last < 0
    edge: AnyTensor = elementwise.where(right, first, -last)
    few = edge > 1 - 128 * float(np.finfo(first.dtype).eps)
    return (right | left) & (low < high) & (few | (abs(fraction) >= 1))


def _of_tail(
    low: AnyTensor, high: AnyTensor, left: AnyTensor, tail: AnyTensor, level: AnyTensor
) -> AnyTensor:
    """Normal numbers between bounds of one sign, at a level of the probability between them.

    x with (x² - near²)/2 - log(E(x)/E(near)) = -log(1 - level·(1 - r)), by Newton's method, where E
    is `erfcx` of x/√2 and r the share of what lies beyond the far bound.
    """

    def where(condition: AnyTensor, x: Any, y: Any) -> AnyTensor:
        return elementwise.where(condition, x, y)

    def scaled(x: AnyTensor) -> AnyTensor:
        return _erfcx(x * math.sqrt(0.5))

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


def _excess(energy: AnyTensor, near: AnyTensor) -> AnyTensor:
    """x - near, where energy is (x² - near²)/2."""
    ratio = energy / near
    root: AnyTensor = analytic.sqrt(ratio / near * 2 + 1)
    return ratio * 2 / (root + 1)


def _erfcx(x: AnyTensor) -> AnyTensor:
    return analytic.special("random.truncated_normal", "erfcx", x)


def _exp(x: AnyTensor) -> AnyTensor:
    return analytic.exp(x)


def _next(bound: AnyTensor, direction: int) -> AnyTensor:
    """The number after a bound, towards plus or minus infinity; a constant for derivatives.

    Source: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and successor in rounding
    to nearest", BIT 49, 2009.
    """
    info = np.finfo(bound.dtype)
    x = emit(STOP_GRADIENT, bound)
    unit_roundoff = float(info.eps) / 2
    step = abs(x) * (unit_roundoff * (1 + 2 * unit_roundoff)) + float(info.smallest_subnormal)
    infinite: AnyTensor = logical.isinf(x)
    largest: AnyTensor = elementwise.sign(x) * float(info.max)
    return elementwise.where(infinite, largest, x + step * direction)


def _log(x: AnyTensor) -> AnyTensor:
    return analytic.log(x)


def _log1p(x: AnyTensor) -> AnyTensor:
    return analytic.log1p(x)


# Bits, integers and choices as functions of a key.


def bits(key: AnyTensor, *, shape: Shape, dtype: DType) -> AnyTensor:
    """Random bits."""
    return threefry.drawn_bits(key, shape, dtype, "bits")


def randint(key: AnyTensor, minval: Any, maxval: Any, *, shape: Shape, dtype: DType) -> AnyTensor:
    """Integers of at least 32 bits from [minval, maxval): remainders of twice as many bits."""
    info = np.iinfo(dtype)
    wide = dtype if info.bits >= 32 else np.dtype(np.int32)
    low, _ = _clipped(minval, dtype, wide, 0)
    high, beyond = _clipped(maxval, dtype, wide, 1)
    unsigned = as_dtype(f"u{8 * wide.itemsize}")
    keys = threefry.split(key, shape=(2,))
    upper, lower = (threefry.drawn_bits(keys[i], shape, unsigned, "bits") for i in range(2))
    empty = high <= low
    span = _where(empty, 1, (high - low).astype(unsigned))
    if beyond is not None:
        span = _where(beyond & ~empty, span + 1, span)
    factor = _rem(2 ** (4 * wide.itemsize), span)
    factor = _rem(factor * factor, span)
    offset = _rem(_rem(upper, span) * factor + _rem(lower, span), span)
    if beyond is not None:  # the range may be that of the dtype: then its size is 0 here
        offset = _where(_same(span, 0), lower, offset)
    return (low + offset.astype(wide)).astype(dtype)


def _clipped(
    bound: Any, dtype: DType, wide: DType, over: int
) -> tuple[AnyTensor, AnyTensor | None]:
    """A bound within the range of `dtype`, and whether it was above it.

    If the bits are drawn in a wider dtype, the bound may be `over` beyond the range.
    """
    info = np.iinfo(dtype)
    if isinstance(bound, DimExpr):
        bound = promotion.as_value(bound, INT64)
    if isinstance(bound, int):
        most = info.max if wide == dtype else info.max + over
        value = promotion.as_value(min(max(bound, info.min), most), wide)
        above = over and wide == dtype and bound > info.max
        return value, _true() if above else None
    x = promotion.as_value(bound, bound.meta.dtype)
    of_bound = np.iinfo(x.dtype)
    if wide != dtype:
        most = min(info.max + over, of_bound.max)
        return _clip(x, max(info.min, of_bound.min), most).astype(wide), None
    beyond = x > info.max if over and of_bound.max > info.max else None
    return _clip(x, max(info.min, of_bound.min), min(info.max, of_bound.max)).astype(wide), beyond


def _clip(x: AnyTensor, low: int, high: int) -> AnyTensor:
    x = elementwise.maximum(x, low)
    return elementwise.minimum(x, high)


def _same(x: AnyTensor, number: int) -> AnyTensor:
    return logical.equal(x, number)


def _true() -> AnyTensor:
    return promotion.as_value(True, np.dtype(bool))


def _rem(x: AnyTensor | int, y: AnyTensor) -> AnyTensor:
    dividend = _number(y, x) if isinstance(x, int) else x
    return emit(REM, *_alike(dividend, y))


def _number(like: AnyTensor, value: int) -> AnyTensor:
    return promotion.as_value(value, like.dtype)


def _alike(x: AnyTensor, y: AnyTensor) -> list[Any]:
    """The values of both, of one shape."""
    return promotion.broadcast("random.randint", [x, y])


def _where(condition: AnyTensor, x: Any, y: Any) -> AnyTensor:
    return elementwise.where(condition, x, y)


def bernoulli(key: AnyTensor, p: Any, *, shape: Shape, dtype: DType, mode: str) -> AnyTensor:
    """Whether uniform numbers are below p."""
    chance = real("random.bernoulli", "p", p, dtype)
    if mode == "low":
        return unit(key, shape, dtype, "random.bernoulli") < chance
    both = unit(key, (2, *shape), dtype, "random.bernoulli")
    fine = both[1] * 2.0 ** -np.finfo(dtype).nmant
    return fine < chance - both[0]


def rademacher(key: AnyTensor, *, shape: Shape, dtype: DType) -> AnyTensor:
    """1 or -1."""
    heads = unit(key, shape, FLOAT64, "random.rademacher") < 0.5
    return (heads.astype(dtype) * 2 - 1).astype(dtype)


def categorical(
    key: AnyTensor, logits: AnyTensor, *, shape: Shape, axis: int, mode: str
) -> AnyTensor:
    """With replacement: the places of the largest sums with Gumbel noise, along `axis`.

    `shape` is that of the noise, which may have further axes in front; the axis is counted from the
    end.
    """
    x = logits
    noisy = gumbels(key, shape, x.dtype, mode) + x
    return reductions.argmax(noisy, axis=axis)


def categories(
    key: AnyTensor, logits: AnyTensor, *, shape: Shape, axis: int, count: int, mode: str
) -> AnyTensor:
    """Without replacement: the places of the `count` largest sums, along a first axis."""
    x = logits
    noisy = gumbels(key, shape, x.dtype, mode) + x
    noisy = manipulation.moveaxis(noisy, source=axis, destination=-1)
    places: AnyTensor = reductions.top_places(noisy, k=count)
    return manipulation.moveaxis(places, source=-1, destination=0)


def shuffled(key: AnyTensor, x: AnyTensor, *, shape: Shape, axis: int) -> AnyTensor:
    """x with each vector along an axis shuffled for itself: sorted by random bits."""
    result, words = x, key
    count = math.prod(size for size in shape if isinstance(size, int))
    rounds = math.ceil(3 * math.log(max(1, count)) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = threefry.split(words, shape=(2,))
        words = keys[0]
        order = threefry.drawn_bits(keys[1], shape, UINT32, "bits")
        places: AnyTensor = reductions.argsort(order, axis=axis)
        result = reductions.take_along_axis(result, places, axis=axis)
    return result


def chosen_by(key: AnyTensor, p: AnyTensor, *, shape: Shape) -> AnyTensor:
    """Places, drawn with probabilities p: how many cumulated sums are below a random part."""
    sums: AnyTensor = reductions.cumsum(p)
    part = sums[-1] * (1 - unit(key, shape, sums.dtype, "random.choice"))
    (count,) = sums.shape
    if isinstance(count, int):
        return _number_below(sums, part, count)
    wide: AnyTensor = manipulation.expand_dims(part, axis=-1)
    return reductions.sum((sums < wide).astype(INT64), axis=-1)


def _number_below(sums: AnyTensor, part: AnyTensor, count: int) -> AnyTensor:
    """How many of `count` ascending numbers are below a part: bisection."""
    found = (part * 0).astype(INT64)
    for power in reversed(range(count.bit_length())):
        further = found + (1 << power)
        last: AnyTensor = elementwise.minimum(further, count)
        below = _at(sums, last - 1) < part
        found = _where((further <= count) & below, further, found)
    return found


def _at(x: AnyTensor, places: AnyTensor) -> AnyTensor:
    """The elements of a vector at places."""
    if places.meta.rank:
        return x[(places,)]
    return x[(manipulation.expand_dims(places, axis=0),)][0]


def first_places(key: AnyTensor, p: AnyTensor, *, shape: Shape, count: int, mode: str) -> AnyTensor:
    """`count` different places, drawn with probabilities p one after the other."""
    noisy = gumbels(key, shape, p.meta.dtype, mode)
    noisy = noisy + analytic.log(p)
    return reductions.top_places(noisy, k=count)
