"""Random nests of functions with rules, transforms, loops and branches, against JAX.

JAX runs loops written out: in its `scan`, values that a derivative keeps are computed without the
rules, so that second derivatives differ from those of the same rounds written out.
"""

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn

Expression = Callable[[Any, Any], Any]


def library(m: Any, custom_jvp: Any, custom_vjp: Any, **transforms: Any) -> SimpleNamespace:
    """Functions with rules that are not their derivatives, written with one library."""

    @custom_jvp
    def f(x: Any, y: Any) -> Any:
        return m.sin(x) * y

    f.defjvp(lambda p, t: (f(*p), 1.5 * m.cos(p[0]) * t[0] * p[1] + 0.5 * f(p[0], 1.0) * t[1]))

    @custom_vjp
    def g(x: Any, y: Any) -> Any:
        return m.tanh(x) + y * y

    g.defvjp(
        lambda x, y: (g(x, y), (x, m.sin(y))),
        lambda kept, ct: (ct * m.cos(kept[0]) * 2, ct * kept[1] * kept[0]),
    )

    @custom_jvp
    def h(t: Any) -> Any:
        return {"a": m.cos(t["a"]), "b": t["b"] * t["a"]}

    @h.defjvp
    def rule(p: Any, t: Any) -> Any:
        ((x,), (dx,)) = p, t
        return h(x), {"a": -m.sin(f(x["a"], 0.7)) * dx["a"], "b": dx["b"] * x["a"]}

    return SimpleNamespace(m=m, f=f, g=g, h=h, **transforms)


def scan(f: Callable[..., Any], carry: Any, xs: Any) -> Any:
    ys = []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, jnp.stack(ys)


def fori(start: int, stop: int, body: Callable[..., Any], carry: Any) -> Any:
    for i in range(start, stop):
        carry = body(i, carry)
    return carry


OURS = library(
    tn,
    tn.custom_jvp,
    tn.custom_vjp,
    **{name: getattr(tn, name) for name in ("grad", "vmap", "jvp", "scan", "cond")},
    fori=tn.fori_loop,
    jit=lambda f: tn.jit(f, executor="numpy"),
)
THEIRS = library(
    jnp,
    jax.custom_jvp,
    jax.custom_vjp,
    **{name: getattr(jax, name) for name in ("grad", "vmap", "jvp", "jit")},
    scan=scan,
    fori=fori,
    cond=jax.lax.cond,
)


def expression(r: random.Random, depth: int, forward: bool) -> Expression:
    """A random function of a scalar; without `g` if it may be differentiated forward."""
    if depth == 0:
        leaves: list[Expression] = [
            lambda lib, x: x * 0.9 + 0.1,
            lambda lib, x: lib.m.cos(x),
            lambda lib, x: lib.f(x, 0.8),
            lambda lib, x: lib.f(0.5, x),
        ]
        return r.choice(leaves if forward else [*leaves, lambda lib, x: lib.g(x, x * 0.5)])
    a, b = expression(r, depth - 1, forward), expression(r, depth - 1, forward)
    c = round(r.uniform(-1, 1), 2)
    nests: list[Expression] = [
        lambda lib, x: lib.f(a(lib, x), b(lib, x)),
        lambda lib, x: lib.m.sin(a(lib, x)) * c + b(lib, x),
        lambda lib, x: lib.grad(lambda z: a(lib, z))(x) * 0.3,
        lambda lib, x: lib.scan(
            lambda s, u: (a(lib, s) * u + 0.1 * b(lib, x), s), x, lib.m.asarray([0.5, 0.7, 0.9])
        )[0],
        lambda lib, x: lib.cond(x > c, lambda z: a(lib, z), lambda z: b(lib, z), x),
        lambda lib, x: lib.m.sum(
            lib.vmap(lambda z: a(lib, z) * b(lib, x))(lib.m.stack([x, x * c, x + c]))
        ),
        lambda lib, x: lib.jit(lambda z: a(lib, z))(x) + c,
        lambda lib, x: lib.m.sum(
            lib.vmap(lambda z: lib.cond(z > c, lambda z: a(lib, z), lambda z: b(lib, z), z))(
                lib.m.stack([x, x * c, x + c])
            )
        ),
        lambda lib, x: sum(lib.h({"a": a(lib, x), "b": b(lib, x)}).values()),
        lambda lib, x: lib.fori(0, 3, lambda i, s: a(lib, s) * 0.8 + c, x),
        lambda lib, x: lib.m.sum(
            lib.vmap(lambda z: lib.grad(lambda q: a(lib, q) * b(lib, z))(x))(
                lib.m.stack([x, x * c])
            )
        ),
        lambda lib, x: (
            lib.jvp(lambda z: a(lib, z), (x,), (1.0 + 0 * x,))[1]
            if forward
            else lib.g(a(lib, x), b(lib, x))
        ),
    ]
    return r.choice(nests)


def compared(seed: int) -> None:
    r = random.Random(seed)
    forward, depth, x = r.random() < 0.5, r.choice([1, 2, 3]), r.uniform(-1, 1)
    e = expression(r, depth, forward)
    with jax.enable_x64(True):
        for order in range(3):
            ours: Callable[..., Any] = lambda x: e(OURS, x)  # noqa: E731
            theirs: Callable[..., Any] = lambda x: e(THEIRS, x)  # noqa: E731
            for _ in range(order):
                ours, theirs = tn.grad(ours), jax.grad(theirs)
            np.testing.assert_allclose(
                float(ours(x)), float(theirs(x)), 1e-9, 1e-9, err_msg=f"{seed=} {order=}"
            )


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("seed", [2, 8, 22])
def test_a_nest_has_the_derivatives_of_jax(seed: int) -> None:
    compared(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_some_nests_have_the_derivatives_of_jax(seed: int) -> None:
    compared(seed)


@pytest.mark.large
@pytest.mark.parametrize("seed", range(10, 40))
def test_many_nests_have_the_derivatives_of_jax(seed: int) -> None:
    compared(seed)
