"""Loops, networks of tensors and single operations: how long they take."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tenferro as tn
from tenferro_xla.checks.checking import Checking, Function, rated, seconds_of

__all__ = ["costs", "einsum", "loops"]


# `loops`: what a step costs.


def loops(check: Checking) -> None:
    """Loops of each kind against those of JAX, and the time of one step."""
    rng = np.random.default_rng(0)
    width, steps = (32, 50) if check.small else (256, 200)
    for dtype in ("float64", "float32"):
        weights = (rng.normal(size=(width, width)) / width**0.5).astype(dtype)
        state = rng.normal(size=(8, width)).astype(dtype)
        ours, theirs = _network(tn, tn.scan, steps), _network(jnp, lax.scan, steps)
        shown = f"recurrent network, {steps} steps of {width}x{width}, {dtype}"
        check.against_jax(shown, ours, theirs, weights, state)
        check.against_jax(f"gradient of {shown}", tn.grad(ours), jax.grad(theirs), weights, state)
    _time_of_a_step(check, rng.normal(size=1000))
    many = rng.normal(size=10**5 if check.small else 4 * 10**6)
    places = rng.integers(0, 1000, many.size)
    pairs: list[tuple[str, Function, Function, tuple[Any, ...]]] = [
        ("while, by data", _while(tn.while_loop, tn), _while(lax.while_loop, jnp), (many[:1000],)),
        ("vmap of while", tn.vmap(_root(tn)), jax.vmap(_root(lax)), (np.abs(many[:1000]) + 1,)),
        (
            "associative_scan",
            lambda x: tn.associative_scan(tn.multiply, x),
            lambda x: lax.associative_scan(jnp.multiply, x),
            (many[:1000],),
        ),
        (f"sort of {many.size}", tn.sort, jnp.sort, (many,)),
        (f"argsort of {many.size}", tn.argsort, jnp.argsort, (many,)),
        (f"cumsum of {many.size}", tn.cumsum, jnp.cumsum, (many,)),
        (
            f"scatter of {many.size}",
            lambda x, i: tn.zeros(1000).at[i].add(x),
            lambda x, i: jnp.zeros(1000).at[i].add(x),
            (many, places),
        ),
    ]
    for name, ours, theirs, arrays in check.cases(pairs, lambda pair: pair[0]):
        check.against_jax(name, ours, theirs, *arrays)
    for size in check.cases((1000, 10**4 if check.small else 10**6)):
        _rolled(check, rng.normal(size=size))


def _network(m: Any, scan: Function, steps: int) -> Function:
    def total(weights: Any, state: Any) -> Any:
        step = lambda state, _: (m.tanh(state @ weights), None)  # noqa: E731
        return m.sum(scan(step, state, None, length=steps)[0])

    return total


def _while(loop: Function, m: Any) -> Function:
    def run(x: Any) -> Any:
        return loop(lambda c: c[0] < 300, lambda c: (c[0] + 1, m.sin(c[1])), (0.0, x))[1]

    return run


def _root(m: Any) -> Function:
    def root(a: Any) -> Any:
        step = lambda x: (x + a / x) / 2  # noqa: E731
        return m.while_loop(lambda x: m.abs(x * x - a) > 1e-12, step, a)

    return root


def _time_of_a_step(check: Checking, x: Any) -> None:
    """The time of 1000 steps of a small loop less that of 500."""
    with check.attempt("a step"):
        tensor = check.put(x)
        times = []
        for steps in (500, 1000):
            loop = check.jit(_sines(steps))
            times.append(seconds_of(partial(loop, tensor)))
        check.note("a step", us=1e6 * (times[1] - times[0]) / 500)


def _sines(steps: int) -> Function:
    return lambda x: tn.fori_loop(0, steps, lambda _, y: tn.sin(y), x)


def _rolled(check: Checking, x: Any) -> None:
    """A Python loop, as a loop of the device and with its steps written out."""

    def loop(m: Any) -> Function:
        def run(x: Any) -> Any:
            for _ in range(200):
                x = x + 0.01 * m.tanh(x)
            return x

        return run

    name = f"a Python loop of 200 steps on {x.size} numbers"
    with check.attempt(name):
        tensor, array = check.put(x), check.put_jax(x)
        default = check.jit(loop(tn))
        straight = check.jit(loop(tn), options=tn.OptimizerOptions(reroll=False))
        of_jax = jax.jit(loop(jnp))
        own, written, other = (
            seconds_of(partial(f, v), repeats=3)
            for f, v in ((default, tensor), (straight, tensor), (of_jax, array))
        )
        slow = own > 2 * min(written, other) + 5e-5
        times = {"us": own * 1e6, "written_out_us": written * 1e6, "jax_us": other * 1e6}
        check.note(name, rated(True, slow), **times)


# `einsum`: networks of tensors.

Sizes = dict[str, int]

NETWORKS: dict[str, tuple[str, Sizes, Sizes]] = {
    "matmul": ("ij,jk->ik", {"i": 2048, "j": 2048, "k": 2048}, {"i": 256, "j": 256, "k": 256}),
    "matmul of transposes": (
        "ji,kj->ik",
        {"i": 2048, "j": 2048, "k": 2048},
        {"i": 256, "j": 256, "k": 256},
    ),
    "batch of products": (
        "bij,bjk->bik",
        {"b": 512, "i": 64, "j": 64, "k": 64},
        {"b": 32, "i": 16, "j": 16, "k": 16},
    ),
    "attention": (
        "bthd,bshd->bhts",
        {"b": 8, "t": 512, "s": 512, "h": 8, "d": 64},
        {"b": 2, "t": 32, "s": 32, "h": 4, "d": 16},
    ),
    "bilinear form": (
        "bi,bj,ijk->bk",
        {"b": 256, "i": 128, "j": 128, "k": 128},
        {"b": 16, "i": 24, "j": 24, "k": 24},
    ),
    "chain": ("ab,bc,cd,de,ef->af", dict.fromkeys("abcdef", 512), dict.fromkeys("abcdef", 96)),
    "matrix product states": (
        "aib,bjc,ckd,dle,xiy,yjz,zkw,wlv->axev",
        {**dict.fromkeys("abcdexyzwv", 24), **dict.fromkeys("ijkl", 4)},
        {**dict.fromkeys("abcdexyzwv", 6), **dict.fromkeys("ijkl", 2)},
    ),
    "grid of nine": (
        "ab,bcd,de,afg,cfhi,eij,gk,hkl,jl->",
        dict.fromkeys("abcdefghijkl", 16),
        dict.fromkeys("abcdefghijkl", 5),
    ),
    "Tucker": (
        "abc,ia,jb,kc->ijk",
        {**dict.fromkeys("abc", 64), **dict.fromkeys("ijk", 256)},
        {**dict.fromkeys("abc", 12), **dict.fromkeys("ijk", 24)},
    ),
    "a label of four": (
        "ar,br,cr,dr->abcd",
        {"a": 64, "b": 64, "c": 64, "d": 64, "r": 16},
        {"a": 12, "b": 12, "c": 12, "d": 12, "r": 8},
    ),
    "traces": (
        "iab,jbc,kca->ijk",
        {**dict.fromkeys("ijk", 64), **dict.fromkeys("abc", 32)},
        {**dict.fromkeys("ijk", 8), **dict.fromkeys("abc", 8)},
    ),
}
"""Expressions with the sizes of their labels, large and small."""


def einsum(check: Checking) -> None:
    """Networks in four dtypes, and their gradients, against `jax.jit(jnp.einsum)`."""
    for dtype in ("float64", "complex128", "float32", "complex64"):
        for name in check.cases(NETWORKS):
            text, arrays = _operands(name, dtype, check.small)
            check.against_jax(f"{name} {dtype}", _einsum(tn, text), _einsum(jnp, text), *arrays)
    for name in check.cases(NETWORKS):
        text, arrays = _operands(name, "float64", check.small)
        places = tuple(range(len(arrays)))
        ours = tn.grad(_total(tn, _einsum(tn, text)), argnums=places)
        theirs = jax.grad(_total(jnp, _einsum(jnp, text)), argnums=places)
        check.against_jax(f"gradient of {name} float64", ours, theirs, *arrays)


def _operands(name: str, dtype: str, small: bool) -> tuple[str, list[Any]]:
    text, *sizes = NETWORKS[name]
    rng = np.random.default_rng(0)
    arrays = []
    for labels in text.partition("->")[0].split(","):
        shape = [sizes[small][label] for label in labels]
        values = rng.normal(size=shape)
        if dtype.startswith("complex"):
            values = values + 1j * rng.normal(size=shape)
        arrays.append((values * math.prod(shape) ** -0.25).astype(dtype))
    return text, arrays


def _einsum(m: Any, text: str) -> Function:
    exact = {} if m is tn else {"precision": "highest"}
    return lambda *operands: m.einsum(text, *operands, **exact)


def _total(m: Any, function: Function) -> Function:
    return lambda *operands: m.sum(m.sin(function(*operands)))


# `costs`: the constants of `DeviceCosts`, as they are measured here.

_barrier: Function = lax.optimization_barrier


def costs(check: Checking) -> None:
    """What single operations cost, with what `DeviceCosts` of the device says."""
    known = check.executor.device_model.costs
    rng = np.random.default_rng(0)
    n = 512 if check.small else 4096
    products = [
        ("float64", "highest", known.multiply),
        ("float32", "highest", known.multiply),
        ("float32", "default", known.multiply),
        ("complex128", "highest", known.complex_multiply),
        ("complex64", "highest", known.complex_multiply),
        ("bfloat16", "default", known.multiply),
    ]
    for dtype, exact, constant in check.cases(products, lambda each: f"product {each[:2]}"):
        a = check.put_jax(rng.normal(size=(n, n))).astype(dtype)
        found = _seconds(partial(_square, precision=exact), a)
        parts = 4 if dtype.startswith("complex") else 1
        check.note(
            f"product {dtype} {exact}",
            seconds_a_multiply=found / n**3,
            known=constant,
            teraflops=2e-12 * parts * n**3 / found,
        )
    x = check.put_jax(rng.normal(size=(n, n)))
    for name, function, array, count, constant in check.cases(
        _operations(known, x), lambda each: str(each[0])
    ):
        check.note(name, seconds=_seconds(function, array) / count, known=constant)


def _operations(known: Any, x: Any) -> list[tuple[str, Function, Any, int, float]]:
    """Operations, and by how many numbers, matrices or kernels their time is divided."""
    small = jnp.broadcast_to(x[:4, :4], (10_000, 4, 4)) + 0
    one = x[0, :8]

    def kernels(x: Any) -> Any:
        for _ in range(8):
            x = _barrier(jnp.sin(x))
        return x

    return [
        ("transpose, a number", lambda x: _barrier(x.T) + 0, x, x.size, known.move),
        ("copy, a number", lambda x: x + 1, x, x.size, known.load + known.write),
        ("sum, a number", jnp.sum, x, x.size, known.reduce),
        ("small product, a matrix", lambda a: a @ a, small, len(small), known.matrix),
        ("launch of a program", lambda x: x + 1, one, 1, 0.0),
        ("a kernel", kernels, one, 8, known.kernel),
    ]


def _square(a: Any, precision: str) -> Any:
    return jnp.matmul(a, a, precision=precision)


def _seconds(function: Function, array: Any) -> float:
    compiled = jax.jit(function)
    return seconds_of(lambda: compiled(array), repeats=3)
