"""Functions with loops and branches that can be differentiated, for tenferro and for JAX alike.

All take (w: [3,3], b: [3], h: [3], xs: [5]) and return one number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


class BoundedLax:
    """`jax.lax`, whose loops with a bound can be differentiated in reverse."""

    scan = staticmethod(jax.lax.scan)
    fori_loop = staticmethod(jax.lax.fori_loop)
    cond = staticmethod(jax.lax.cond)
    switch = staticmethod(jax.lax.switch)
    map = staticmethod(jax.lax.map)
    associative_scan = staticmethod(jax.lax.associative_scan)

    @staticmethod
    def while_loop(cond: Any, body: Any, start: Any, *, max_steps: int) -> Any:
        def step(value: Any, _: Any) -> Any:
            return jax.lax.cond(cond(value), body, lambda value: value, value), None

        return jax.lax.scan(step, start, None, length=max_steps)[0]


def rnn(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    def step(h: Any, u: Any) -> Any:
        h = xp.tanh(w @ h + b * u)
        return h, xp.sum(h * h * xp.sin(b))

    h, ys = lax.scan(step, h, xs)
    return xp.sum(h) + xp.sum(ys * ys)


def backwards(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    def step(c: Any, u: Any) -> Any:
        number, h, same = c
        y = {"h": h, "number": number, "none": None, "square": u * u}
        return (number + 1, xp.where(number % 2 == 0, xp.sin(h) * u, h * w[0] + number), same), y

    (_, h, same), ys = lax.scan(step, (0, h, b), xs, reverse=True)
    return xp.sum(h * b) + xp.sum(xp.cos(ys["h"]) * same) + xp.sum(ys["number"] * ys["square"])


def nested(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    def outer(h: Any, u: Any) -> Any:
        def inner(h: Any, v: Any) -> Any:
            return xp.tanh(w @ h * 0.5 + v * u), xp.sum(h)

        h, y = lax.scan(inner, h, b)
        return h, xp.sum(y)

    h, ys = lax.scan(outer, h, xs)
    return xp.sum(h * h) + xp.sum(ys)


def conditional(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    positive = xp.sum(h) > 0
    return xp.sum(
        lax.cond(positive, lambda h: xp.sin(w @ h), lambda h: xp.log(h * h + 1.0) * b, h)
    ) + xp.sum(xs[0] * xs)


def switched(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    branches = [lambda x: x * b, xp.exp, lambda x: xp.sin(w @ x)]
    return xp.sum(lax.switch(xp.argmax(h), branches, h)) * xp.sum(xs)


def conditional_rounds(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    def step(h: Any, u: Any) -> Any:
        h = lax.cond(u > 0, lambda h: xp.sin(w @ h) + u, lambda h: h * b * xp.exp(h), h)
        return h, lax.switch(xp.argmax(h), [lambda: u * u, lambda: h[0], lambda: xp.sum(b * h)])

    h, ys = lax.scan(step, h, xs)
    return xp.sum(h) + xp.sum(xp.sin(ys))


def until(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    def goes_on(s: Any) -> Any:
        return xp.sum(s * s) > 0.05 * xp.cos(xs[0])

    def body(s: Any) -> Any:
        return xp.tanh(w @ s) * 0.7

    return xp.sum(lax.while_loop(goes_on, body, h, max_steps=13) * b)


def counted(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    return xp.sum(lax.fori_loop(0, 5, lambda i, h: xp.sin(w @ h) + b * xs[i] * i, h) * h)


def mapped(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    return xp.sum(lax.map(lambda u: xp.sin(u * b) * w[1], xs) ** 2) + xp.sum(h * h * h)


def associative(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    ys = lax.associative_scan(lambda p, q: p * q + p + q, xs)
    return xp.sum(xp.sin(ys)) * xp.sum(w @ b * h)


def solved(lax: Any, xp: Any, w: Any, b: Any, h: Any, xs: Any) -> Any:
    """Extension ops in a body."""

    def step(h: Any, u: Any) -> Any:
        a = 3 * np.eye(3) + w
        h = xp.linalg.solve(a, h * u + b)
        return h, xp.einsum("i,ij,j->", h, a, b) + xp.sum(xp.abs(xp.fft.fft(h + b)) ** 2)

    h, ys = lax.scan(step, h, xs)
    return xp.sum(h) + xp.sum(xp.sin(ys))


Program = Callable[..., Any]
PROGRAMS: dict[str, Program] = {
    program.__name__: program
    for program in (
        *(rnn, backwards, nested, conditional, switched, conditional_rounds, until, counted),
        *(mapped, associative, solved),
    )
}
