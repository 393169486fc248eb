import pytest

from tenferro.computegraph import input_key, op_key
from tenferro.errors import GuardViolationError, ShapeError
from tenferro.ops import ADD, EXP, MUL, ReduceSum, shape_context
from tenferro.shape import Guard, SymDim, TensorInput, TensorMeta, annotate, dim

MATRIX = TensorMeta.of("f64", ("n", 3))
N = SymDim("n")


def test_types_are_inferred_on_demand_and_kept_with_the_key() -> None:
    x = input_key(TensorInput("x", MATRIX, 1))
    total = op_key(ReduceSum((0,)), (op_key(MUL, (x, x)).output(0),)).output(0)
    assert total.analysis is None
    assert shape_context().meta(total) == TensorMeta.of("f64", (3,))
    assert total.analysis == TensorMeta.of("f64", (3,))
    assert shape_context().meta(x) == MATRIX


def test_a_long_chain_is_inferred_without_recursion() -> None:
    value = input_key(TensorInput("x", MATRIX, 2))
    for _ in range(50_000):
        value = op_key(EXP, (value,)).output(0)  # type: ignore[assignment]
    assert shape_context().meta(value) == MATRIX


def test_an_input_without_a_type_is_refused() -> None:
    with pytest.raises(ShapeError, match="meta: input untyped carries no metadata; make it with"):
        shape_context().meta(op_key(EXP, (input_key("untyped"),)).output(0))


def test_a_new_input_gets_the_type_of_another_value() -> None:
    context = shape_context()
    x, tangent = input_key(TensorInput("x", MATRIX, 3)), input_key("a tangent of x")
    context.declare_like(tangent, x)
    assert context.meta(tangent) == MATRIX


def test_outputs_are_annotated_from_annotated_inputs() -> None:
    context = shape_context()
    x = input_key(TensorInput("x", MATRIX, 4))
    context.meta(x)
    (out,) = annotate(op_key(ADD, (x, x)))
    assert out.analysis == MATRIX


def test_the_adder_is_the_op_sets_addition() -> None:
    assert shape_context().adder is ADD


def test_inputs_of_one_name_are_told_apart_by_uid_and_type() -> None:
    keys = {
        input_key(TensorInput("x", MATRIX)),
        input_key(TensorInput("x", MATRIX, 1)),
        input_key(TensorInput("x", TensorMeta.of("f32", ("n", 3)))),
    }
    assert len(keys) == 3
    assert str(TensorInput("x", MATRIX, 1)) == "x"


def test_equalities_that_are_evident_leave_no_guard() -> None:
    context = shape_context()
    context.require_equal(3, 3, "dot_general")
    context.require_equal(dim("n + m"), dim("m + n"), "dot_general")
    assert context.guards == ()


def test_equalities_that_depend_on_sizes_are_recorded_once() -> None:
    context = shape_context()
    for _ in range(2):
        context.require_equal(dim("n"), 3, "dot_general")
    context.require_equal(dim("n"), dim("m"), "add")
    assert context.guards == (
        Guard(dim("n"), 3, "dot_general"),
        Guard(dim("n"), dim("m"), "add"),
    )


def test_a_guard_is_checked_when_sizes_are_known() -> None:
    guard = Guard(dim("n"), 3, "dot_general")
    guard.check({N: 3})
    with pytest.raises(GuardViolationError, match="dot_general: assumed n == 3, but 4 != 3"):
        guard.check({N: 4})


def test_integers_that_differ_are_refused_at_once() -> None:
    with pytest.raises(GuardViolationError, match="add: assumed 2 == 3, but 2 != 3"):
        shape_context().require_equal(2, 3, "add")


def test_two_sizes_that_meet_are_one_from_then_on() -> None:
    context = shape_context()
    assert context.resolve_and_guard(dim("n"), 3, "add") == 3
    assert context.resolve_and_guard(3, 3, "add") == 3
    assert [(guard.left, guard.right) for guard in context.guards] == [(dim("n"), 3)]
    with pytest.raises(GuardViolationError, match="add: assumed 2 == 3, but 2 != 3"):
        context.resolve_and_guard(2, 3, "add")
