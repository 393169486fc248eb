"""Errors of traced values say which arguments the values depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import TenferroError

ONES = np.ones(2)
INDICES = np.arange(2)


def branching(x: Any) -> Any:
    return x if x > 0 else -x


def step(params: Any, batch: Any) -> Any:
    """A function of trees."""
    return float(tn.sum(params["w"] * batch[1]))


@tn.custom_vjp
def ruled(x: Any) -> Any:
    return x


def fwd(x: Any) -> Any:
    return x, int(x)


ruled.defvjp(fwd, lambda _, ct: (ct,))


undecided = tn.custom_vjp(branching)
undecided.defvjp(fwd, lambda _, ct: (ct,))


@tn.custom_jvp
def pushed(x: Any) -> Any:
    return x


@pushed.defjvp
def push(primals: Any, tangents: Any) -> Any:
    return primals[0], float(tangents[0])


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "an argument": (lambda: tn.jit(branching)(1.0), "the argument x of branching"),
    "leaves of trees": (
        lambda: tn.jit(step)({"v": 1.0, "w": ONES}, (ONES, ONES)),
        "the arguments params['w'] and batch[1] of step",
    ),
    "many": (
        lambda: tn.jit(lambda xs: bool(sum(xs) > 0))([1.0] * 7),
        "the arguments xs[0], xs[1], xs[2], xs[3] and 3 more of <lambda>",
    ),
    "none": (lambda: tn.jit(lambda x: tn.ones(3).to_device("cpu:0"))(1.0), "no argument"),
    "grad in jit": (
        lambda: tn.jit(lambda p, q: tn.grad(branching)(p * 2))(1.0, 2.0),
        "the argument x of branching, and on the argument p of <lambda>",
    ),
    "vmap in jit": (
        lambda: tn.jit(lambda p: tn.vmap(branching)(p))(ONES),
        "the argument x of branching, and on the argument p of <lambda>",
    ),
    "closed over": (
        lambda: tn.jit(lambda p: tn.grad(lambda x: x * int(p))(p))(1.0),
        "the argument p of <lambda>",
    ),
    "a carry": (
        lambda: tn.jit(lambda p: tn.scan(lambda carry, x: (bool(carry), x), p, ONES))(1.0),
        "the argument carry of <lambda>, and on the argument p of <lambda>",
    ),
    "a row": (
        lambda: tn.jit(lambda p: tn.scan(lambda c, x: (c, float(x["a"])), 0.0, {"a": p}))(ONES),
        "the argument x['a'] of <lambda>, and on the argument p of <lambda>",
    ),
    "a condition": (
        lambda: tn.while_loop(lambda v: bool(v[0] < 3), lambda v: v, (1.0, 2.0)),
        "the argument v[0] of <lambda>",
    ),
    "a counter": (
        lambda: tn.fori_loop(0, 3, lambda i, v: v + [1, 2, 3][i], 0),
        "the argument i of <lambda>",
    ),
    "a branch": (
        lambda: tn.jit(lambda p: tn.cond(p > 0, branching, branching, p))(1.0),
        "the argument x of branching, and on the argument p of <lambda>",
    ),
    "a checkpoint": (
        lambda: tn.jit(lambda p: tn.checkpoint(branching)(p))(1.0),
        "the argument x of branching, and on the argument p of <lambda>",
    ),
    "a custom function": (
        lambda: undecided(tn.TracedTensor.input((), name="z")),
        "the argument x of branching, and on the input z",
    ),
    "a rule of cotangents": (
        lambda: tn.jit(tn.grad(ruled))(1.0),
        "the argument x of fwd of custom_vjp ruled",
    ),
    "a rule of tangents": (
        lambda: tn.grad(pushed)(1.0),
        "the argument tangents[0] of the rule of custom_jvp pushed",
    ),
    "a size": (lambda: tn.jit(lambda x, n: tn.eye(n) * x)(1.0, 2), "the argument n of <lambda>"),
    "zeros": (lambda: tn.jit(lambda n: tn.zeros((2, n)))(2), "the argument n of <lambda>"),
    "a range": (lambda: tn.jit(lambda n: tn.arange(n))(2), "the argument n of <lambda>"),
    "an axis": (lambda: tn.jit(lambda n: tn.sum(ONES, axis=n))(0), "the argument n of <lambda>"),
    "a mask": (lambda: tn.jit(lambda x: x[x > 0])(ONES), "the argument x of <lambda>"),
    "elements": (
        lambda: tn.jit(lambda x: tn.bincount(x))(np.array([0, 1])),
        "the argument x of <lambda>",
    ),
    "a count": (
        lambda: tn.jit(lambda n: tn.scan(lambda c, _: (c, None), 0.0, None, n))(2),
        "the argument n of <lambda>",
    ),
    "an input": (lambda: int(tn.TracedTensor.input((), name="z")), "the input z"),
    **{
        name: (
            lambda use=use: tn.jit(lambda x, y: use(x * 2))(ONES, 1.0),  # type: ignore[misc]
            "the argument x of <lambda>",
        )
        for name, use in {
            "NumPy": np.asarray,
            "item": lambda x: x.item(),
            "hash": hash,
            "range": lambda x: range(x[0]),
            "complex": lambda x: complex(x[0]),
        }.items()
    },
}


@pytest.mark.parametrize("case", CASES)
def test_the_error_says_on_which_arguments_the_value_depends(case: str) -> None:
    call, origin = CASES[case]
    with pytest.raises(TenferroError) as raised:
        call()
    assert f"; it depends on {origin}" in str(raised.value)
