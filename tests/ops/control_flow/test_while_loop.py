"""While: its meaning, its checks, and what is done with the programs inside it."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tenferro.compiler import DeadCode, parse, predict_memory
from tenferro.errors import (
    ControlFlowError,
    ParseError,
    UnsupportedDynamicShapeError,
    VerifyError,
)
from tenferro.ir import ExecBuilder, program_of_op, verify
from tenferro.ops import BroadcastInDim
from tenferro.ops.control_flow import While
from tenferro.shape import TensorMeta
from tests.programs import assert_rewrites

# A limit, a step, and as carry a number and a vector.
BELOW = parse("""
exec_program(%0: f64[], %1: f64[], %2: f64[2]) {
  %3: bool[] = compare[direction='LT'] %1, %0
  return %3
}""")
STEP = parse("""
exec_program(%0: f64[2], %1: f64[], %2: f64[2]) {
  %3: f64[] = reduce_sum[axes=(0,)] %0
  %4: f64[] = add %1, %3
  %5: f64[2] = multiply %2, %0
  return %4, %5
}""")
LOOP = While(BELOW, STEP, cond_consts=1, body_consts=1)
BY, START = np.array([0.5, 2.0]), np.array([1.0, -1.0])
TYPES = ["f64[]", "f64[2]", "f64[]", "f64[2]"]


def metas(*texts: str) -> list[TensorMeta]:
    inputs = ", ".join(f"%{i}: {text}" for i, text in enumerate(texts))
    return list(parse(f"exec_program({inputs}) {{\n  return \n}}").input_metas)


@pytest.mark.parametrize("limit", [-1.0, 0.1, 7.0])
@pytest.mark.parametrize("max_steps", [None, 0, 2, 100])
def test_it_is_the_loop_written_in_python(limit: float, max_steps: int | None) -> None:
    number, vector, steps = np.array(0.0), START, 0
    while number < limit and (max_steps is None or steps < max_steps):
        number, vector, steps = number + BY.sum(), vector * BY, steps + 1
    loop = replace(LOOP, max_steps=max_steps)
    for _ in range(2):
        result = loop.evaluate([np.array(limit), BY, np.array(0.0), START])
        np.testing.assert_array_equal(result[0], number)
        np.testing.assert_array_equal(result[1], vector)


def test_leaves_may_change_places() -> None:
    cond = parse("""
        exec_program(%0: f64[], %1: f64[], %2: i64[]) {
          %3: i64[] = constant[value=3, dtype=i64]
          %4: bool[] = compare[direction='LT'] %2, %3
          return %4
        }""")
    body = parse("""
        exec_program(%0: f64[], %1: f64[], %2: i64[]) {
          %3: i64[] = constant[value=1, dtype=i64]
          %4: i64[] = add %2, %3
          return %1, %0, %4
        }""")
    result = While(cond, body, 0, 0).evaluate([np.array(1.0), np.array(2.0), np.array(0)])
    assert [float(value) for value in result] == [2.0, 1.0, 3.0]


def test_it_is_printed_as_blocks_and_read_back() -> None:
    for loop, fields in (
        (LOOP, "while[cond_consts=1, body_consts=1] %0, %1, %2, %3 {"),
        (
            replace(LOOP, max_steps=5),
            "while[cond_consts=1, body_consts=1, max_steps=5] %0, %1, %2, %3 {",
        ),
    ):
        program = program_of_op(loop, metas(*TYPES))
        text = str(program)
        assert fields in text
        assert "    cond(%0: f64[], %1: f64[], %2: f64[2]) {" in text
        assert "    body(%0: f64[2], %1: f64[], %2: f64[2]) {" in text
        again = parse(text)
        verify(again)
        assert again.digest == program.digest
    assert replace(LOOP, max_steps=5) != LOOP


RETURNED = "exec_program(%0: f64[], %1: f64[], %2: f64[2]) {{\n return {}\n}}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cond": "c"}, "while: cond must be an ExecProgram, got a str"),
        ({"body": 1}, "while: body must be an ExecProgram, got an int"),
        ({"cond_consts": 1.0}, "while: cond_consts must be an integer, got 1.0 of type float"),
        ({"body_consts": True}, "while: body_consts must be an integer, got True of type bool"),
        (
            {"max_steps": "9"},
            "while: max_steps must be an integer or None, got '9' of type str",
        ),
        ({"max_steps": -1}, "while: max_steps must not be negative, got -1"),
        (
            {"cond_consts": 0},
            "while: 0 consts and 2 carried values do not fit a cond of 3 inputs",
        ),
        (
            {"body_consts": 2},
            "while: 2 consts and 2 carried values do not fit a body of 3 inputs",
        ),
        (
            {"cond": parse(RETURNED.format("%1"))},
            "while: cond must return one bool[], but returns f64[]",
        ),
        (
            {"cond": parse(RETURNED.format(""))},
            "while: cond must return one bool[], but returns nothing",
        ),
        (
            {"cond": parse(str(BELOW).replace("%2: f64[2]", "%2: f32[2]"))},
            "while: cond takes carry leaf [1] as f32[2], but the body takes f64[2]",
        ),
        (
            {"body": parse(str(STEP).replace("return %4, %5", "return %4, %4"))},
            "while: carry leaf [1] goes into the body as f64[2] and comes out as f64[]; it must "
            "keep its type",
        ),
    ],
)
def test_a_field_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(message)):
        replace(LOOP, **fields)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (
            TYPES[:3],
            "while: takes 4 operands (1 cond const, 1 body const and 2 carried values), got 3",
        ),
        (
            ["f32[]", *TYPES[1:]],
            "while: operand 0 (cond const 0) is f32[], but cond takes f64[]",
        ),
        (
            ["f64[]", "f64[3]", *TYPES[2:]],
            "while: operand 1 (body const 0) is f64[3], but the body takes f64[2]",
        ),
        (
            [*TYPES[:3], "i64[2]"],
            "while: operand 3 (carry leaf [1]) is i64[2], but the body takes f64[2]",
        ),
    ],
)
def test_operands_that_do_not_fit_are_refused(types: list[str], message: str) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(message)):
        LOOP.infer_all(metas(*types))


def test_sizes_that_data_decide_are_refused() -> None:
    cond = parse("""
        exec_program(%0: f64[4], %1: i64[]) {
          %2: f64[<=4] = dynamic_truncate[axis=0] %0, %1
          %3: f64[] = reduce_sum[axes=(0,)] %2
          %4: bool[] = compare[direction='LT'] %3, %3
          return %4
        }""")
    body = parse("exec_program(%0: f64[4], %1: i64[]) {\n return %0, %1\n}")
    with pytest.raises(UnsupportedDynamicShapeError, match="while: in cond, dynamic_truncate"):
        While(cond, body, 0, 0)


def test_the_verifier_and_the_parser_look_into_both_programs() -> None:
    text = str(program_of_op(LOOP, metas(*TYPES)))
    with pytest.raises(VerifyError, match="compare reads %9 before it is written"):
        verify(parse(text.replace("compare[direction='LT'] %1!", "compare[direction='LT'] %9!")))
    with pytest.raises(ParseError, match="while: 2 consts and 2 carried values do not fit a cond"):
        parse(text.replace("cond_consts=1", "cond_consts=2"))


def test_a_carry_is_one_buffer() -> None:
    body = parse("""
        exec_program(%0: f64[1000]) {
          %1: f64[1000] = sine %0
          return %1
        }""")
    cond = parse("""
        exec_program(%0: f64[1000]) {
          %1: f64[] = reduce_sum[axes=(0,)] %0
          %2: bool[] = compare[direction='LT'] %1, %1
          return %2
        }""")
    builder = ExecBuilder()
    start = builder.add(BroadcastInDim((1000,), ()), [builder.input(metas("f64[]")[0])])
    program = builder.build(builder.add(While(cond, body, 0, 0), start))
    assert predict_memory(program).peak <= 1.1 * 8000


def test_leaves_that_nothing_needs_are_left_out_with_what_only_they_read() -> None:
    assert_rewrites(
        DeadCode(),
        before="""
            exec_program(%0: f64[], %1: f64[], %2: f64[], %3: i64[], %4: f64[], %5: f64[]) {
              %6: f64[] = exponential %2
              %7: i64[], %8: f64[], %9: f64[] = while[cond_consts=1, body_consts=2, max_steps=9] %0, %1, %6, %3, %4, %5 {
                cond(%0: f64[], %1: i64[], %2: f64[], %3: f64[]) {
                  %4: i64[] = constant[value=3, dtype=i64]
                  %5: bool[] = compare[direction='LT'] %1, %4
                  return %5
                }
                body(%0: f64[], %1: f64[], %2: i64[], %3: f64[], %4: f64[]) {
                  %5: i64[] = add %2, %2
                  %6: f64[] = multiply %3, %0
                  %7: f64[] = multiply %4, %1
                  return %5, %6, %7
                }
              }
              return %8
            }""",  # noqa: E501
        after="""
            exec_program(%0: f64[], %1: f64[], %2: f64[], %3: i64[], %4: f64[], %5: f64[]) {
              %7: i64[], %8: f64[] = while[cond_consts=0, body_consts=1, max_steps=9] %1, %3, %4 {
                cond(%0: i64[], %1: f64[]) {
                  %2: i64[] = constant[value=3, dtype=i64]
                  %3: bool[] = compare[direction='LT'] %0!, %2!
                  return %3
                }
                body(%0: f64[], %1: i64[], %2: f64[]) {
                  %3: i64[] = add %1, %1!
                  %4: f64[] = multiply %2!, %0!
                  return %3, %4
                }
              }
              return %8
            }""",
    )
