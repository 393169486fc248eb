"""Switch: its meaning, its checks, and what is done with the programs inside it."""

import re
from typing import Any

import numpy as np
import pytest

from tenferro.compiler import DeadCode, mask_program, parse, predict_memory
from tenferro.errors import (
    ControlFlowError,
    ExtentError,
    PadSafetyError,
    ParseError,
    UnsupportedDynamicShapeError,
    VerifyError,
)
from tenferro.ir import check_budget, evaluate, program_of_op, verify
from tenferro.ops import Constant
from tenferro.ops.control_flow import Switch
from tenferro.shape import SymDim, TensorMeta
from tests.programs import assert_leaves_alone, assert_rewrites, unverified

SINE = parse("exec_program(%0: f64[2], %1: f64[]) {\n %2: f64[2] = sine %0\n return %2, %1\n}")
SAME = parse("exec_program(%0: f64[2], %1: f64[]) {\n return %0, %1\n}")
TWICE = parse("exec_program(%0: f64[2], %1: f64[]) {\n %2: f64[2] = add %0, %0\n return %2, %1\n}")
SWITCH = Switch((SINE, SAME, TWICE))
X, Y = np.array([0.5, 2.0]), np.array(3.0)


def metas(*texts: str) -> list[TensorMeta]:
    inputs = ", ".join(f"%{i}: {text}" for i, text in enumerate(texts))
    return list(parse(f"exec_program({inputs}) {{\n  return \n}}").input_metas)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_the_index_chooses_a_branch_and_is_held_within(dtype: str) -> None:
    results = {0: np.sin(X), 1: X, 2: X + X, 3: X + X, 120: X + X, -1: np.sin(X), -128: np.sin(X)}
    for index, expected in results.items():
        if index >= 0 or dtype.startswith("int"):
            x, y = SWITCH.evaluate([np.asarray(index, np.dtype(dtype)), X, Y])
            np.testing.assert_array_equal(x, expected)
            np.testing.assert_array_equal(y, Y)


def test_it_is_printed_as_blocks_and_read_back() -> None:
    program = program_of_op(SWITCH, metas("i64[]", "f64[2]", "f64[]"))
    text = str(program)
    assert "%3: f64[2], %4: f64[] = switch %0, %1, %2 {" in text
    assert [line.split("(")[0].strip() for line in text.splitlines() if "branches" in line] == [
        "branches[0]",
        "branches[1]",
        "branches[2]",
    ]
    again = parse(text)
    verify(again)
    assert again.digest == program.digest
    assert str(again) == text


def test_a_field_of_several_programs_is_one_payload() -> None:
    assert Switch((SINE, SAME, TWICE)) == SWITCH
    assert Switch((SAME, SINE, TWICE)) != SWITCH
    assert Switch((SINE, SAME)) != SWITCH
    assert list(SWITCH.bodies) == ["branches[0]", "branches[1]", "branches[2]"]
    assert SWITCH.with_bodies(SWITCH.bodies) == SWITCH
    assert SWITCH.with_bodies({**SWITCH.bodies, "branches[1]": TWICE}) == Switch(
        (SINE, TWICE, TWICE)
    )


@pytest.mark.parametrize(
    ("branches", "message"),
    [
        ((), "switch: branches is empty; there must be one at least"),
        ([SINE], "switch: branches must be a tuple of programs, got a list"),
        ((SINE, "x"), "switch: branch 1 must be an ExecProgram, got a str"),
        (
            (SINE, parse("exec_program(%0: f64[3], %1: f64[]) {\n return %0, %1\n}")),
            "switch: branch 1 takes (f64[3], f64[]) and branch 0 (f64[2], f64[]); branches must "
            "take and return the same types",
        ),
        (
            (SINE, parse("exec_program(%0: f64[2], %1: f64[]) {\n return %0\n}")),
            "switch: branch 1 returns (f64[2],) and branch 0 (f64[2], f64[])",
        ),
        (
            (unverified("exec_program(%0: f64[2]) {\n return %7\n}"),),
            "switch: branch 0 returns a slot that it does not write",
        ),
    ],
)
def test_branches_that_do_not_fit_one_another_are_refused(branches: Any, message: str) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(message)):
        Switch(branches)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (["i64[]", "f64[2]"], "switch: takes 3 operands (the index and those of the branches)"),
        (["f64[]", "f64[2]", "f64[]"], "switch: the index must be a rank-0 integer, got f64[]"),
        (["bool[]", "f64[2]", "f64[]"], "switch: the index must be a rank-0 integer, got bool[]"),
        (["i64[1]", "f64[2]", "f64[]"], "switch: the index must be a rank-0 integer, got i64[1]"),
        (
            ["i64[]", "f64[2]", "f32[]"],
            "switch: operand 2 (branch operand [1]) is f32[], but the branches take f64[]",
        ),
    ],
)
def test_operands_that_do_not_fit_the_branches_are_refused(types: list[str], message: str) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(message)):
        SWITCH.infer_all(metas(*types))


