"""Programs 300 deep inside one another, at the recursion limit of Python as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from tenferro.compiler import optimize, parse, predict_memory
from tenferro.ir import (
    ExecBuilder,
    ExecOp,
    ExecProgram,
    check_budget,
    evaluate,
    verify,
    with_last_use,
)
from tenferro.ops.control_flow import Scan, Switch, While
from tenferro.shape import SymDim, dim

DEPTH = 300
ONCE = parse("""
exec_program(%0: i32[], %1: f64[n]) {
  %2: bool[] = constant[value=True, dtype=bool]
  return %2
}""")
INNERMOST = parse("""
exec_program(%0: i32[], %1: f64[n]) {
  %2: f64[n] = sine %1
  return %0, %2
}""")
AS_IT_IS = parse("exec_program(%0: i32[], %1: f64[n]) {\n  return %0, %1\n}")

MAKERS: dict[str, Callable[[ExecProgram], ExecOp]] = {
    "scan": lambda body: Scan(body, consts=0, carry=2, length=1),
    "while": lambda body: While(ONCE, body, cond_consts=0, body_consts=0, max_steps=1),
    "switch": lambda body: Switch((body, AS_IT_IS)),
}


def nest(name: str) -> ExecProgram:
    """A program of one op that holds a program of one op, and so on."""
    body = INNERMOST
    for _ in range(DEPTH):
        builder = ExecBuilder()
        index, x = (builder.input(meta) for meta in INNERMOST.input_metas)
        operands = [index, index, x] if name == "switch" else [index, x]
        body = builder.build(builder.add(MAKERS[name](body), operands))
    return with_last_use(body)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", MAKERS)
def test_a_nest_does_not_need_the_stack_of_python(name: str) -> None:
    assert sys.getrecursionlimit() == 1000
    program = nest(name)
    text = str(program)
    again = parse(text)
    verify(again)
    assert again.digest == program.digest
    assert len(list(program.walk())) >= DEPTH + 1
    assert str(program.bind({SymDim("n"): dim("2*n")})) == text.replace("[n]", "[2*n]")
    bound = program.bind({SymDim("n"): 3})
    assert not bound.mentioned()
    check_budget(bound, 100)
    assert predict_memory(bound).peak <= 200
    inputs = [np.asarray(0, np.int32), np.ones(3)]
    for each in (bound, optimize(bound)):
        np.testing.assert_array_equal(evaluate(each, inputs)[-1], np.sin(np.ones(3)))
