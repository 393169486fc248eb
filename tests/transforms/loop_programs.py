"""Loops and branches that are written for tenferro and for JAX alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

XS = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.25]])
A = np.array([[0.9, 0.2], [-0.3, 0.8]])


class Pair(NamedTuple):
    first: Any
    second: Any


def rnn(lax: Any, xp: Any, x: Any) -> Any:
    return lax.scan(lambda h, row: ((h := xp.tanh(A @ h + row)), h), np.zeros(2), x)


def backwards(lax: Any, xp: Any, x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        return {"sum": c["sum"] + row, "count": c["count"] + 1}, (row * c["sum"], None)

    start = {"sum": np.zeros(2), "count": np.int64(0)}
    return lax.scan(step, start, x, reverse=True, unroll=2)


def flags(lax: Any, xp: Any, x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        return Pair(~c.first, c.second), xp.where(c.first, row, -row)

    return lax.scan(step, Pair(np.array(True), None), x)


def powers(lax: Any, xp: Any, x: Any) -> Any:
    return lax.scan(lambda c, _: (c @ A, c), x, None, length=3)


def no_rounds(lax: Any, xp: Any, x: Any) -> Any:
    return lax.scan(lambda c, row: (c + row, (row, c)), np.ones(2), x[:0])


def nested(lax: Any, xp: Any, x: Any) -> Any:
    def outer(c: Any, row: Any) -> Any:
        total, partial = lax.scan(lambda d, e: (d + e * c[0], d), c[1], row)
        return xp.stack([total, c[0]]), partial

    return lax.scan(outer, x[0], x)


def counted(lax: Any, xp: Any, x: Any) -> Any:
    return lax.fori_loop(1, 4, lambda i, c: (c[0] * i, c[1] + 1), (x, 0))


def below(lax: Any, xp: Any, x: Any) -> Any:
    return lax.while_loop(lambda c: xp.sum(c[0]) < 40, lambda c: (c[0] * 2, c[1] + 1), (x * x, 0))


def until(lax: Any, xp: Any, x: Any) -> Any:
    n = xp.sum(x > 0)
    return lax.fori_loop(n - n, n, lambda i, c: c + i * x, x)


def conditional(lax: Any, xp: Any, x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        c = lax.cond(row[0] > 0, lambda c, r: c + r, lambda c, r: c * row, c, r := row * 2)
        return c, lax.switch(xp.sum(row > 0), [xp.sin, xp.cos, lambda v: v * r], row)

    return lax.scan(step, np.ones(2), x)


def mapped(lax: Any, xp: Any, x: Any) -> Any:
    return lax.map(lambda row: {"norm": xp.sum(row * row), "row": row}, x)


def associative(lax: Any, xp: Any, x: Any) -> Any:
    def after(a: Any, b: Any) -> Any:
        return a[0] * b[0], a[1] * b[0] + b[1]

    return (
        lax.associative_scan(after, (x, x + 1)),
        lax.associative_scan(xp.maximum, x, reverse=True),
        lax.associative_scan(xp.add, x, axis=-1),
    )


Program = Callable[[Any, Any, Any], Any]
PROGRAMS: dict[str, Program] = {
    program.__name__: program
    for program in (
        *(rnn, backwards, flags, powers, no_rounds, nested, counted, below, until),
        *(conditional, mapped, associative),
    )
}
INPUTS = {"powers": np.eye(2)}


def input_of(name: str) -> Any:
    """The argument of a program."""
    return INPUTS.get(name, XS)
