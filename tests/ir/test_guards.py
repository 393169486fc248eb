import ast
from pathlib import Path

import pytest

import tenferro
from tenferro.core import input_key, op_key
from tenferro.errors import GuardViolationError, ShapeError
from tenferro.ops import ADD, EXP, MUL, ReduceSum, shape_context
from tenferro.shape import (
    Guard,
    SymDim,
    TensorInput,
    TensorMeta,
    annotate,
    collecting_guards,
    declare,
    dim,
)
from tests.toy import CTX, real

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


def test_an_input_has_one_type_whoever_declares_it() -> None:
    x, y = (input_key(TensorInput("x", meta)) for meta in (MATRIX, TensorMeta.of("f32", ())))
    tangent = input_key("a shared tangent")
    shape_context().declare_like(tangent, x)
    shape_context().declare_like(tangent, x)
    message = r"a shared tangent is f64\[n,3\], and cannot be f32\[\] as well"
    with pytest.raises(ShapeError, match=message):
        shape_context().declare_like(tangent, y)
    with pytest.raises(ShapeError, match=message):
        declare(tangent, TensorMeta.of("f32", ()))
    assert shape_context().meta(tangent) == MATRIX


def test_another_op_set_leaves_no_metadata_on_a_key_that_both_know() -> None:
    shared = input_key("an input of two op sets")
    CTX.declare_like(shared, input_key(real("x")))
    product = op_key(MUL, (shared, shared)).output(0)
    assert shared.analysis is None
    with pytest.raises(ShapeError, match="input an input of two op sets carries no metadata"):
        shape_context().meta(product)
    declare(shared, MATRIX)
    assert shape_context().meta(product) == MATRIX
    assert CTX.meta(shared) == real("x").meta


def test_one_module_writes_what_is_known_of_a_value() -> None:
    package = Path(tenferro.__file__).parent
    writers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "analysis"
        if isinstance(node.ctx, ast.Store | ast.Del)
    }
    assert writers == {"core/keys.py", "ir/inference.py"}  # keys begin with None


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


def test_a_block_collects_what_is_assumed_in_it_once() -> None:
    context = shape_context()
    n, m = dim("n"), dim("m")
    with collecting_guards() as guards:
        context.require_equal(n, m, "first")
        context.require_equal(m, n, "second")
    context.require_equal(n, m * 2, "outside")
    assert [str(guard.reason) for guard in guards.values()] == ["first"]


def test_a_guard_is_bound_to_sizes_that_are_known_or_names() -> None:
    guard = Guard(dim("n"), dim("m"), "add")
    n, m, k = SymDim("n"), SymDim("m"), dim("k")
    assert guard.bind({n: 3, m: 3}) is None
    assert guard.bind({n: k, m: k}) is None
    assert guard.bind({n: k, m: 3}) == Guard(k, 3, "add")
    with pytest.raises(GuardViolationError, match="add: assumed n == m, but 2 != 3"):
        guard.bind({n: 2, m: 3})
