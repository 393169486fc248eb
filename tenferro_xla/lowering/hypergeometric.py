"""Hypergeometric functions, whose series in `jax.scipy` are too short or do not converge.

Several series are summed, each with the digits that it loses, and the best one is chosen; where all
lose too many, the value is NaN. Sources: Pearson, Olver, Porter, "Numerical methods for the
computation of the confluent and Gauss hypergeometric functions", arXiv:1407.7786; NIST Digital
Library of Mathematical Functions, 13.2, 13.7, 15.4, 15.8, 15.10.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jax import Array, lax
from jax import numpy as jnp
from jax.scipy.special import gammasgn

_LONGEST = 6000
_FAR = 4500.0
"""From here on asymptotic series of the confluent function serve."""
_HUGE = 1e200
_ROUNDING = 2.2e-16
_LOST = 1e-6
"""Values of larger relative errors are not shown."""
_NEAR_ROOT = 1e-6
"""Of the first term: smaller sums may have larger relative errors."""
_TAYLOR = 100
_STEPS = 1100


class Sum(NamedTuple):
    """A power series times exp(-log), its slope, and the relative error of both."""

    total: Array
    slope: Array
    log: Array
    error: Array


def _series(tops: tuple[Array, ...], bottom: Array, x: Array) -> Sum:
    """Σ Π(aᵢ)ₖ/(c)ₖ · xᵏ/k!, until all terms are small; its slope is Σ k·term."""

    def ratio(k: Array) -> Array:
        product = x / (k + 1)
        for top in tops:
            product = product * (top + k)
        quotient: Array = product / (bottom + k)
        return jnp.where(product == 0, 0, quotient)  # both may end at once

    turn = jnp.maximum(-bottom, 0)
    for top in tops:
        turn = jnp.maximum(turn, -top)

    def unfinished(state: Any) -> Array:
        k, term, _, slope, _, size, _ = state
        falls = (k > turn) & (jnp.abs(ratio(k)) < 0.95)
        small = jnp.abs(term) * (k + 1) <= 1e-18 * (size + jnp.abs(slope))
        done: Array = (falls & small) | (term == 0) | ~jnp.isfinite(size)
        return ~done

    def add(state: Any) -> Any:
        k, term, total, slope, log, size, steep = state
        term = jnp.where(term == 0, 0, term * ratio(k))  # the series has ended
        parts = (term, total + term, slope + (k + 1) * term)
        sizes = (size + jnp.abs(term), steep + (k + 1) * jnp.abs(term))
        large = sizes[1] > _HUGE
        scale = jnp.where(large, 1 / _HUGE, 1)
        term, total, slope = (part * scale for part in parts)
        size, steep = (part * scale for part in sizes)
        return k + 1, term, total, slope, log + jnp.where(large, math.log(_HUGE), 0), size, steep

    def goes_on(state: Any) -> Array:
        going: Array = (state[0] < _LONGEST) & jnp.any(unfinished(state))
        return going

    one, none = jnp.ones_like(x), jnp.zeros_like(x)
    state = lax.while_loop(goes_on, add, (jnp.float64(0), one, one, none, none, one, none))
    _, _, total, slope, log, size, steep = state
    steepness = jnp.maximum(jnp.abs(slope), _NEAR_ROOT)
    lost = jnp.maximum(size / jnp.maximum(jnp.abs(total), _NEAR_ROOT), steep / steepness)
    error = jnp.where(unfinished(state), jnp.inf, _ROUNDING * lost)
    return Sum(total, slope, log, jnp.where(jnp.isnan(error), jnp.inf, error))


def _best(values: Array, errors: Array) -> Array:
    """Those of the least errors, along the first axis."""
    best = jnp.argmin(errors, axis=0)[None]
    value, error = (jnp.take_along_axis(each, best, axis=0)[0] for each in (values, errors))
    return jnp.where(error < _LOST, value, jnp.nan)


def _is_pole(x: Array) -> Array:
    return (x <= 0) & (x == jnp.floor(x))


def _gamma_ratio(x: Array, y: Array) -> Array:
    """Γ(x)/Γ(y), where x is no pole."""
    pole = _is_pole(y)
    sign = gammasgn(x) * gammasgn(jnp.where(pole, 1, y))
    return jnp.where(pole, 0, sign * jnp.exp(lax.lgamma(x) - lax.lgamma(y)))


# The confluent function.


def hyp1f1(a: Array, b: Array, x: Array) -> Array:
    """₁F₁(a; b; x): by its series, Kummer's transformation of it, and asymptotic series."""
    known = jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(x)
    ends = _is_pole(a) & (a >= b)  # before the division by 0
    pole, none = _is_pole(b) & ~ends, a == 0
    a, b, x = (jnp.where(known & ~pole, each, 1) for each in (a, b, x))
    is_near = jnp.abs(x) < _FAR
    direct, kummer = is_near | _is_pole(a), (is_near | _is_pole(b - a)) & ~_is_pole(b)
    first = _series((a,), b, jnp.where(direct, x, 0))
    other = jnp.where(kummer, x, 0)
    turned = _series((b - a,), jnp.where(kummer, b, 1), -other)
    errors = [jnp.where(direct, first.error, jnp.inf), jnp.where(kummer, turned.error, jnp.inf)]
    values = [first.total * jnp.exp(first.log), turned.total * jnp.exp(turned.log + other)]
    far = jnp.where(is_near, _FAR, x)
    for side, value, error in ((far > 0, *_asymptotic(a, b, jnp.abs(far), True)),
                               (far < 0, *_asymptotic(a, b, jnp.abs(far), False))):  # fmt: skip
        values.append(value)
        errors.append(jnp.where(side & ~is_near, error, jnp.inf))
    value = _best(jnp.stack(values), jnp.stack(errors))
    value = jnp.where(none, 1, jnp.where(pole, jnp.inf, value))
    return jnp.where(known, value, jnp.nan)


