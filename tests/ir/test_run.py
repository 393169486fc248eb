"""The one interpreter: numbers, or whatever a handler makes of the instructions."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from tenferro.errors import BindingError
from tenferro.ir import ExecInstruction, evaluate, run
from tests.programs import read

PROGRAM = read(
    """exec_program(%0: f64[3], %1: f64[3]) {
      %2: f64[3] = add %0, %1
      %3: f64[3] = sine %2
      %4: f64[3] = multiply %3, %3
      return %4, %2
    }"""
)


def test_it_has_the_numpy_meaning_of_the_ops() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, -1.0])
    squares, sums = evaluate(PROGRAM, [x, y])
    np.testing.assert_array_equal(sums, x + y)
    np.testing.assert_array_equal(squares, np.sin(x + y) ** 2)


def test_values_may_be_anything_that_the_handler_takes() -> None:
    def described(step: ExecInstruction, operands: list[str]) -> list[str]:
        return [f"{step.op.name}({', '.join(operands)})"]

    assert run(PROGRAM, ["x", "y"], described) == [
        "multiply(sine(add(x, y)), sine(add(x, y)))",
        "add(x, y)",
    ]


def test_a_value_is_let_go_after_its_last_reader() -> None:
    class Value:
        pass

    alive: dict[str, weakref.ref[Value]] = {}

    def handler(step: ExecInstruction, operands: list[Any]) -> list[Any]:
        if step.op.name == "multiply":
            del operands
            gc.collect()
            assert alive["sine"]() is not None  # the interpreter still holds what is read here
        result = Value()
        alive[step.op.name] = weakref.ref(result)
        return [result]

    results = run(PROGRAM, [Value(), Value()], handler)
    gc.collect()
    assert alive["sine"]() is None
    assert [alive[name]() for name in ("multiply", "add")] == results


def test_a_wrong_number_of_inputs_is_refused() -> None:
    with pytest.raises(BindingError, match="run: the program takes 2 inputs, got 1"):
        evaluate(PROGRAM, [np.ones(3)])
