import subprocess
import sys

import numpy as np
import pytest

from tenferro.compiler import parse
from tenferro.errors import ShapeError
from tenferro.ir import (
    ExecBuilder,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    last_uses,
    verify,
    with_last_use,
)
from tenferro.ops import ADD, EXP, MUL, Concatenate, Constant, Convert, Reshape, Transpose
from tenferro.shape import Exact, SymDim, TensorMeta, Unknown, UpperBound, as_dtype, dim

TEXT = """exec_program(%0: f64[n,3]) {
  %1: f64[3,n] = transpose[perm=(1, 0)] %0  # user.py:12
  %2: f64[3*n] = reshape[shape=(3*n,)] %1
  %3: f32[3*n] = convert[dtype=f32] %2
  return %3, %0
}"""


def built() -> ExecProgram:
    builder = ExecBuilder()
    x = builder.input(TensorMeta.of("f64", ("n", 3)))
    (turned,) = builder.add(Transpose((1, 0)), [x], "user.py:12")
    (flat,) = builder.add(Reshape((3 * dim("n"),)), [turned])
    (narrow,) = builder.add(Convert(as_dtype("f32")), [flat])
    return builder.build([narrow, x])


def test_a_built_program_prints_as_text() -> None:
    assert str(built()) == TEXT


def test_a_program_of_nothing_prints() -> None:
    assert str(ExecBuilder().build([])) == "exec_program() {\n  return\n}"


def test_types_by_slot_and_of_outputs() -> None:
    program = built()
    assert [str(meta) for meta in program.slot_metas()] == [
        "f64[n,3]",
        "f64[3,n]",
        "f64[3*n]",
        "f32[3*n]",
    ]
    assert [str(meta) for meta in program.output_metas] == ["f32[3*n]", "f64[n,3]"]


def test_slots_that_nothing_writes_have_no_type() -> None:
    program = ExecProgram((), (2,), (TensorMeta.of("f64", ()),), (2,), 4)
    assert [meta is None for meta in program.slot_metas()] == [True, True, False, True]


def test_an_instruction_shows_what_is_known_of_each_output() -> None:
    meta = TensorMeta(as_dtype("c64"), [Exact(3), UpperBound(dim("n"))])
    step = ExecInstruction(EXP, (0,), (1,), (meta,))
    assert step.dtype == np.complex64
    assert step.output_dtypes == (as_dtype("c64"),)
    assert step.output_shapes == ((3, dim("n")),)
    assert step.output_extents == ((Exact(3), UpperBound(dim("n"))),)


def test_an_unknown_extent_has_no_bound() -> None:
    meta = TensorMeta(as_dtype("c64"), [Unknown()])
    with pytest.raises(ShapeError, match=r"exponential: output\[0\] must be exact, but is unknown"):
        _ = ExecInstruction(EXP, (0,), (1,), (meta,)).output_shapes


def test_the_builder_refuses_operands_that_do_not_fit() -> None:
    builder = ExecBuilder()
    x, y = (builder.input(TensorMeta.of("f64", (size,))) for size in (2, 3))
    with pytest.raises(ShapeError, match="add: operands have types"):
        builder.add(ADD, [x, y])


def test_symbols_are_bound_and_types_inferred_anew() -> None:
    program = built()
    assert program.symbols() == {SymDim("n")}
    bound = program.bind({SymDim("n"): 2})
    verify(bound)
    assert bound.symbols() == set()
    assert (
        str(bound)
        == """exec_program(%0: f64[2,3]) {
  %1: f64[3,2] = transpose[perm=(1, 0)] %0  # user.py:12
  %2: f64[6] = reshape[shape=(6,)] %1!
  %3: f32[6] = convert[dtype=f32] %2!
  return %3, %0
}"""
    )
    assert program.bind({}) is program


def test_of_operands_that_are_one_value_the_last_is_marked() -> None:
    builder = ExecBuilder()
    x, y, z = (builder.input(TensorMeta.of("f64", (2,))) for _ in range(3))
    (joined,) = builder.add(Concatenate(0), [x, y, x, z, y])
    (other,) = builder.add(Concatenate(0), [z, joined, joined])
    program = builder.build([other])
    marks = [(False, False, True, False, True), (True, False, True)]
    assert last_uses(program) == marks
    assert last_uses(builder.build([other, x]))[0] == (False, False, False, False, True)


def test_last_uses_are_marked() -> None:
    text = """
        exec_program(%0: f64[2], %1: f64[2]) {
          %2: f64[2] = multiply %0!, %1
          %3: f64[2] = add %2, %1!
          %4: f64[2] = multiply %2, %2!
          return %3, %4
        }"""
    program = parse(text.replace("!", ""))
    marked = with_last_use(program)
    verify(marked)
    assert str(marked) == str(parse(text))


def test_what_is_returned_has_no_last_use_and_what_nobody_reads_no_use() -> None:
    builder = ExecBuilder()
    x, _ = (builder.input(TensorMeta.of("f64", ())) for _ in range(2))
    (unread,) = builder.add(EXP, [x])
    program = with_last_use(builder.build([x]))
    assert program.instructions[0].last_use == (False,)
    assert unread == 2


