"""Scan: its meaning, its checks, and what is done with the program inside it."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tenferro.compiler import DeadCode, OptimizerOptions, optimize, parse, predict_memory
from tenferro.errors import (
    ControlFlowError,
    ExtentError,
    ParseError,
    TenferroError,
    UnsupportedDynamicShapeError,
    VerifyError,
)
from tenferro.ir import ExecProgram, check_budget, evaluate, program_of_op, verify
from tenferro.ops.control_flow import Scan
from tenferro.shape import TensorMeta, dim
from tests.programs import assert_rewrites, unverified

# One const, one carry, one xs; returns the next carry and one y.
STEP = parse("""
exec_program(%0: f64[2], %1: f64[2], %2: f64[]) {
  %3: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %2
  %4: f64[2] = multiply %1, %0
  %5: f64[2] = add %4, %3
  %6: f64[] = reduce_sum[axes=(0,)] %5
  return %5, %6
}""")
SCAN = Scan(STEP, consts=1, carry=1, length=4)
A, START, XS = np.array([0.5, 2.0]), np.array([1.0, -1.0]), np.array([1.0, 2.0, 3.0, 4.0])


def metas(*texts: str) -> list[TensorMeta]:
    inputs = ", ".join(f"%{i}: {text}" for i, text in enumerate(texts))
    return list(parse(f"exec_program({inputs}) {{\n  return \n}}").input_metas)


@pytest.mark.parametrize("reverse", [False, True])
def test_it_is_the_loop_written_in_python(reverse: bool) -> None:
    carry, expected = START, np.empty(4)
    for number in reversed(range(4)) if reverse else range(4):
        carry = carry * A + XS[number]
        expected[number] = carry.sum()
    last, ys = replace(SCAN, reverse=reverse).evaluate([A, START, XS])
    np.testing.assert_array_equal(last, carry)
    np.testing.assert_array_equal(ys, expected)


def test_no_round_returns_the_start_and_empty_stacks() -> None:
    last, ys = replace(SCAN, length=0).evaluate([A, START, np.empty(0)])
    np.testing.assert_array_equal(last, START)
    assert ys.shape == (0,)


def test_the_number_of_rounds_may_be_a_name() -> None:
    program = program_of_op(replace(SCAN, length=dim("n")), metas("f64[2]", "f64[2]", "f64[n]"))
    assert [str(meta) for meta in program.output_metas] == ["f64[2]", "f64[n]"]
    bound = program.bind({next(iter(program.symbols())): 4})
    assert str(bound.output_metas[1]) == "f64[4]"
    np.testing.assert_array_equal(
        evaluate(bound, [A, START, XS])[1], SCAN.evaluate([A, START, XS])[1]
    )


def test_equal_bodies_make_equal_ops_whatever_their_last_uses_and_sites() -> None:
    marked = parse(str(optimize(STEP, OptimizerOptions.none())).replace("%2!", "%2!  # user.py:1"))
    assert "user.py:1" in str(marked)
    assert Scan(marked, 1, 1, 4) == SCAN
    assert Scan(marked, 1, 1, 4).identity == SCAN.identity
    assert replace(SCAN, length=5) != SCAN
    assert replace(SCAN, reverse=True) != SCAN
    digests = [program_of_op(op, TYPES).digest for op in (SCAN, replace(SCAN, unroll=2))]
    assert len(set(digests)) == 2


TYPES = metas("f64[2]", "f64[2]", "f64[4]")


def test_it_is_printed_as_a_block_and_read_back() -> None:
    program = program_of_op(SCAN, TYPES)
    text = str(program)
    assert "scan[consts=1, carry=1, length=4] %0, %1, %2 {" in text
    assert "    body(%0: f64[2], %1: f64[2], %2: f64[]) {" in text
    again = parse(text)
    verify(again)
    assert again.digest == program.digest


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (
            ["f64[2]", "f64[2]"],
            "scan: takes 3 operands (1 const, 1 carried value and 1 xs), got 2",
        ),
        (
            ["f64[2]", "f64[2]", "f64[3]"],
            "scan: xs leaf [0] is f64[3], whose axis 0 is 3, but the loop has 4 rounds",
        ),
        (
            ["f64[2]", "f32[2]", "f64[4]"],
            "scan: operand 1 (carry leaf [0]) is f32[2], but the body takes f64[2]",
        ),
        (
            ["f64[3]", "f64[2]", "f64[4]"],
            "scan: operand 0 (const 0) is f64[3], but the body takes f64[2]",
        ),
        (
            ["f64[2]", "f64[2]", "f64[4,1]"],
            "scan: operand 2 (xs leaf [0]) is f64[4,1], but the body takes f64[4]",
        ),
        (
            ["f64[2]", "f64[2]", "f64[<=4]"],
            "scan: xs leaf [0] is f64[<=4], whose axis 0 is at most 4 (upper bound), but the loop "
            "has 4 rounds",
        ),
    ],
)
def test_operands_that_do_not_fit_the_body_are_refused(types: list[str], message: str) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(message)):
        SCAN.infer_all(metas(*types))


WIDENED = "exec_program(%0: i64[]) {\n %1: f64[] = convert[dtype=f64] %0\n return %1\n}"
DECIDED = """
exec_program(%0: f64[4], %1: i64[]) {
  %2: f64[<=4] = dynamic_truncate[axis=0] %0, %1  # user.py:12
  %3: f64[] = reduce_sum[axes=(0,)] %2
  return %0, %3
}"""


@pytest.mark.parametrize(
    ("body", "fields", "message"),
    [
        (
            WIDENED,
            {"consts": 0, "carry": 1},
            "scan: carry leaf [0] goes into the body as i64[] and comes out as f64[]; it must keep "
            "its type",
        ),
        (str(STEP), {"consts": 3, "carry": 1}, "do not fit a body of 3 inputs"),
        (str(STEP), {"consts": 0, "carry": 3}, "the body returns 2 values, but carries 3"),
        (str(STEP), {"consts": -1, "carry": 1}, "-1 consts and 1 carried value"),
        (str(STEP), {"consts": 1, "carry": 1, "length": -1}, "length must not be negative"),
        (str(STEP), {"consts": 1, "carry": 1, "unroll": 0}, "unroll must be at least 1, got 0"),
        (
            "exec_program(%0: f64[]) {\n return %3\n}",
            {"consts": 0, "carry": 0},
            "the body returns a slot that it does not write",
        ),
    ],
)
def test_a_body_that_does_not_fit_is_refused(
    body: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(message)):
        Scan(unverified(body), **{"length": 4, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"consts": "0"}, "scan: consts must be an integer, got '0' of type str"),
        ({"carry": 1.0}, "scan: carry must be an integer, got 1.0 of type float"),
        ({"carry": True}, "scan: carry must be an integer, got True of type bool"),
        (
            {"length": 3.0},
            "scan: length must be an integer or a size of the program, got 3.0 of type float",
        ),
        ({"length": None}, "scan: length must be an integer or a size of the program, got None"),
        ({"length": True}, "scan: length must be an integer or a size of the program, got True"),
        ({"unroll": 1.5}, "scan: unroll must be an integer, got 1.5 of type float"),
        ({"reverse": "yes"}, "scan: reverse must be True or False, got 'yes' of type str"),
        ({"reverse": 1}, "scan: reverse must be True or False, got 1 of type int"),
    ],
)
def test_a_field_of_another_type_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(message)):
        Scan(STEP, **{"consts": 1, "carry": 1, "length": 4, **fields})


def test_integers_of_numpy_are_stored_as_int() -> None:
    count, rounds = np.int64(1), np.uint8(4)
    op = Scan(STEP, count, count, rounds, np.bool_(False), np.int32(1))  # type: ignore[arg-type]
    assert op == SCAN
    fields = (op.consts, op.carry, op.length, op.reverse, op.unroll)
    assert [type(value) for value in fields] == [int, int, int, bool, int]
    assert str(op) == str(SCAN)


def test_a_body_with_wrong_types_is_the_same_error_on_arrays_and_in_a_trace() -> None:
    body = unverified(
        "exec_program(%0: f64[2]) {\n %1: f64[2] = reduce_sum[axes=(0,)] %0\n return %1\n}"
    )
    op = Scan(body, 0, 1, 3)
    for apply in (
        lambda: op.evaluate([START]),
        lambda: op.infer_all(metas("f64[2]")),
        lambda: program_of_op(op, metas("f64[2]")),
    ):
        with pytest.raises(
            VerifyError, match=r"reduce_sum records f64\[2\], but the op infers f64"
        ):
            apply()


def test_a_body_is_verified_once() -> None:
    body = replace(STEP)
    op = Scan(body, 1, 1, 4)
    assert not op.body.verified
    op.infer_all(TYPES)
    assert op.body.verified
    assert replace(op, length=5).body.verified
    assert not replace(op.body).verified


def test_what_is_not_a_program_is_refused() -> None:
    with pytest.raises(ControlFlowError, match="body must be an ExecProgram, got a str"):
        Scan("body", 0, 0, 1)  # type: ignore[arg-type]


def test_sizes_that_data_decide_are_refused_with_their_place_and_advice() -> None:
    message = r"scan: in the body, dynamic_truncate at user.py:12: shape\[0\] must be exact"
    with pytest.raises(UnsupportedDynamicShapeError, match=message) as caught:
        Scan(parse(DECIDED), consts=0, carry=1, length=3)
    assert caught.value.__notes__ == ["keep the size and mask, or take the loop out of the program"]
    with pytest.raises(UnsupportedDynamicShapeError, match=r"carry leaf \[0\]: shape\[0\]"):
        Scan(parse("exec_program(%0: f64[?]) {\n return %0\n}"), 0, 1, 3)


def test_a_text_whose_loop_does_not_fit_is_refused_by_the_parser() -> None:
    text = str(program_of_op(SCAN, TYPES))
    with pytest.raises(ParseError, match="scan: the body returns 2 values, but carries 3"):
        parse(text.replace("consts=1, carry=1", "consts=0, carry=3"))


def test_the_verifier_looks_into_the_body_and_at_the_operands() -> None:
    text = str(program_of_op(SCAN, TYPES))
    with pytest.raises(VerifyError, match="multiply reads %9 before it is written"):
        verify(parse(text.replace("multiply %1!", "multiply %9!")))
    with pytest.raises(VerifyError, match="the loop has 5 rounds"):
        verify(parse(text.replace("length=4", "length=5")))


def test_every_check_is_an_error_of_tenferro() -> None:
    assert issubclass(ControlFlowError, TenferroError)


def test_the_budget_counts_what_the_body_makes() -> None:
    body = parse("""
        exec_program(%0: f64[2]) {
          %1: f64[2,1000] = broadcast_in_dim[shape=(2, 1000), dims=(0,)] %0
          %2: f64[2] = reduce_sum[axes=(1,)] %1
          return %2
        }""")
    program = program_of_op(Scan(body, 0, 1, 3), metas("f64[2]"))
    check_budget(program, 16_000)
    with pytest.raises(ExtentError, match=r"broadcast_in_dim: f64\[2,1000\] takes 16000 bytes"):
        check_budget(program, 15_999)


def test_a_carry_is_one_buffer_and_a_body_is_counted_once() -> None:
    need = predict_memory(_summing(3)).peak
    assert need == predict_memory(_summing(300)).peak
    assert need <= 1.1 * 8 * 1000  # the sum, and nothing of its size beside it


def _summing(rounds: int) -> ExecProgram:
    """Adds a row to 1000 zeros in each round."""
    return parse(f"""
        exec_program(%0: f64[]) {{
          %1: f64[1000] = broadcast_in_dim[shape=(1000,), dims=()] %0
          %2: f64[1000] = scan[consts=1, carry=1, length={rounds}] %0, %1 {{
            body(%0: f64[], %1: f64[1000]) {{
              %2: f64[1000] = broadcast_in_dim[shape=(1000,), dims=()] %0
              %3: f64[1000] = add %1, %2
              return %3
            }}
          }}
          return %2
        }}""")


def test_outputs_that_nothing_reads_are_left_out_with_what_only_they_need() -> None:
    assert_rewrites(
        DeadCode(),
        before="""
            exec_program(%0: f64[3], %1: f64[3], %2: f64[], %3: f64[], %4: f64[5]) {
              %5: f64[], %6: f64[], %7: f64[5], %8: f64[5] = scan[consts=2, carry=2, length=5] %0, %1, %2, %3, %4 {
                body(%0: f64[3], %1: f64[3], %2: f64[], %3: f64[], %4: f64[]) {
                  %5: f64[] = reduce_sum[axes=(0,)] %0
                  %6: f64[] = reduce_sum[axes=(0,)] %1
                  %7: f64[] = add %2, %5
                  %8: f64[] = add %3, %6
                  %9: f64[] = multiply %3, %4
                  return %7, %8, %9, %2
                }
              }
              return %8
            }""",  # noqa: E501
        after="""
            exec_program(%0: f64[3], %1: f64[3], %2: f64[], %3: f64[], %4: f64[5]) {
              %5: f64[], %8: f64[5] = scan[consts=1, carry=1, length=5] %0, %2 {
                body(%0: f64[3], %1: f64[]) {
                  %2: f64[] = reduce_sum[axes=(0,)] %0!
                  %3: f64[] = add %1, %2!
                  return %3, %1
                }
              }
              return %8
            }""",
    )


def test_operands_that_no_round_reads_are_left_out_with_what_computes_them() -> None:
    assert_rewrites(
        DeadCode(),
        before="""
            exec_program(%0: f64[], %1: f64[], %2: f64[], %3: f64[4], %4: f64[4]) {
              %5: f64[] = exponential %1
              %6: f64[4] = sine %4
              %7: f64[] = scan[consts=2, carry=1, length=4] %0, %5, %2, %3, %6 {
                body(%0: f64[], %1: f64[], %2: f64[], %3: f64[], %4: f64[]) {
                  %5: f64[] = add %2, %0
                  %6: f64[] = add %5, %3
                  return %6
                }
              }
              return %7
            }""",
        after="""
            exec_program(%0: f64[], %1: f64[], %2: f64[], %3: f64[4], %4: f64[4]) {
              %7: f64[] = scan[consts=1, carry=1, length=4] %0, %2, %3 {
                body(%0: f64[], %1: f64[], %2: f64[]) {
                  %3: f64[] = add %1!, %0!
                  %4: f64[] = add %3!, %2!
                  return %4
                }
              }
              return %7
            }""",
    )


def test_a_carry_that_no_round_reads_keeps_its_operand() -> None:
    program = parse("""
        exec_program(%0: f64[], %1: f64[4]) {
          %2: f64[] = scan[consts=0, carry=1, length=4] %0, %1 {
            body(%0: f64[], %1: f64[]) {
              %2: f64[] = sine %1
              return %2
            }
          }
          return %2
        }""")
    assert DeadCode().run(program) is program


def test_a_dead_carry_stays_where_a_later_round_needs_it() -> None:
    program = parse("""
        exec_program(%0: f64[], %1: f64[]) {
          %2: f64[], %3: f64[] = scan[consts=0, carry=2, length=5] %0, %1 {
            body(%0: f64[], %1: f64[]) {
              %2: f64[] = sine %0
              return %1, %2
            }
          }
          return %2
        }""")
    assert DeadCode().run(program) is program
