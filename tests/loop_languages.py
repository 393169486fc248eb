"""What runs functions of loops, branches and maps: tenferro, with its loops, and a reference.

The reference is JAX or NumPy, with the loops and branches of Python, in which a vmap is a stack of
single runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

import tenferro as tn

SIZE = 3
"""The size of all axes that a random function maps over."""


class Language(Protocol):
    """What runs a function."""

    xp: Any
    scan: Callable[..., Any]
    while_loop: Callable[..., Any]
    fori_loop: Callable[..., Any]
    cond: Callable[..., Any]
    switch: Callable[..., Any]
    map: Callable[..., Any]
    associative_scan: Callable[..., Any]
    vmap: Callable[..., Any]
    grad: Callable[..., Any]
    jvp: Callable[..., Any]


class Ours:
    """tenferro."""

    xp = tn
    scan = staticmethod(tn.scan)
    while_loop = staticmethod(tn.while_loop)
    fori_loop = staticmethod(tn.fori_loop)
    cond = staticmethod(tn.cond)
    switch = staticmethod(tn.switch)
    map = staticmethod(tn.map)
    associative_scan = staticmethod(tn.associative_scan)
    vmap = staticmethod(tn.vmap)
    grad = staticmethod(tn.grad)
    jvp = staticmethod(tn.jvp)


class Reference:
    """JAX, op by op, with the loops and branches of Python."""

    xp: Any = jnp
    grad = staticmethod(jax.grad)
    jvp = staticmethod(jax.jvp)

    @classmethod
    def scan(cls, f: Any, init: Any, xs: Any, length: int | None, reverse: bool) -> Any:
        carry, ys = init, []
        length = xs[0].shape[0] if xs else length
        order = range(length or 0)
        for number in reversed(order) if reverse else order:
            entries = None if xs is None else tuple(x[number] for x in xs)
            carry, y = f(carry, entries)
            ys.append(y)
        if not ys:
            entries = None if xs is None else tuple(cls.xp.zeros(x.shape[1:], x.dtype) for x in xs)
            return init, jax.tree.map(lambda y: cls.xp.stack([y])[:0], f(init, entries)[1])
        return carry, cls.stacked(ys[::-1] if reverse else ys)

    @staticmethod
    def while_loop(cond: Any, body: Any, value: Any, *, max_steps: int) -> Any:
        for _ in range(max_steps):
            if not cond(value):
                break
            value = body(value)
        return value

    @staticmethod
    def fori_loop(lower: int, upper: int, body: Any, value: Any) -> Any:
        for number in range(lower, upper):
            value = body(number, value)
        return value

    @staticmethod
    def cond(pred: Any, first: Any, second: Any, *operands: Any) -> Any:
        return first(*operands) if pred else second(*operands)

    @staticmethod
    def switch(index: Any, branches: Any, *operands: Any) -> Any:
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)

    @classmethod
    def map(cls, f: Any, xs: Any, batch_size: int | None) -> Any:
        return cls.stacked([f(tuple(x[number] for x in xs)) for number in range(SIZE)])

    @classmethod
    def associative_scan(cls, f: Any, x: Any, reverse: bool) -> Any:
        rows = [x[-1 - number] if reverse else x[number] for number in range(SIZE)]
        for number in range(1, SIZE):
            rows[number] = f(rows[number - 1], rows[number])
        return cls.xp.stack(rows[::-1] if reverse else rows)

    @classmethod
    def vmap(cls, f: Any, in_axes: Any = 0) -> Any:
        def entry(x: Any, axis: int | None, number: int) -> Any:
            return x if axis is None else cls.xp.take(x, number, axis)

        def mapped(*args: Any) -> Any:
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
            pairs = list(zip(args, axes, strict=True))
            size = next(x.shape[axis] for x, axis in pairs if axis is not None)
            return cls.stacked(
                [f(*(entry(x, axis, number) for x, axis in pairs)) for number in range(size)]
            )

        return mapped

    @classmethod
    def stacked(cls, results: Sequence[Any]) -> Any:
        """The stacks of the leaves of trees."""
        return jax.tree.map(lambda *leaves: cls.xp.stack(leaves), *results)


class Numbers(Reference):
    """NumPy, in place of JAX; without derivatives."""

    xp = np
