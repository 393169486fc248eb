"""The reference interpreter."""

import pytest

from tenferro.core import (
    CompiledProgram,
    GlobalValKey,
    compile_graph,
    evaluate,
    input_key,
    materialize_merge,
    op_key,
    resolve_keys,
)
from tenferro.errors import BindingError, ProgramError
from tests.core.plain_ops import PlainOp, Split
from tests.toy import ADD, MUL, Toy


def program_of(*outputs: GlobalValKey) -> CompiledProgram[Toy]:
    return compile_graph(materialize_merge(resolve_keys(), outputs))


def test_outputs_are_computed_forward_from_inputs_in_order() -> None:
    x, y = input_key("x"), input_key("y")
    product = op_key(MUL, (x, y)).output(0)
    total = op_key(ADD, (product, y)).output(0)
    assert evaluate(program_of(total, x, product), [3.0, 5.0]) == [20.0, 3.0, 15.0]


def test_an_op_may_compute_several_values() -> None:
    first, second = op_key(Split(2), (input_key("x"),)).outputs
    assert evaluate(program_of(second, first), [(1.0, 2.0)]) == [2.0, 1.0]


@pytest.mark.parametrize("values", [[], [1.0, 2.0]])
def test_a_wrong_number_of_values_is_refused(values: list[float]) -> None:
    message = rf"^evaluate: the program has 1 input, got {len(values)} values$"
    with pytest.raises(BindingError, match=message):
        evaluate(program_of(input_key("x")), values)


def test_an_op_that_returns_too_few_values_is_refused() -> None:
    first, second = op_key(PlainOp("pair", n_outputs=2), (input_key("x"),)).outputs
    message = r"^pair: evaluate returns 1 value for 2 outputs$"
    with pytest.raises(ProgramError, match=message):
        evaluate(program_of(first, second), [1.0])
