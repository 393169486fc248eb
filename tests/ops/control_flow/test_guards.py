"""In a batch, a loop ends for entries that do not need it, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tests.tolerances import assert_close, rounding

X = np.array([5.0, -np.inf, 0.7, -3.0])
"""Halving and counting down never end at some of the entries that take the other branch."""


def to_zero(x: Any) -> Any:
    """Ends only at whole numbers that are not negative."""
    return tn.while_loop(lambda y: y != 0.0, lambda y: y - 1.0, x)


def halved(x: Any) -> Any:
    """Does not end at infinities."""
    return tn.while_loop(lambda y: tn.abs(y) > 1.0, lambda y: y / 2, x, max_steps=8)


def in_a_branch(x: Any) -> Any:
    return tn.cond(x == 5.0, to_zero, lambda x: x, x)


def in_a_loop_in_a_branch(x: Any) -> Any:
    def step(c: Any, i: Any) -> Any:
        return tn.switch(i, [halved, lambda c: c * 3.0], c), c

    return tn.cond(x > 0, lambda x: tn.scan(step, x, np.array([0, 1, 0]))[0], lambda x: x, x)


def in_a_condition_in_a_branch(x: Any) -> Any:
    def goes_on(y: Any) -> Any:
        return to_zero(y) + y > 1.5

    return tn.cond(
        x == 5.0, lambda x: tn.while_loop(goes_on, lambda y: y - 1, x), lambda x: x - 1, x
    )


def in_a_loop(x: Any) -> Any:
    """The inner loop would not end at what the outer one ends with."""

    def body(c: Any) -> Any:
        return c[0] - 1.0, c[1] + to_zero(c[0]) + c[0]

    return tn.while_loop(lambda c: (c[0] > 0.7) & (c[0] == 5.0) | (c[1] == 5.0), body, (x, 0.0))[1]


FUNCTIONS = [in_a_branch, in_a_loop_in_a_branch, in_a_condition_in_a_branch, in_a_loop]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_batch_is_its_entries(function: Callable[[Any], Any]) -> None:
    results = tn.vmap(function)(X)
    assert_close(results, [function(x).item() for x in X], rounding("f64"))


def test_derivatives_of_a_batch_are_those_of_its_entries() -> None:
    f = in_a_loop_in_a_branch
    expected = [1.0, 1.0, 3 / 4, 1.0]
    expected[0] = 3 / 16  # 5, 2.5, 1.25, 0.625, 1.875, 0.9375
    assert_close(tn.vmap(tn.grad(f))(X), expected, rounding("f64"))
    assert_close(tn.grad(lambda x: tn.sum(tn.vmap(f)(x)))(X), expected, rounding("f64"))
    assert_close(tn.vmap(tn.derivative(f))(X), expected, rounding("f64"))


def test_a_choice_that_is_the_same_for_all_entries_keeps_its_loops() -> None:
    def f(flag: Any, x: Any) -> Any:
        return tn.cond(flag, to_zero, lambda x: x, x)

    program = tn.make_program(tn.vmap(f, (None, 0)), np.bool_(True), np.ones(2))
    assert "switch" in str(program)
    assert "reduce_or" in str(program)  # the condition of the loop is batched
    assert "and" not in {
        step.op.name for body in program.exec_program.walk() for step in body.instructions
    }
