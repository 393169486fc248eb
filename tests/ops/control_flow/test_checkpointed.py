"""Checkpointed: its meaning, its checks, and what is done with the program inside it."""

import numpy as np
import pytest

from tenferro.compiler import NATIVE, DeadCode, optimize_for, parse
from tenferro.errors import ControlFlowError, ParseError, UnsupportedDynamicShapeError
from tenferro.ir import evaluate, program_of_op, verify
from tenferro.ops.control_flow import Checkpointed
from tenferro.shape import TensorMeta

BODY = parse(
    "exec_program(%0: f64[2], %1: f64[2]) {\n %2: f64[2] = sine %0\n %3: f64[2] = multiply %2, %1\n"
    " return %3, %2\n}"
)
X, Y = np.array([0.5, 2.0]), np.array([3.0, 4.0])
F64 = TensorMeta.of("float64", (2,))


def test_it_computes_its_body_and_the_saved_values() -> None:
    product, sine = Checkpointed(BODY, saved=1).evaluate([X, Y])
    np.testing.assert_array_equal(sine, np.sin(X))
    np.testing.assert_array_equal(product, np.sin(X) * Y)


@pytest.mark.parametrize("op", [Checkpointed(BODY, 1), Checkpointed(BODY, late=True)])
def test_it_is_printed_as_a_block_and_read_back(op: Checkpointed) -> None:
    program = program_of_op(op, [F64, F64])
    again = parse(str(program))
    verify(again)
    assert again.digest == program.digest


def test_dead_outputs_and_operands_are_left_out_but_not_what_it_waits_for() -> None:
    op = Checkpointed(BODY, 1)
    pruned = op.pruned([False, True])
    assert pruned is not None
    assert isinstance(pruned.op, Checkpointed)
    assert (pruned.operands, pruned.outputs, pruned.op.saved) == ((0,), (1,), 1)
    late = Checkpointed(BODY, late=True).pruned([False, True])
    assert late is not None
    assert late.operands == (0, 1)
    assert Checkpointed(BODY).pruned([True, True]) is None
    assert late.op.pruned([True]) is None


def test_a_program_that_is_run_has_late_ones_only() -> None:
    for late in (False, True):
        program = program_of_op(Checkpointed(BODY, late=late), [F64, F64])
        run = optimize_for(program, NATIVE)
        assert run.has_op(Checkpointed) is late
        for value, expected in zip(evaluate(run, [X, Y]), evaluate(program, [X, Y]), strict=True):
            np.testing.assert_array_equal(value, expected)
    assert DeadCode().run(program) is program


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"saved": 3}, "checkpointed: 3 saved values do not fit a body of 2 outputs"),
        ({"saved": 1.5}, "checkpointed: saved must be an integer, got 1.5 of type float"),
        ({"late": 1}, "checkpointed: late must be True or False, got 1 of type int"),
        ({"prevent_cse": None}, "checkpointed: prevent_cse must be True or False"),
        ({"body": 3}, "checkpointed: body must be an ExecProgram, got an int"),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ControlFlowError, match=message):
        Checkpointed(**{"body": BODY, **fields})  # type: ignore[arg-type]  # what a user might write


def test_wrong_operands_and_bodies_are_refused() -> None:
    op = Checkpointed(BODY)
    with pytest.raises(ControlFlowError, match="takes 2 operands, got 1"):
        op.infer_all([F64])
    other = TensorMeta.of("float64", (3,))
    with pytest.raises(ControlFlowError, match=r"operand 1 \(operand \[1\]\) is f64\[3\], but the"):
        op.infer_all([F64, other])
    with pytest.raises(ControlFlowError, match="a late op needs an operand"):
        Checkpointed(parse("exec_program() {\n return \n}"), late=True)
    unknown = parse("exec_program(%0: f64[?]) {\n %1: f64[?] = sine %0\n return %1\n}")
    with pytest.raises(UnsupportedDynamicShapeError, match="checkpointed"):
        Checkpointed(unknown)
    with pytest.raises(ParseError):
        parse("exec_program(%0: f64[2]) {\n %1: f64[2] = checkpointed %0\n return %1\n}")
