import pytest

from tenferro.compiler import parse
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter, verify
from tenferro.ops import ADD, COS, EXP, MUL, NEG, SIN, StdTensorOp
from tenferro.shape import TensorMeta

TEXT = """
exec_program(%0: f64[n]) {
  %1: f64[n] = sine %0
  %2: f64[n] = negate %1
  %3: f64[n] = tanh %2
  return %3
}"""
PARTS = """
exec_program(%0: f64[3]) {
  %1: f64[3], %2: i64[3] = sort[axis=0] %0
  %3: f64[3] = negate %1
  return %3, %2
}"""


def lines(program: ExecProgram) -> str:
    """The instructions of a program that must be sound."""
    verify(program)
    return "\n".join(str(program).splitlines()[1:-1]).replace(": f64[n]", "")


def rewrite(program: ExecProgram, slot: int, *ops: StdTensorOp) -> str:
    """The program with what defines `slot` replaced by a chain of ops on the same operand."""
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
        if step.output_slots != (slot,):
            return None
        value = operands[0]
        for op in ops:
            value = rewriter.emit(op, value)
        return value

    return lines(rewriter.run(rule))


def test_what_is_emitted_last_takes_the_number_of_what_it_replaces() -> None:
    assert rewrite(parse(TEXT), 2, SIN, SIN) == (
        "  %1 = sine %0\n  %4 = sine %1\n  %2 = sine %4\n  %3 = tanh %2\n  return %3"
    )


def test_an_older_value_replaces_another_under_its_own_number() -> None:
    assert rewrite(parse(TEXT), 2) == "  %1 = sine %0\n  %3 = tanh %1\n  return %3"
    assert rewrite(parse(TEXT), 3, NEG) == "  %1 = sine %0\n  %2 = negate %1\n  return %1"


def test_a_program_that_is_only_kept_is_the_program_itself() -> None:
    program = parse(TEXT)
    assert Rewriter(program).run(lambda step, operands: None) is program


def test_an_instruction_that_is_emitted_as_it_was_is_no_change() -> None:
    program = parse(TEXT)
    rewriter = Rewriter(program)
    assert rewriter.run(lambda step, operands: rewriter.emit_all(step.op, *operands)) is program


def test_results_of_one_type_share_what_says_so() -> None:
    program = parse(TEXT)
    rewriter = Rewriter(program)
    negated = rewriter.run(
        lambda step, operands: rewriter.emit_all(NEG, rewriter.emit_all(step.op, *operands)[0])
    )
    assert len({id(step.output_metas) for step in negated.instructions}) == 1


def test_what_nobody_reads_is_left_out() -> None:
    program = parse(TEXT.replace("return %3", "return %2"))
    result = Rewriter(program).run(lambda step, _: () if step.op.name == "tanh" else None)
    assert lines(result) == "  %1 = sine %0\n  %2 = negate %1\n  return %2"


def test_an_op_with_several_outputs_is_replaced_by_several_values() -> None:
    rewriter = Rewriter(parse(PARTS))

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
        if len(step.output_slots) == 1:
            return None
        values, order = rewriter.emit_all(step.op, *operands)
        return rewriter.emit(MUL, values, values), order

    text = lines(rewriter.run(rule))
    assert "%6: f64[3] = multiply %4, %4" in text
    assert "%3: f64[3] = negate %6" in text
    assert text.endswith("return %3, %5")


def test_outputs_and_inputs_may_be_others() -> None:
    program = parse(TEXT)
    rewriter = Rewriter(program)
    scale = rewriter.input(TensorMeta.of("f64", ("n",)))
    text = lines(
        rewriter.run(lambda step, _: None, lambda: [rewriter.emit(MUL, *rewriter.now([3]), scale)])
    )
    assert text.endswith("%5 = multiply %3, %4\n  return %5")


def test_it_answers_what_folds_may_ask() -> None:
    rewriter = Rewriter(parse(TEXT))
    asked: list[object] = []

    def outputs() -> list[int]:
        asked.append(rewriter.producer(0))
        asked.append(rewriter.producer(2))
        asked.append(str(rewriter.ctx.meta(3)))
        asked.append(rewriter.order(1) < rewriter.order(2))
        return [rewriter.emit(COS, rewriter.emit_all(ADD, 2, 1)[0])]

    verify(rewriter.run(lambda step, operands: None, outputs))
    assert asked == [None, (NEG, (1,)), "f64[n]", True]


def test_it_has_what_only_derivatives_need_refused() -> None:
    rewriter = Rewriter(parse(TEXT))
    with pytest.raises(AssertionError, match=r"declares its inputs with `Rewriter\.input`"):
        rewriter.ctx.declare_like(4, 0)
    with pytest.raises(AssertionError, match="does not sum cotangents"):
        _ = rewriter.ctx.adder
    with pytest.raises(AssertionError, match="%3 is not written"):
        Rewriter(parse(TEXT.replace("%3", "%9"))).emit(EXP, 3)
