"""Random numbers of continuous distributions as functions of a key, over an emitter.

The formulas are those of `jax.random`, step by step, so that the numbers are the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro.arrays import Expression, analytic, apply, elementwise, is_number, logical, special
from tenferro.chainrules import Emitter, V
from tenferro.ops import STOP_GRADIENT
from tenferro.random import blocks
from tenferro.random.parameters import real
from tenferro.shape import FLOAT64, Dim, DType, as_dtype, real_dtype

Shape = tuple[Dim, ...]


def unit(at: Emitter[V], key: V, shape: Shape, dtype: DType, name: str) -> Expression:
    """Numbers in [0, 1): multiples of the distance of the numbers below 1, each as likely."""
    digits = np.finfo(dtype).nmant
    if dtype == FLOAT64:
        high, low = blocks.drawn_words(at, key, shape, name)
        low = low >> (64 - digits)
        return high.astype(dtype) * 2.0**-32 + low.astype(dtype) * 2.0**-digits
    width = 8 * dtype.itemsize
    bits = blocks.drawn_bits(at, key, shape, as_dtype(f"u{width}"), name)
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
    return apply(elementwise.maximum, low, numbers)  # type: ignore[no-any-return]


def uniform(at: Emitter[V], key: V, minval: Any, maxval: Any, *, shape: Shape, dtype: DType) -> V:
    """Numbers in [minval, maxval)."""
    return between(at, key, minval, maxval, shape, dtype, "random.uniform").value  # type: ignore[no-any-return]


def normal(at: Emitter[V], key: V, *, shape: Shape, dtype: DType) -> V:
    """Numbers of the normal distribution, real or complex."""
    if dtype.kind != "c":
        return normals(at, key, shape, dtype).value  # type: ignore[no-any-return]
    keys = Expression(at, blocks.split(at, key, shape=(2,)))
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
        return apply(elementwise.where, condition, x, y)  # type: ignore[no-any-return]

    def scaled(x: Expression) -> Expression:
        return apply(_erfcx, x * math.sqrt(0.5))  # type: ignore[no-any-return]

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
    return special.special(at, "random.truncated_normal", "erfcx", x)


def _exp(x: Expression) -> Expression:
    return apply(analytic.exp, x)  # type: ignore[no-any-return]


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
    return apply(elementwise.where, infinite, largest, x + step * direction)  # type: ignore[no-any-return]


def _log(x: Expression) -> Expression:
    return apply(analytic.log, x)  # type: ignore[no-any-return]


def _log1p(x: Expression) -> Expression:
    return apply(analytic.log1p, x)  # type: ignore[no-any-return]
