"""Compiled programs: slots written once, and one program for each structure."""

from tenferro.core import (
    CompiledProgram,
    GlobalValKey,
    Instruction,
    MaterializedGraph,
    compile_graph,
    input_key,
    materialize_merge,
    op_key,
    resolve_keys,
)
from tests.core.plain_ops import Split
from tests.toy import ADD, EXP, MUL, Toy
from tests.work import tracked_objects


def graph_of(*outputs: GlobalValKey) -> MaterializedGraph:
    return materialize_merge(resolve_keys(), outputs)


def test_slots_are_inputs_first_and_then_results_in_order() -> None:
    x, y = input_key("x"), input_key("y")
    product = op_key(MUL, (y, x), site="user.py:7").output(0)
    total = op_key(ADD, (product, y)).output(0)
    program: CompiledProgram[Toy] = compile_graph(graph_of(total, product))
    expected: CompiledProgram[Toy] = CompiledProgram(
        instructions=(
            Instruction(MUL, (0, 1), (2,), "user.py:7"),
            Instruction(ADD, (2, 0), (3,)),
        ),
        input_slots=(0, 1),
        output_slots=(3, 2),
        n_slots=4,
    )
    assert program == expected


def test_each_slot_is_written_once() -> None:
    x = input_key("x")
    first, second = op_key(Split(2), (x,)).outputs
    program: CompiledProgram[Toy] = compile_graph(graph_of(op_key(MUL, (second, first)).output(0)))
    written = [slot for step in program.instructions for slot in step.outputs]
    assert sorted([*program.input_slots, *written]) == list(range(program.n_slots))
    assert program.instructions[1].inputs == (2, 1)


def test_a_program_prints_without_modes() -> None:
    x = input_key("x")
    first, second = op_key(Split(2), (x,), site="user.py:7").outputs
    assert str(compile_graph(graph_of(op_key(MUL, (second, first)).output(0)))) == (
        "program(%0) {\n  %1, %2 = split[2] %0  # user.py:7\n  %3 = mul %2, %1\n  return %3\n}"
    )


def test_a_program_of_no_outputs_is_empty() -> None:
    program: CompiledProgram[Toy] = compile_graph(graph_of())
    assert program == CompiledProgram((), (), (), 0)


def test_graphs_of_the_same_structure_are_one_program() -> None:
    first, second = (
        compile_graph(graph_of(op_key(EXP, (input_key("x"),)).output(0))) for _ in range(2)
    )
    assert first == second


def test_the_order_of_inputs_and_outputs_is_structure() -> None:
    x, y = input_key("x"), input_key("y")
    total = op_key(ADD, (x, y)).output(0)
    texts = {
        str(compile_graph(materialize_merge(resolve_keys(), outputs, inputs)))
        for outputs in ([total, x], [x, total])
        for inputs in ([x, y], [y, x])
    }
    assert len(texts) == 4


def test_a_compiled_program_tracks_no_object_for_each_instruction() -> None:
    x = value = input_key("x")
    for _ in range(1_000):
        value = op_key(MUL, (value, x)).output(0)  # type: ignore[assignment]
    graph = graph_of(value)
    compile_graph(graph)
    program, count = tracked_objects(lambda: compile_graph(graph))
    assert count < 20
    assert len(program.instructions) == 1_000


def test_instructions_in_columns_are_a_sequence_equal_to_the_tuple() -> None:
    steps = (Instruction(MUL, (0, 1), (2,), "user.py:7"), Instruction(ADD, (2, 0), (3,)))
    program: CompiledProgram[Toy] = CompiledProgram(steps, (0, 1), (3,), 4)
    columns = program.columns
    assert (columns.ops, columns.inputs) == ((MUL, ADD), ((0, 1), (2, 0)))
    assert (columns.outputs, columns.sites) == (((2,), (3,)), ("user.py:7", None))
    assert columns == steps
    assert columns != steps[:1]
    assert (hash(columns), repr(columns)) == (hash(steps), repr(steps))
    assert (columns[1], columns[-1], columns[:1]) == (steps[1], steps[1], steps[:1])
    assert CompiledProgram(columns, (0, 1), (3,), 4) == program
    assert CompiledProgram(columns, (0, 1), (3,), 4).columns is columns
