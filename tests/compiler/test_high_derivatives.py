"""Each pass alone keeps the fourth derivatives of random programs with loops in loops."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import lax
from tenferro.compiler import CANONICAL, OptimizerOptions, run_passes
from tenferro.ir import ExecProgram, verify
from tests.programs import run

Function = Callable[[Any], Any]
X = np.array([0.5, 0.7, 1.1])
NO_PASSES = OptimizerOptions(
    **{each.name: False for each in fields(OptimizerOptions) if each.type == "bool"}
)
ONE = (tn.sin, tn.cos, tn.tanh, lambda x: x * 0.5, lambda x: x * x)
TWO = (lambda x, y: x * y, lambda x, y: x + tn.sin(y), lambda x, y: x - 0.3 * y)


def scalar_function(rng: random.Random, depth: int) -> Function:
    """A function from f64[3] to f64[], of loops, branches and arithmetic."""
    body = step_function(rng, depth)
    kind = rng.choice(("scan", "scan", "twice", "fori", "map", "python"))
    if kind == "scan":  # the same entries twice
        return lambda x: lax.scan(lambda c, ab: (body(c, ab[0] + ab[1]), None), x[0], (x, x))[0]
    if kind == "twice":  # the second loop reads what the first one stacks, and its entries

        def twice(x: Any) -> Any:
            c, ys = lax.scan(lambda c, a: (body(c, a), c * a), x[1], x)
            return c + lax.scan(lambda c, ab: (body(c, ab[0] * ab[1]), None), x[0], (ys, x))[0]

        return twice
    if kind == "fori":
        return lambda x: lax.fori_loop(0, 3, lambda i, c: body(c, x[i]), x[2])
    if kind == "map":
        return lambda x: tn.sum(lax.map(lambda a: body(a, x[1]), x))
    return lambda x: body(body(x[0], x[1]), x[2])


def step_function(rng: random.Random, depth: int) -> Callable[[Any, Any], Any]:
    """A function of two f64[], which may hold a loop or a branch."""
    f, g, two = rng.choice(ONE), rng.choice(ONE), rng.choice(TWO)
    kind = rng.choice(("plain", "plain", "scan", "cond")) if depth else "plain"
    if kind == "scan":
        inner = scalar_function(rng, depth - 1)
        return lambda c, a: f(two(c, inner(tn.stack([a, c, g(a)]))))
    if kind == "cond":
        other = step_function(rng, depth - 1)
        return lambda c, a: lax.cond(c > a, lambda: f(two(c, a)), lambda: other(g(c), a))
    return lambda c, a: f(two(c, g(a)))


def differentiated(rng: random.Random, f: Function) -> Function:
    """A sum of fourth derivatives, each order or two of them by another transform."""
    order = 0
    while order < 4:
        f, more = _differentiated(rng, f, 4 - order)
        order += more
    return f


def _differentiated(rng: random.Random, f: Function, left: int) -> tuple[Function, int]:
    v = np.array([0.3, -0.2, 0.6])
    kind = rng.choice(("grad", "jvp", "hessian", "hvp") if left > 1 else ("grad", "jvp"))
    if kind == "grad":
        return lambda x: tn.sum(tn.grad(f)(x) * v), 1
    if kind == "jvp":
        return lambda x: tn.jvp(f, (x,), (v,))[1], 1
    if kind == "hessian":
        return lambda x: tn.trace(tn.hessian(f)(x)), 2
    return lambda x: tn.sum(tn.hvp(f, (x,), (x,))), 2


def check(seed: int) -> None:
    """Each pass alone, and all of them, verified, against the program as it was written."""
    rng = random.Random(seed)
    f = differentiated(rng, scalar_function(rng, rng.randrange(3)))
    program: ExecProgram = tn.make_program(f, X, options=NO_PASSES).exec_program
    (want,) = run(program, [X])
    for passes in (*([each] for each in CANONICAL), CANONICAL):
        result = run_passes(program, passes)
        verify(result, after=str(passes))
        (actual,) = run(result, [X])
        np.testing.assert_allclose(actual, want, rtol=1e-8, atol=1e-8, err_msg=f"{seed} {passes}")


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("seed", [1, 2])
def test_each_pass_keeps_fourth_derivatives(seed: int) -> None:
    check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [0, *range(3, 12)])
def test_each_pass_keeps_some_fourth_derivatives(seed: int) -> None:
    check(seed)


@pytest.mark.large
@pytest.mark.parametrize("seed", range(12, 80))
def test_each_pass_keeps_many_fourth_derivatives(seed: int) -> None:
    check(seed)


def test_fourth_derivatives_over_a_scan_are_those_of_the_rounds_written_out() -> None:
    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, a: (tn.sin(c * a), None), x[0], x)[0]

    def written(x: Any) -> Any:
        c = x[0]
        for i in range(3):
            c = tn.sin(c * x[i])
        return c

    def twice(f: Function) -> Any:
        return tn.trace(tn.hessian(lambda x: tn.trace(tn.hessian(f)(x)))(X))

    np.testing.assert_allclose(twice(scanned), twice(written), rtol=1e-9)
