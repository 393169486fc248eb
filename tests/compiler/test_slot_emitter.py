import pytest

from tenferro.compiler import SlotEmitter, parse
from tenferro.exec_ir import ExecProgram, verify
from tenferro.ops import ADD, MUL, NEG, SIN

TEXT = """
exec_program(%0: f64[n]) {
  %1: f64[n] = sine %0
  %2: f64[n] = negate %1
  %3: f64[n] = tanh %2
  return %3
}"""


def rewrite(program: ExecProgram, slot: int, *ops: object) -> str:
    """The program with what defines `slot` replaced by a chain of ops on the same operand."""
    emitter = SlotEmitter(program)
    for step in program.instructions:
        operands = emitter.begin(step)
        if step.output_slots != (slot,):
            emitter.keep(step, operands)
            continue
        value = operands[0]
        for op in ops:
            value = emitter.emit(op, value)  # type: ignore[arg-type]
        emitter.define(step, value)
    result = emitter.build()
    verify(result)
    return "\n".join(str(result).splitlines()[1:-1]).replace(": f64[n]", "")


def test_what_is_emitted_last_takes_the_number_of_what_it_replaces() -> None:
    assert rewrite(parse(TEXT), 2, SIN, SIN) == (
        "  %1 = sine %0\n  %4 = sine %1\n  %2 = sine %4\n  %3 = tanh %2\n  return %3"
    )


def test_an_older_value_replaces_another_under_its_own_number() -> None:
    assert rewrite(parse(TEXT), 2) == "  %1 = sine %0\n  %3 = tanh %1\n  return %3"
    assert rewrite(parse(TEXT), 3, NEG) == "  %1 = sine %0\n  %2 = negate %1\n  return %1"


def test_a_program_that_is_only_kept_is_the_program_itself() -> None:
    program = parse(TEXT)
    emitter = SlotEmitter(program)
    for step in program.instructions:
        emitter.keep(step, emitter.begin(step))
    assert emitter.build() is program


def test_it_answers_what_folds_may_ask() -> None:
    program = parse(TEXT)
    emitter = SlotEmitter(program)
    for step in program.instructions:
        emitter.keep(step, emitter.begin(step))
    assert emitter.producer(0) is None
    assert emitter.producer(2) == (NEG, (1,))
    assert str(emitter.ctx.meta(3)) == "f64[n]"
    assert emitter.ctx.adder is ADD
    total = emitter.ctx.adder.add(emitter, 2, 1)
    assert emitter.producer(total) is not None
    assert emitter.order(1) < emitter.order(2)
    assert emitter.emit_all(MUL, 1, 1) == (total + 1,)


def test_it_declares_no_inputs() -> None:
    with pytest.raises(AssertionError, match="a pass declares no inputs"):
        SlotEmitter(parse(TEXT)).ctx.declare_like(4, 0)
    with pytest.raises(AssertionError, match="%3 is not written"):
        SlotEmitter(parse(TEXT.replace("%3", "%9"))).ctx.meta(3)