def test_equal_marks_are_one_object() -> None:
    builder = ExecBuilder()
    slot = x = builder.input(TensorMeta.of("f64", (2,)))
    for _ in range(3):
        (slot,) = builder.add(MUL, [slot, x])
    marks = last_uses(builder.build([slot]))
    assert marks == [(False, False), (True, False), (True, True)]
    program = builder.build([slot])
    marked = with_last_use(program)
    assert with_last_use(marked) is marked
    again = last_uses(marked)
    assert all(first is second for first, second in zip(marks, again, strict=True))


def test_a_program_knows_the_classes_of_its_ops() -> None:
    program = built()
    assert program.op_classes >= {Transpose, Reshape, Convert, ExecOp}
    assert program.op_classes is program.op_classes
    assert program.has_op(Transpose)
    assert program.has_op(ExecOp)
    assert not program.has_op(Constant)


def test_a_digest_knows_structure_types_and_payloads_but_no_sites_and_marks() -> None:
    program = built()
    assert parse(TEXT.replace("  # user.py:12", "")).digest == program.digest
    assert with_last_use(program).digest == program.digest
    others = [
        TEXT.replace("return %3, %0", "return %0, %3"),
        TEXT.replace("f32", "f16"),
        TEXT.replace("[n,3]", "[m,3]").replace("*n", "*m").replace("[3,n]", "[3,m]"),
    ]
    assert len({program.digest, *(parse(text).digest for text in others)}) == 4


def test_constants_are_part_of_the_digest() -> None:
    digests = set()
    for value in (0.0, -0.0, 1.0, np.float32(0.0), np.zeros(1), 0, False, np.nan):
        builder = ExecBuilder()
        digests.add(builder.build(builder.add(Constant(np.asarray(value)), [])).digest)
    assert len(digests) == 8


def test_a_digest_is_the_same_in_every_process() -> None:
    code = "from tenferro.compiler import parse; import sys; print(parse(sys.stdin.read()).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=TEXT,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout.strip()
        for seed in ("0", "1", "31337")
    }
    assert digests == {built().digest}


@pytest.mark.exhaustive
def test_a_program_of_20_000_instructions_is_built_printed_digested_and_read_back() -> None:
    builder = ExecBuilder()
    slot = builder.input(TensorMeta.of("f64", (2,)))
    for _ in range(20_000):
        (slot,) = builder.add(MUL, [slot, slot])
    program = with_last_use(builder.build([slot]))
    verify(program)
    assert parse(str(program)).digest == program.digest


def questions() -> ExecProgram:
    """Two sums, one of which reads a slot twice, and an exponential that no output needs."""
    return parse("""exec_program(%0: f64[n], %1: f64[n]) {
      %2: f64[n] = add %0, %0
      %3: f64[n] = exponential %1
      %4: f64[n] = add %2, %0
      return %4
    }""")


def test_ops_and_steps_are_found_by_class() -> None:
    program = questions()
    assert [op.name for op in program.ops()] == ["add", "exponential", "add"]
    assert program.ops_of(type(ADD)) == [ADD, ADD]
    assert [step.output_slots for step in program.steps_of(type(ADD))] == [(2,), (4,)]
    assert program.ops_of(Transpose) == program.steps_of(Transpose) == []


def test_slots_that_are_written_and_read_come_in_order() -> None:
    program = questions()
    assert program.written_slots() == [0, 1, 2, 3, 4]
    assert program.read_slots() == [0, 0, 1, 2, 0]
    assert program.read_counts() == {0: 3, 1: 1, 2: 1, 4: 1}


def test_results_come_with_their_instruction() -> None:
    program = built()
    assert [(step.op.name, str(meta)) for step, meta in program.results()] == [
        ("transpose", "f64[3,n]"),
        ("reshape", "f64[3*n]"),
        ("convert", "f32[3*n]"),
    ]


def test_needed_slots_leave_out_what_is_not_read() -> None:
    program = questions()
    assert program.needed_by(program.output_slots) == {0, 2, 4}
    assert program.needed_by([3]) == {1, 3}


def test_ops_are_replaced_one_by_one() -> None:
    program = questions()
    replaced = program.with_ops(lambda op: MUL if op == ADD else op)
    assert [op.name for op in replaced.ops()] == ["multiply", "exponential", "multiply"]
    assert replaced.instructions[1] is program.instructions[1]


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("exec_program(%0: f64[n]) {\n %1: f64[n] = sine %0\n return %1\n}", False),
        (
            "exec_program(%0: f64[<=n]) {\n"
            " %1: f64[] = constant[value=1.0, dtype=f64]\n return %1\n}",
            True,
        ),
        (
            "exec_program(%0: f64[4], %1: i64[]) {\n"
            " %2: f64[<=4] = dynamic_truncate[axis=0] %0, %1\n return %0\n}",
            True,
        ),
    ],
)
def test_unknown_shapes_of_inputs_and_results_count(text: str, unknown: bool) -> None:
    assert parse(text).holds_unknown_shapes is unknown