def test_sizes_that_data_decide_are_refused() -> None:
    branch = parse("""
        exec_program(%0: f64[4], %1: i64[]) {
          %2: f64[<=4] = dynamic_truncate[axis=0] %0, %1  # user.py:12
          return %0
        }""")
    message = r"switch: in branch 0, dynamic_truncate at user.py:12: shape\[0\] must be exact"
    with pytest.raises(UnsupportedDynamicShapeError, match=message):
        Switch((branch,))


def test_what_a_branch_knows_of_a_number_is_not_known_of_the_result() -> None:
    branches = [program_of_op(Constant(np.asarray(size)), []) for size in (1, 2)]
    (meta,) = Switch(tuple(branches)).infer_all(metas("i64[]"))
    assert branches[0].output_metas[0].as_size is not None
    assert meta.as_size is None


def test_the_verifier_and_the_parser_look_into_branches() -> None:
    text = str(program_of_op(SWITCH, metas("i64[]", "f64[2]", "f64[]")))
    with pytest.raises(VerifyError, match="add reads %7 before it is written"):
        verify(parse(text.replace("add %0, %0!", "add %0, %7!")))
    with pytest.raises(ParseError, match="switch: branch 1 returns"):
        parse(text.replace("return %0, %1", "return %0"))


def test_branches_have_their_budget_and_memory() -> None:
    wide = parse("""
        exec_program(%0: f64[2]) {
          %1: f64[2,1000] = broadcast_in_dim[shape=(2, 1000), dims=(0,)] %0
          %2: f64[2,1000] = cumulative_sum[axis=1] %1
          %3: f64[2] = reduce_sum[axes=(1,)] %2
          return %3
        }""")
    same = parse("exec_program(%0: f64[2]) {\n return %0\n}")
    program = program_of_op(Switch((same, wide)), metas("i64[]", "f64[2]"))
    with pytest.raises(ExtentError, match=r"f64\[2,1000\] takes 16000 bytes"):
        check_budget(program, 15_999)
    check_budget(program, 16_000)
    alone = predict_memory(wide).peak
    assert predict_memory(program).peak == alone  # results are those of the branch
    assert predict_memory(program_of_op(Switch((same,)), program.input_metas)).peak == 16


def test_symbols_in_branches_are_bound_once() -> None:
    branch = parse("""
        exec_program(%0: f64[n], %1: f64[m]) {
          %2: f64[2*n] = concatenate[axis=0] %0, %0
          return %2
        }""")
    program = program_of_op(Switch((branch, branch)), metas("i64[]", "f64[n]", "f64[m]"))
    assert program.mentioned() == {SymDim("n"), SymDim("m")}
    renamed = program.bind({SymDim("n"): metas("f64[2*n]")[0].dims[0]})  # type: ignore[index]
    assert [str(meta) for meta in renamed.output_metas] == ["f64[4*n]"]
    bound = renamed.bind({SymDim("n"): 2, SymDim("m"): 1})
    verify(bound)
    assert not bound.mentioned()
    (result,) = evaluate(bound, [np.array(1), np.ones(4), np.ones(1)])
    np.testing.assert_array_equal(result, np.ones(8))


def test_a_size_that_is_rounded_up_may_not_be_in_a_branch() -> None:
    branch = parse("exec_program(%0: f64[n]) {\n %1: f64[n] = cosine %0\n return %1\n}")
    program = program_of_op(Switch((branch,)), metas("i64[]", "f64[n]"))
    with pytest.raises(PadSafetyError, match="switch"):
        mask_program(program, [SymDim("n")])


def test_dead_outputs_and_unread_operands_are_left_out() -> None:
    assert_rewrites(
        DeadCode(),
        before="""
            exec_program(%0: i64[], %1: f64[2], %2: f64[2], %3: f64[]) {
              %4: f64[] = exponential %3
              %5: f64[2], %6: f64[2] = switch %0, %1, %2, %4 {
                branches[0](%0: f64[2], %1: f64[2], %2: f64[]) {
                  %3: f64[2] = sine %0
                  %4: f64[2] = cosine %1
                  return %3, %4
                }
                branches[1](%0: f64[2], %1: f64[2], %2: f64[]) {
                  %3: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %2
                  return %1, %3
                }
              }
              return %5
            }""",
        after="""
            exec_program(%0: i64[], %1: f64[2], %2: f64[2], %3: f64[]) {
              %5: f64[2] = switch %0, %1, %2 {
                branches[0](%0: f64[2], %1: f64[2]) {
                  %2: f64[2] = sine %0!
                  return %2
                }
                branches[1](%0: f64[2], %1: f64[2]) {
                  return %1
                }
              }
              return %5
            }""",
    )
    assert_leaves_alone(DeadCode(), str(program_of_op(SWITCH, metas("i64[]", "f64[2]", "f64[]"))))
