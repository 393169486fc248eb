"""What each device of a mesh holds, and how often they exchange, beside what `jax.jit` needs.

Values are larger than weights, as in use. XLA places a sum over devices in a result, or beside it,
as the order of axes happens to be: an array as large as a weight is more or less than with JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tenferro as tn
from tests.tenferro_xla.on_four_devices_programs import (
    COLLECTIVE,
    LINE,
    SQUARE,
    P,
    a,
    attention,
    layers,
    normalized,
)


def scan(xp: Any) -> Callable[..., Any]:
    return jax.lax.scan if xp is jnp else tn.scan


def chain(xp: Any, x: Any, *cores: Any) -> Any:
    for core in cores:
        x = xp.einsum("bpi,ijq->bqj", x, core)
    return xp.sum(x**2)


def largest(xp: Any, x: Any) -> Any:
    return xp.max(x, axis=1, keepdims=True)


def largest_or_nan(xp: Any, x: Any) -> Any:
    """What has to be written in JAX: XLA drops NaN when devices combine maxima."""
    return xp.where(xp.any(x != x, axis=1, keepdims=True), xp.nan, largest(xp, x))


def spread(xp: Any, x: Any, largest: Callable[[Any, Any], Any] = largest) -> Any:
    shifted = x - largest(xp, x)
    return xp.sum(xp.log(xp.sum(xp.exp(shifted), axis=1)) ** 2) + xp.var(x)


def deep(xp: Any, x: Any, weights: Any) -> Any:
    return xp.sum(scan(xp)(lambda h, w: (xp.tanh(h @ w), None), x, weights)[0] ** 2)


def recurrent(xp: Any, x: Any, w: Any) -> Any:
    def step(h: Any, each: Any) -> Any:
        h = xp.tanh(h @ w + each)
        return h, xp.sum(h, axis=1)

    return xp.sum(scan(xp)(step, xp.zeros_like(x[0]), x)[1] ** 2)


def solved(xp: Any, m: Any, b: Any) -> Any:
    eye = xp.eye(m.shape[-1])
    return xp.sum(xp.linalg.solve(m @ xp.swapaxes(m, 1, 2) + eye, b) ** 2)


def residual(xp: Any, x: Any, g: Any, v: Any, w: Any) -> Any:
    centred = x - xp.mean(x, axis=1, keepdims=True)
    scaled = centred / xp.sqrt(xp.mean(centred**2, axis=1, keepdims=True) + 1e-3) * g
    return xp.sum((x + xp.maximum(scaled @ v, 0.0) @ w) ** 2)


CORES = (a(16, 16, 8), a(16, 16, 8), a(16, 16, 8))
HEADS = (a(8, 64, 4, 16),) * 3
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...], Any]] = {
    "layers, rows": (layers, (a(64, 128), a(128, 64), a(2048, 64)), (P(), P(), P("d")), LINE),
    "layers, both": (
        layers,
        (a(64, 128), a(128, 64), a(2048, 64)),
        (P(None, "m"), P("m"), P("d")),
        SQUARE,
    ),
    "layers, all divided": (layers, (a(64, 128), a(128, 64), a(2048, 64)), (P("d"),) * 3, LINE),
    "attention, rows": (attention, HEADS, (P("d"),) * 3, LINE),
    "attention, heads": (attention, HEADS, (P("d", None, "m"),) * 3, SQUARE),
    "chain": (chain, (a(256, 8, 16), *CORES), (P("d"), P(), P(), P()), LINE),
    "reductions": (spread, (a(512, 256),), (P("d"),), LINE),
    "reductions, both": (spread, (a(512, 256),), (P("d", "m"),), SQUARE),
    "scan over layers": (deep, (a(512, 64), a(6, 64, 64)), (P("d"), P()), LINE),
    "scan over time": (recurrent, (a(12, 256, 64), a(64, 64)), (P(None, "d"), P()), LINE),
    "normalized": (normalized, (a(512, 256), a(256)), (P("d"), P()), LINE),
    "solve": (solved, (a(64, 24, 24), a(64, 24, 4)), (P("d"), P("d")), LINE),
    "residual, both": (
        residual,
        (a(256, 64), a(64), a(64, 256), a(256, 64)),
        (P("d"), P(), P(None, "m"), P("m")),
        SQUARE,
    ),
}


SAFE: dict[Callable[..., Any], Callable[..., Any]] = {
    spread: partial(spread, largest=largest_or_nan)
}
"""What JAX may need for the same results."""

Needs = tuple[int, int, int]
"""Temporary bytes, bytes of results, and collectives."""


def own_needs(name: str, gradient: bool) -> Needs:
    """What the program needs."""
    function, args, specs, mesh = PROGRAMS[name]
    ours: Any = partial(function, tn)
    if gradient:
        ours = tn.grad(ours, argnums=tuple(range(len(args))))
    own = tn.jit(ours, mesh=mesh, in_shardings=specs).lower(*args).compile()
    memory = own.memory()
    return memory.temporaries, memory.outputs, len(COLLECTIVE.findall(own.as_text()))


def needs_of_jax(name: str, gradient: bool) -> Needs:
    """What `jax.jit` needs; the larger of two programs where the plain one drops NaN."""
    function, args, specs, mesh = PROGRAMS[name]
    shardings = tuple(tn.sharding.NamedSharding(mesh, spec) for spec in specs)
    found = []
    for each in {function, SAFE.get(function, function)}:
        theirs: Any = partial(each, jnp)
        if gradient:
            theirs = jax.grad(theirs, argnums=tuple(range(len(args))))
        with jax.enable_x64(True):
            other = jax.jit(theirs, in_shardings=shardings).lower(*args).compile()
        told, text = other.memory_analysis(), other.as_text() or ""
        sent = len(COLLECTIVE.findall(text))
        found.append((told.temp_size_in_bytes, told.output_size_in_bytes, sent))
    temporaries, outputs, collectives = map(max, zip(*found, strict=True))
    return temporaries, outputs, collectives


@pytest.mark.exhaustive
@pytest.mark.parametrize("gradient", [False, True], ids=["value", "grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_device_holds_and_sends_little_more_than_with_jax(name: str, gradient: bool) -> None:
    temporaries, outputs, sent = own_needs(name, gradient)
    theirs, results, allowed = needs_of_jax(name, gradient)
    assert outputs == results
    assert temporaries <= 1.1 * theirs
    assert sent <= allowed
