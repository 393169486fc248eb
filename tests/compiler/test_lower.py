import pytest

import tenferro as tn
from tenferro.compiler import compile_std_to_exec
from tenferro.core import (
    CompiledProgram,
    FragmentBuilder,
    Instruction,
    compile_graph,
    materialize_merge,
    resolve,
    resolve_keys,
)
from tenferro.errors import BindingError, ShapeError
from tenferro.ir import verify
from tenferro.ops import ADD, EXP, MUL, StdTensorOp
from tenferro.shape import TensorMeta
from tests.work import chain, tracked_objects

VECTOR = TensorMeta.of("f64", ("n",))


def exp_of_product() -> CompiledProgram[StdTensorOp]:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    x, a = builder.input("x"), builder.input("a")
    (ax,) = builder.add(MUL, [x, a], site="user.py:1")
    (y,) = builder.add(EXP, [ax], site="user.py:2")
    return compile_graph(materialize_merge(resolve([builder.build([y])]), [y]))


def test_every_slot_gets_its_type_and_every_instruction_its_site() -> None:
    program = compile_std_to_exec(exp_of_product(), [VECTOR, VECTOR])
    verify(program)
    assert (
        str(program)
        == """
exec_program(%0: f64[n], %1: f64[n]) {
  %2: f64[n] = multiply %0, %1  # user.py:1
  %3: f64[n] = exponential %2  # user.py:2
  return %3
}""".strip()
    )


def test_an_error_says_where_the_op_was_recorded() -> None:
    with pytest.raises(ShapeError, match="multiply") as caught:
        compile_std_to_exec(exp_of_product(), [VECTOR, TensorMeta.of("f64", (3,))])
    assert caught.value.__notes__ == ["recorded at user.py:1"]


def test_an_error_of_an_op_without_a_site_has_no_note() -> None:
    program: CompiledProgram[StdTensorOp]
    program = CompiledProgram((Instruction(ADD, (0, 1), (2,)),), (0, 1), (2,), 3)
    with pytest.raises(ShapeError) as caught:
        compile_std_to_exec(program, [VECTOR, TensorMeta.of("f64", (3,))])
    assert not hasattr(caught.value, "__notes__")


def test_one_type_for_each_input() -> None:
    with pytest.raises(BindingError, match="the program has 2 inputs, got 1 type"):
        compile_std_to_exec(exp_of_product(), [VECTOR])


def test_slots_in_any_numbering_are_numbered_in_order() -> None:
    program: CompiledProgram[StdTensorOp] = CompiledProgram(
        (Instruction(EXP, (4,), (2,)), Instruction(ADD, (2, 4), (0,))), (4,), (0, 4), 5
    )
    lowered = compile_std_to_exec(program, [VECTOR])
    assert [step.input_slots for step in lowered.instructions] == [(0,), (1, 0)]
    assert lowered.output_slots == (2, 0)


def test_lowering_an_op_makes_one_instruction_and_nothing_else_that_stays() -> None:
    x = tn.TracedTensor.input((8,))
    compiled: CompiledProgram[StdTensorOp] = compile_graph(
        materialize_merge(resolve_keys(), [chain(x, 1_000).key])
    )
    meta = TensorMeta.of("f64", (8,))
    compile_std_to_exec(compiled, [meta])
    _, count = tracked_objects(lambda: compile_std_to_exec(compiled, [meta]))
    assert count < 1_050