def _asymptotic(a: Array, b: Array, x: Array, positive: bool) -> tuple[Array, Array]:
    """₁F₁(a; b; ±x) for large x, and its relative error."""
    p, q = (b - a, 1 - a) if positive else (a, a - b + 1)

    def add(k: Array, state: Any) -> Any:
        term, total, size, least = state
        new = term * (p + k) * (q + k) / ((k + 1) * x)
        new = jnp.where(jnp.abs(new) > least, 0, new)
        return new, total + new, size + jnp.abs(new), jnp.minimum(least, jnp.abs(new))

    one = jnp.ones_like(x)
    _, total, size, least = lax.fori_loop(0, 60, add, (one, one, one, one * jnp.inf))
    power = (a - b if positive else -a) * jnp.log(x) + (x if positive else 0)
    value = _gamma_ratio(b, a if positive else b - a) * total * jnp.exp(power)
    error = (least + _ROUNDING * size) / jnp.abs(total)
    gone = _is_pole(a if positive else b - a)  # the other part is what is left
    return value, jnp.where(gone | jnp.isnan(error), jnp.inf, error)


# Gauss's function.


def hyp2f1(a: Array, b: Array, c: Array, x: Array) -> Array:
    """₂F₁(a, b; c; x); infinite for x > 1, and at 1 if c ≤ a + b, unless its series ends.

    Below 1 by series up to 1/2 and then along the differential equation, in steps that halve the
    distance from 1, which no relation between the parameters disturbs. Negative x are transformed.
    """
    known = jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(c) & jnp.isfinite(x)
    has_pole = _is_pole(c)
    ends = (_is_pole(a) & ~(has_pole & (a <= c))) | (_is_pole(b) & ~(has_pole & (b <= c)))
    pole, none = has_pole & ~ends, (a == 0) | (b == 0) | (x == 0)
    a, b, c = (jnp.where(known & ~pole, each, 1) for each in (a, b, c))
    x, ends = jnp.where(known & ~pole, x, 0), ends & known
    inside = (x < 1) & ~(has_pole & ends)
    y = jnp.where(inside, x, 0)
    polynomial = _series((a, b), c, jnp.where(ends, x, 0))
    values = [polynomial.total * jnp.exp(polynomial.log)]
    errors = [jnp.where(ends, polynomial.error, jnp.inf)]
    d, e = c - a, c - b
    negative, log = y < 0, jnp.log1p(-y)
    small = jnp.abs(y) <= 0.5
    safe = jnp.where(_is_pole(c), 1, c)
    place, distance = jnp.where(negative, y / (y - 1), y), jnp.where(negative, 1 / (1 - y), 1 - y)
    direct = (
        jnp.where(negative, jnp.where(small, y, 0), y),
        jnp.where(negative, jnp.where(small, 1 - y, 1), 1 - y),
    )
    forms = (
        (a, b, *direct, jnp.zeros_like(y), ~negative | small),
        (jnp.where(negative, a, d), e, place, distance,
         jnp.where(negative, -a, d - b) * log, jnp.full_like(negative, True)),
        (jnp.where(negative, d, a), b, place, distance, -b * log, negative),
    )  # fmt: skip
    tops, others, places, distances, logs, usable = (
        jnp.stack(each) for each in zip(*forms, strict=True)
    )
    value, error = _below_one(tops, others, jnp.broadcast_to(safe, tops.shape), places, distances)
    values.extend(value * jnp.exp(logs))
    errors.extend(jnp.where(usable & inside, error, jnp.inf))
    result = _best(jnp.stack(values), jnp.stack(errors))
    excess = jnp.where(c - a - b > 0, c - a - b, 1)
    at_one = _gamma_ratio(safe, d) * _gamma_ratio(excess, e)
    odd = sum(jnp.where(each < 0, jnp.floor(each) % 2, 0) for each in (a, b, c))
    at_one = jnp.where(c - a - b > 0, at_one, jnp.where(odd % 2 == 1, -jnp.inf, jnp.inf))
    power = jnp.where(b == c, a, b)  # then it is one of 1 - x
    beyond = jnp.where((a == c) | (b == c), (1 - x) ** -power, jnp.inf)
    edge = jnp.where(x == 1, at_one, beyond)
    result = jnp.where((x >= 1) & ~ends, edge, result)
    result = jnp.where(none, 1, jnp.where(pole, jnp.inf, result))
    return jnp.where(known, result, jnp.nan)


