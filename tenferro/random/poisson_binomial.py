"""Counts: poisson, binomial and multinomial, by inversion or rejection.

Up to a mean of 10 numbers are drawn by inversion, from there by rejection.
"""

from __future__ import annotations

import math
from typing import Any

from tenferro import lax
from tenferro import numpy as tn
from tenferro.errors import ShapeError
from tenferro.ir import (
    FLOAT32,
    FLOAT64,
    INT64,
    AnyTensor,
    ArrayLike,
    DType,
    DTypeLike,
    Shape,
    default_float,
)
from tenferro.random.continuous import AnyKey, between
from tenferro.random.prng import element, real_array, sizes, split_words, words_of
from tenferro.transforms import create, scan, while_loop

__all__ = ["binomial", "multinomial", "poisson"]


# The Poisson distribution: by counting up to a mean of 10, by rejection from there.


def poisson(
    key: AnyKey, lam: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Integers of the Poisson distribution. Where the mean is no number, the result is -1.

    Args:
        key: a key.
        lam: the mean, not negative; broadcasts to the shape. It is rounded to float32, as in JAX.
        shape: of the result; by default that of lam.
        dtype: an integer type; int64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not of integers, or lam is complex.
        ShapeError: it is an array of keys, or lam does not broadcast to the shape.

    >>> bool((tn.random.poisson(tn.random.key(0), 3.0, (4,)) >= 0).all())
    True
    """
    name = "random.poisson"
    kind, result = element(name, dtype, "iu", INT64), sizes(name, shape, lam)
    words = words_of(name, key)
    mean: Any = lax.stop_gradient(tn.broadcast_to(real_array(name, "lam", lam, FLOAT32), result))
    few = tn.isnan(mean) | (mean < 10)
    zero = tn.zeros_like(mean)
    counted = _counted(words, tn.where(few, mean, zero), kind)
    drawn = _rejection(words, tn.where(few, zero + 1e5, mean)).astype(kind)
    return tn.where(mean == 0, tn.zeros_like(drawn), tn.where(few, counted, drawn))


def _counted(words: Any, mean: Any, dtype: DType) -> Any:
    """How many exponential distances fit below the mean: Knuth's method."""

    def again(state: Any) -> Any:
        count, key, total = state
        two = create(split_words, key, shape=(2,))
        fractions = _unit(two[1], mean)
        return tn.where(total > -mean, count + 1, count), two[0], total + tn.log(fractions)

    start = (tn.zeros_like(mean).astype(dtype), words, tn.zeros_like(mean))
    count, _, _ = while_loop(lambda state: tn.any(state[2] > -mean), again, start)
    return (count - 1).astype(dtype)


def _unit(words: Any, like: Any) -> Any:
    return create(
        between, words, 0.0, 1.0, shape=like.shape, dtype=like.dtype, purpose="random.uniform"
    )


def _rejection(words: Any, mean: Any) -> Any:
    """Transformed rejection: Hörmann, Insurance: Mathematics and Economics 12, 1993."""
    finite, log_mean = tn.isfinite(mean), tn.log(mean)
    b = 0.931 + 2.53 * tn.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def again(state: Any) -> Any:
        result, accepted, key = state
        # Not a second use of the key: for each mean, one of the two methods counts.
        three = create(split_words, key, shape=(3,), purpose="fold_in")
        u, v = _unit(three[1], mean) - 0.5, _unit(three[2], mean)
        from_edge = 0.5 - tn.abs(u)
        k = tn.floor((2 * a / from_edge + b) * u + mean + 0.43)
        s = tn.log(v * inv_alpha / (a / (from_edge * from_edge) + b))
        density = -mean + k * log_mean - _log_factorial(k)
        surely = finite & (from_edge >= 0.07) & (v <= v_r)
        never = (k < 0) | ((from_edge < 0.013) & (v > from_edge))
        accept = surely | (finite & ~never & (s <= density))
        return tn.where(accept, k, result), accepted | accept, three[0]

    start = (tn.zeros_like(mean) - 1, ~finite, words)
    result, _, _ = while_loop(lambda state: ~tn.all(state[1]), again, start)
    return result


def _log_factorial(k: Any) -> Any:
    """log k!, by the series of Lanczos, as XLA computes it."""
    total = tn.zeros_like(k) + _LANCZOS[0]
    for place, coefficient in enumerate(_LANCZOS[1:]):
        total = total + coefficient / (k + (place + 1))
    shifted = k + 7.5
    log_shifted = math.log(7.5) + tn.log1p(k / 7.5)
    power = (k + 0.5 - shifted / log_shifted) * log_shifted
    return 0.5 * math.log(2 * math.pi) + power + tn.log(total)


_LANCZOS = (
    0.99999999999980993227684700473478,
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)


# The binomial and the multinomial distribution.


def binomial(
    key: AnyKey,
    n: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """How many of n trials succeed with probability p; NaN where there are no such trials.

    Args:
        key: a key.
        n: the number of trials; broadcasts to the shape.
        p: between 0 and 1; broadcasts to the shape. Numbers are drawn in its precision.
        shape: of the result; by default the common shape of n and p.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ShapeError: it is an array of keys, or a parameter does not broadcast to the shape.

    >>> bool((tn.random.binomial(tn.random.key(0), 10, 0.3, (4,)) <= 10).all())
    True
    """
    name = "random.binomial"
    kind, result = element(name, dtype), sizes(name, shape, n, p)
    words = words_of(name, key)
    drawn_in = FLOAT32 if getattr(p, "dtype", default_float()) == FLOAT32 else FLOAT64
    count, chance = (
        lax.stop_gradient(tn.broadcast_to(real_array(name, each, value, drawn_in), result))
        for each, value in (("n", n), ("p", p))
    )
    return tn.astype(_binomial(words, count, chance), kind)


def multinomial(
    key: AnyKey,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    unroll: int = 1,
) -> AnyTensor:
    """How often each outcome comes in n trials, along the last axis.

    Args:
        key: a key.
        n: the number of trials; broadcasts to the shape without its last axis.
        p: the probabilities of the outcomes, along the last axis.
        shape: of the result, with the axis of outcomes; by default that of p.
        dtype: floating-point; float64 by default.
        unroll: how many outcomes one round of the loop draws.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ShapeError: it is an array of keys, p has no axis, or the shapes do not fit.

    >>> tn.random.multinomial(tn.random.key(0), 5, [0.0, 1.0])
    Tensor([0., 5.])
    """
    name = "random.multinomial"
    kind = element(name, dtype)
    chances: Any = real_array(name, "p", p, FLOAT64)
    if not chances.ndim:
        raise ShapeError(f"{name}: p must have an axis of outcomes, got {chances.meta}")
    result = sizes(name, shape, chances)
    chances = lax.stop_gradient(tn.moveaxis(tn.broadcast_to(chances, result), -1, 0))
    count = tn.broadcast_to(real_array(name, "n", n, FLOAT64), result[:-1])
    left = tn.flip(tn.cumsum(tn.flip(chances, axis=0), axis=0), axis=0)
    ratios = tn.clip(chances / tn.where(left == 0, 1.0, left), 0.0, 1.0)
    words = create(split_words, words_of(name, key), shape=(result[-1],))

    def draw(rest: Any, outcome: Any) -> Any:
        ratio, word = outcome
        successes = _binomial(word, rest, ratio)
        return rest - successes, successes

    _, counts = scan(draw, lax.stop_gradient(count), (ratios, words), unroll=unroll)
    return tn.moveaxis(counts, 0, -1).astype(kind)


def _binomial(words: Any, count: Any, chance: Any) -> Any:
    """The numbers of successes, drawn for the less likely outcome."""
    rare = chance < 0.5
    q = tn.where(rare, chance, 1 - chance)
    no_count, infinite = tn.isnan(count) | (count < 0), tn.isinf(count)
    wrong = tn.isnan(q) | (q < 0)
    q = tn.where(wrong, 0.01, q)
    few = no_count | (count * q <= 10)
    count = tn.floor(count)
    inverted = _inversion(words, tn.where(few, count, 0.0), q)
    rejected = _binomial_rejection(words, tn.where(few, 1e4, count), tn.where(few, 0.5, q))
    drawn = tn.where(few, inverted, rejected)
    drawn = tn.where(wrong | no_count, tn.nan, tn.where(infinite, tn.inf, drawn))
    return tn.where(rare | no_count | tn.isnan(chance) | infinite, drawn, count - drawn)


def _inversion(words: Any, count: Any, q: Any) -> Any:
    """How many geometric numbers fit below the count."""
    scale = tn.log1p(-q)

    def again(state: Any) -> Any:
        trials, total, key = state
        two = create(split_words, key, shape=(2,))
        step = tn.ceil(tn.log(_unit(two[0], q)) / scale)
        return tn.where(total <= count, trials + 1, trials), total + step, two[1]

    start = (tn.zeros_like(q), tn.zeros_like(q), words)
    trials, _, _ = while_loop(lambda state: tn.any(state[1] <= count), again, start)
    return trials - 1


def _binomial_rejection(words: Any, count: Any, q: Any) -> Any:
    """Transformed rejection: Hörmann, J. of Statistical Computation and Simulation 46, 1993."""
    deviation = tn.sqrt(count * q * (1 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    center, v_r = count * q + 0.5, 0.92 - 4.2 / b
    r, alpha = q / (1 - q), (2.83 + 5.1 / b) * deviation
    m = tn.floor((count + 1) * q)

    def again(state: Any) -> Any:
        result, accepted, key = state
        # Not a second use of the key: for each element, one of the two methods counts.
        three = create(split_words, key, shape=(3,), purpose="fold_in")
        u, v = _unit(three[1], q) - 0.5, _unit(three[2], q)
        from_edge = 0.5 - tn.abs(u)
        k = tn.floor((2 * a / from_edge + b) * u + center)
        level = tn.log(v * alpha / (a / (from_edge * from_edge) + b))
        density = (
            (m + 0.5) * tn.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * tn.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * tn.log(r * (count - k + 1) / (k + 1))
            + _stirling_tail(m)
            + _stirling_tail(count - m)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        surely = (from_edge >= 0.07) & (v <= v_r)
        accept = surely | (~((k < 0) | (k > count)) & (level <= density))
        return tn.where(accept, k, result), accepted | accept, three[0]

    start = (tn.zeros_like(q) - 1, tn.zeros_like(q) > 0, words)
    result, _, _ = while_loop(lambda state: ~tn.all(state[1]), again, start)
    return result


def _stirling_tail(k: Any) -> Any:
    """What Stirling's formula for log k! leaves out."""
    clipped = tn.clip(k, 0.0, 9.0)
    square = (clipped + 1) * (clipped + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (clipped + 1)
    exact = tn.asarray(_TAILS, dtype=k.dtype)[tn.nan_to_num(clipped).astype("int64")]
    return tn.where(k <= 9, exact, series)


_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)