def _below_one(a: Array, b: Array, c: Array, x: Array, distance: Array) -> tuple[Array, Array]:
    """The function at x up to 1, whose distance from 1 is given too, and its relative error."""
    start = jnp.minimum(x, 0.5)
    series = _series((a, b), c, start)
    scale = jnp.exp(series.log)
    slope = jnp.where(start == 0, 0, series.slope / jnp.where(start == 0, 1, start))

    def goes_on(state: Any) -> Array:
        going: Array = (state[0] < _STEPS) & jnp.any(state[1] > distance)
        return going

    def step(state: Any) -> Any:
        count, gap, value, slope, error = state
        h = jnp.minimum(gap / 2, gap - distance)
        moves = gap > distance
        h = jnp.where(moves, h, 0)
        there = 1 - gap
        head, turn = there * gap, 2 * gap - 1
        flow = c - (a + b + 1) * there

        def add(k: Array, state: Any) -> Any:
            before, term, total, steep, size, rise = state
            following = (k + a) * (k + b) * h * h * before - (k + 1) * (k * turn + flow) * h * term
            new = following / ((k + 2) * (k + 1) * jnp.where(moves, head, 1))
            more = (k + 2) * new
            sums = (total + new, steep + more, size + jnp.abs(new), rise + jnp.abs(more))
            return (term, new, *sums)

        first = slope * h
        sizes = (jnp.abs(value) + jnp.abs(first), jnp.abs(first))
        sums = lax.fori_loop(0, _TAYLOR, add, (value, first, value + first, first, *sizes))
        _, term, total, steep, size, rise = sums
        floor = _NEAR_ROOT * sizes[0]
        lost = (_ROUNDING * rise + jnp.abs(term) * _TAYLOR) / jnp.maximum(jnp.abs(steep), floor)
        short = (_ROUNDING * size + jnp.abs(term)) / jnp.maximum(jnp.abs(total), floor)
        lost = jnp.maximum(short, lost)
        return (
            count + 1,
            jnp.where(moves, gap - h, gap),
            jnp.where(moves, total, value),
            jnp.where(moves, steep / jnp.where(moves, h, 1), slope),
            jnp.where(moves, jnp.maximum(error, lost), error),
        )

    gap = jnp.where(x > 0.5, 0.5, distance)
    state = (0, gap, series.total * scale, slope * scale, series.error)
    _, gap, value, _, error = lax.while_loop(goes_on, step, state)
    error = jnp.where((gap > distance) | jnp.isnan(error), jnp.inf, error)
    return value, error
