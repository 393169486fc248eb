"""The statements of the note on dynamic and symbolic shapes that are about sizes known late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import optimize, parse
from tenferro.errors import (
    DTypeError,
    ExtentError,
    GuardViolationError,
    RuntimeSizeError,
    ShapeError,
    UnsupportedDynamicShapeError,
)
from tenferro.ir import verify
from tenferro.ops import (
    BroadcastInDim,
    DynamicTruncate,
    GatherDynamicSliceSizes,
    Reshape,
    Scatter,
)
from tenferro.shape import Exact, Guard, RuntimeScalar, TensorMeta, UpperBound, bind, dim, leaves
from tests.graphs import function

NUMPY = tn.GraphExecutor(tn.NumpyBackend())
N = dim("n")
VECTOR, MATRIX = tn.TensorSpec(("n",)), tn.TensorSpec(("n", 3))
SCALAR, COUNT = tn.TensorSpec(()), tn.TensorSpec((), "int64")


def types(f: Callable[..., Any], *specs: Any) -> list[str]:
    """The types of a program's outputs."""
    return [str(meta) for meta in tn.make_program(f, *specs).exec_program.output_metas]


# ---------------------------------------------------------------------- Runtime scalar dimensions


def test_a_truncated_axis_is_an_upper_bound_and_prints_as_one() -> None:
    assert types(tn.dynamic_truncate, MATRIX, COUNT) == ["f64[<=n,3]"]
    assert types(lambda x, k: tn.dynamic_truncate(x, k, axis=-1), MATRIX, SCALAR) == ["f64[n,<=3]"]


def test_the_extent_is_exact_once_the_scalar_is_known() -> None:
    assert types(lambda x: tn.dynamic_truncate(x, 2), VECTOR) == ["f64[min(2, n)]"]
    assert types(lambda x: tn.dynamic_truncate(x, np.int64(2)), VECTOR) == ["f64[min(2, n)]"]
    assert types(lambda x: tn.dynamic_truncate(x, x.shape[0] - 1), VECTOR) == ["f64[n - 1]"]
    y = tn.TensorSpec(("m",))
    assert types(lambda x, y: tn.dynamic_truncate(x, tn.shape_of(y)), VECTOR, y) == [
        "f64[min(m, n)]"
    ]
    assert types(lambda x: tn.dynamic_truncate(x, tn.shape_of(x)), VECTOR) == ["f64[n]"]


def test_the_size_is_the_minimum_of_a_runtime_scalar_and_the_axis() -> None:
    (extent,) = DynamicTruncate(0).infer(VECTOR.meta, COUNT.meta).extents
    assert extent == UpperBound(N)
    assert extent.size is not None
    (leaf,) = leaves(extent.size)
    assert leaf == RuntimeScalar(1, N, "truncate")
    assert str(leaf) == "min(truncate(operand 1), n)"
    assert bind(extent.size, {leaf: 3}) == 3


def test_binding_the_scalar_makes_the_extent_exact() -> None:
    (extent,) = DynamicTruncate(0).infer(VECTOR.meta, COUNT.meta).extents
    assert extent.size is not None
    (leaf,) = leaves(extent.size)
    meta = TensorMeta(VECTOR.dtype, [extent])
    assert meta.bind({leaf: 3}).extents == (Exact(3),)
    assert meta.bind({}).extents == (UpperBound(N),)


@pytest.mark.parametrize(
    ("size", "left"),
    [
        (2, 2),
        (2.5, 3),
        (2.49, 2),
        (0.49999999999999994, 0),
        (-0.5, 0),
        (-7, 0),
        (99, 4),
        (1e300, 4),
    ],
)
def test_the_scalar_is_rounded_half_away_from_zero_and_held_within_the_axis(
    size: float, left: int
) -> None:
    x = np.arange(4.0)
    dtype = "int64" if isinstance(size, int) else "float64"
    program = tn.make_program(tn.dynamic_truncate, VECTOR, tn.TensorSpec((), dtype))
    (result,) = NUMPY.run(program, {"x": x, "size": np.asarray(size, dtype)})
    np.testing.assert_array_equal(np.asarray(result), x[:left])
    assert tn.dynamic_truncate(x, size).tolist() == x[:left].tolist()


@pytest.mark.parametrize("size", [np.nan, np.inf, -np.inf])
def test_a_scalar_that_is_no_size_is_refused_when_it_is_known(size: float) -> None:
    program = tn.make_program(tn.dynamic_truncate, VECTOR, SCALAR)
    with pytest.raises(
        RuntimeSizeError, match=r"dynamic_truncate: the size is -?(nan|inf), which is"
    ):
        NUMPY.run(program, {"x": np.ones(3), "size": size})
    with pytest.raises(RuntimeSizeError, match="which is not a size; pass a finite number"):
        tn.dynamic_truncate(np.ones(3), size)


@pytest.mark.parametrize("dtype", ["complex128", "bool"])
def test_a_size_of_another_dtype_is_refused_while_tracing(dtype: str) -> None:
    with pytest.raises(DTypeError, match="dynamic_truncate: the size must be an integer or real"):
        tn.make_program(tn.dynamic_truncate, VECTOR, tn.TensorSpec((), dtype))


def repeated(x: Any, size: Any) -> Any:
    """As many rows as `size` says, each as x."""
    return tn.lax.dynamic_truncate(x, size, axis=0)[:, None] * x


def padded(x: Any, size: Any) -> Any:
    """x as the first of as many rows as `size` says."""
    rows = tn.lax.dynamic_truncate(x, size, axis=0)[:, None]
    return tn.lax.pad_to_match(x[None], rows, axis=0)


@pytest.mark.parametrize("segmented", [True, False])
@pytest.mark.parametrize("f", [repeated, padded])
def test_a_value_whose_late_size_is_over_the_budget_is_refused(f: Any, segmented: bool) -> None:
    x = np.ones(100)
    program = tn.make_program(f, VECTOR, COUNT)
    native = tn.GraphExecutor(tn.NumpyBackend(), segmented=segmented, max_bytes=8 * 500)
    for executor in (native, txla.XlaExecutor(max_bytes=8 * 500)):
        assert executor.run(program, {"x": x, "size": 5})[0].shape == (5, 100)
        with pytest.raises(ExtentError, match="takes 4800 bytes, more than the budget of 4000"):
            executor.run(program, {"x": x, "size": 6})


def test_a_size_that_is_no_scalar_is_refused_while_tracing() -> None:
    with pytest.raises(
        ShapeError, match=r"dynamic_truncate: the size must be a scalar, got i64\[1\]"
    ):
        tn.make_program(tn.dynamic_truncate, VECTOR, tn.TensorSpec((1,), "int64"))


# ------------------------------------------------------------------------------------- Guarantees


def test_what_one_scalar_truncates_from_one_size_has_one_size() -> None:
    def f(x: Any, y: Any, k: Any) -> Any:
        a, b = tn.dynamic_truncate(tn.exp(x), k), tn.dynamic_truncate(y, k)
        return tn.tanh(a) * b[:, 0], a @ b

    assert types(f, VECTOR, MATRIX, COUNT) == ["f64[<=n]", "f64[3]"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k: tn.dynamic_truncate(x, k) + tn.dynamic_truncate(x, k + 1),
        lambda x, k: tn.dynamic_truncate(x, k) + x,
        lambda x, k: tn.dynamic_truncate(x, k) @ tn.dynamic_truncate(x, 2 * k),
        lambda x, k: tn.where(x > 0, tn.dynamic_truncate(x, k), 0.0),
        lambda x, k: tn.dynamic_truncate(x, k) + tn.dynamic_truncate(tn.concat([x, x]), k),
    ],
)
def test_equal_bounds_are_not_taken_for_equal_sizes(f: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedDynamicShapeError, match=r"at most (2\*)?n \(upper bound\)"):
        tn.make_program(f, VECTOR, COUNT)


def test_two_inputs_of_one_bound_are_not_of_one_size() -> None:
    text = """exec_program(%0: f64[<=n], %1: f64[<=n]) {{
      %2: f64[<=n] = add %0, %{}
      return %2
    }}"""
    verify(parse(text.format(0)))
    with pytest.raises(
        tn.TenferroError, match=r"add: operand\[0\] must be exact, but is at most n"
    ):
        verify(parse(text.format(1)))


def test_a_scalar_that_a_pass_computes_upgrades_no_guarantee() -> None:
    def f(x: Any) -> Any:
        return tn.dynamic_truncate(x, tn.minimum(tn.full((), 2), tn.full((), 3)))

    program = tn.make_program(f, VECTOR)
    assert "minimum" not in str(program)
    assert [str(meta) for meta in program.exec_program.output_metas] == ["f64[<=n]"]
    verify(program.exec_program)
    assert str(optimize(parse(str(program.exec_program)))) == str(program.exec_program)


def test_programs_are_read_back_with_what_makes_sizes_equal() -> None:
    program = tn.make_program(
        lambda x, y, k: tn.dynamic_truncate(x, k) * tn.dynamic_truncate(y, k), VECTOR, VECTOR, COUNT
    ).exec_program
    again = parse(str(program))
    verify(again)
    assert again.digest == program.digest


# ---------------------------------------------------------- Migration plan: the regression tests


def test_regression_a_truncation_is_not_taken_for_what_it_was_before() -> None:
    with pytest.raises(UnsupportedDynamicShapeError, match=r"at most n \(upper bound\)"):
        tn.make_program(lambda x, k: tn.dynamic_truncate(x, k).reshape(-1, 2), VECTOR, COUNT)
    x = np.arange(6.0)
    for op, kept in (
        (lambda x: tn.reshape(x, (-1, 1)), x[:4].reshape(4, 1)),
        (lambda x: x.shape[0], 4),
        (lambda x: tn.tile(x, 2), np.tile(x[:4], 2)),
    ):
        program = tn.make_program(lambda x, k, op=op: op(tn.dynamic_truncate(x, k)), VECTOR, COUNT)
        np.testing.assert_array_equal(np.asarray(NUMPY.run(program, {"x": x, "k": 4})[0]), kept)


def test_regression_transpose_scatter_of_symbolic_windows_gathers_by_a_shape_source() -> None:
    scatter = Scatter((1,), (0,), (0,), 1)
    metas = [
        TensorMeta.of("f64", (4, "n")),
        TensorMeta.of("i64", (2, 1)),
        TensorMeta.of("f64", (2, "n")),
    ]
    reverse = function(scatter, metas).vjp([0, 2])
    assert any(isinstance(op, GatherDynamicSliceSizes) for op in reverse.ops())
    x, updates = np.zeros((4, 3)), np.ones((2, 3))
    ct = np.arange(12.0).reshape(4, 3)
    to_x, to_updates = reverse(x, np.array([[2], [0]]), updates, ct)
    np.testing.assert_array_equal(to_x, ct)  # type: ignore[arg-type]
    np.testing.assert_array_equal(to_updates, ct[[2, 0]])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "op", [Reshape((N, 1)), BroadcastInDim((2, N), (1,))], ids=lambda op: op.name
)
def test_regression_no_reshape_or_broadcast_is_built_from_an_upper_bound(op: Any) -> None:
    bounded = DynamicTruncate(0).infer(VECTOR.meta, COUNT.meta)
    with pytest.raises(UnsupportedDynamicShapeError, match=f"{op.name}: operand.0. must be exact"):
        op.infer(bounded)


def test_regression_a_contraction_over_several_dynamic_axes_is_not_merged() -> None:
    def f(x: Any, y: Any, k: Any) -> Any:
        return tn.tensordot(tn.dynamic_truncate(x, k), tn.dynamic_truncate(y, k), 2)

    program = tn.make_program(
        lambda x, y, k: f(x.T, y, k), tn.TensorSpec((3, "n")), tn.TensorSpec(("n", 3, 2)), COUNT
    )
    assert "reshape" not in str(program)
    x, y = np.arange(12.0).reshape(3, 4), np.arange(24.0).reshape(4, 3, 2)
    (result,) = NUMPY.run(program, {"x": x, "y": y, "k": 2})
    np.testing.assert_allclose(np.asarray(result), np.tensordot(x.T[:2], y[:2], 2))


# ------------------------------------------------------------------------------------ AD contract


def kept(scores: Any, weights: Any) -> Any:
    """A loss of the scores above a threshold; how many these are is decided by the data."""
    k = tn.sum(scores > 0.5)
    order = tn.argsort(-scores)
    largest = tn.dynamic_truncate(scores[order], k)
    rows = tn.dynamic_truncate(weights[order], k)
    hidden = tn.exp(largest)[:, None] * rows - tn.mean(rows, axis=0)
    return tn.sum(tn.tanh(hidden @ rows.T)) + tn.sum(tn.prod(rows, axis=1)) + tn.sum(largest @ rows)


def of_concrete_size(scores: Any, weights: Any, order: Any, k: int) -> Any:
    """The same where it is known which scores are kept."""
    largest, rows = scores[order[:k]], weights[order[:k]]
    hidden = tn.exp(largest)[:, None] * rows - tn.mean(rows, axis=0)
    return tn.sum(tn.tanh(hidden @ rows.T)) + tn.sum(tn.prod(rows, axis=1)) + tn.sum(largest @ rows)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_a_truncation_that_data_decide_has_value_and_gradient(executor: str) -> None:
    runner = NUMPY if executor == "numpy" else pytest.importorskip("tenferro_xla").XlaExecutor()
    both = tn.value_and_grad(kept, argnums=(0, 1))
    program = tn.make_program(both, VECTOR, MATRIX)
    rng = np.random.default_rng(1)
    for k in (1, 3, 6):
        scores = np.concatenate([rng.uniform(0.6, 1, k), rng.uniform(0, 0.4, 6 - k)])
        rng.shuffle(scores)
        weights, order = rng.normal(size=(6, 3)), np.argsort(-scores)
        expected = tn.value_and_grad(
            lambda s, w, order=order, k=k: of_concrete_size(s, w, order, k), argnums=(0, 1)
        )(scores, weights)
        value, *gradients = runner.run(program, {"scores": scores, "weights": weights})
        np.testing.assert_allclose(np.asarray(value), np.asarray(expected[0]))
        for ours, theirs in zip(gradients, expected[1], strict=True):
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), atol=1e-12)


def test_the_gradient_has_the_type_of_what_it_belongs_to() -> None:
    assert types(tn.grad(kept, argnums=(0, 1)), VECTOR, MATRIX) == ["f64[n]", "f64[n,3]"]


def test_sizes_are_taken_from_values_and_not_from_bounds() -> None:
    text = str(
        tn.make_program(tn.grad(lambda x, k: tn.sum(tn.dynamic_truncate(x, k))), VECTOR, COUNT)
    )
    assert "dynamic_broadcast_in_dim[shape=(dim(1, 0),), dims=()]" in text
    assert "pad_to_match" in text


# ----------------------------------------------------------------------------------------- Guards


def test_sizes_that_meet_are_assumed_to_be_equal() -> None:
    program = tn.make_program(lambda x, y: x * y + y, VECTOR, tn.TensorSpec(("m",)))
    assert [str(meta) for meta in program.exec_program.output_metas] == ["f64[m]"]
    (guard,) = program.guards
    assert (guard.left, guard.right) == (N, dim("m"))
    assert guard.reason.startswith("multiply: operands have types f64[n] and f64[m] (test_dynamic_")


def test_a_guard_that_does_not_hold_names_the_op_the_operands_and_the_line() -> None:
    program = tn.make_program(lambda x, y: x @ y, VECTOR, tn.TensorSpec(("m", 2)))
    assert NUMPY.run(program, {"x": np.ones(3), "y": np.ones((3, 2))})[0].tolist() == [3, 3]
    with pytest.raises(
        GuardViolationError,
        match=r"dot_general: operands have types f64\[n\] and f64\[m,2\] "
        r"\(test_dynamic_sizes.py:\d+\): assumed n == m, but 3 != 4",
    ):
        NUMPY.run(program, {"x": np.ones(3), "y": np.ones((4, 2))})


def test_guards_go_wherever_derivatives_rely_on_them() -> None:
    specs = VECTOR, tn.TensorSpec(("m",))
    program = tn.make_program(tn.grad(lambda x, y: tn.sum(x * y)), *specs)
    assert [str(meta) for meta in program.exec_program.output_metas] == ["f64[n]"]
    assert len(program.guards) == 1
    with pytest.raises(GuardViolationError, match="assumed"):
        NUMPY.run(program, {"x": np.ones(2), "y": np.ones(3)})


def test_guards_are_part_of_the_keys_of_caches() -> None:
    one = tn.make_program(lambda x, y: (x + 1, y), VECTOR, tn.TensorSpec(("m",)))
    other = tn.make_program(lambda x, y: (x + 1, y + x - x), VECTOR, tn.TensorSpec(("m",)))
    assert one.guards == ()
    assert other.guards
    assert one.digest != other.digest


def test_sizes_that_certainly_differ_are_refused_while_tracing() -> None:
    with pytest.raises(ShapeError, match=r"axis -1 has sizes n and n \+ 1, which do not broadcast"):
        tn.make_program(lambda x, y: x + y, VECTOR, tn.TensorSpec(("n + 1",)))


def test_a_number_stands_for_symbols_and_the_ir_assumes_nothing_itself() -> None:
    assert types(lambda x, y: x + y, VECTOR, tn.TensorSpec((3,))) == ["f64[3]"]
    assert types(lambda x: x.reshape(-1, 2), VECTOR) == ["f64[floordiv(n, 2),2]"]
    with pytest.raises(ShapeError, match=r"add: operands have types f64\[n\] and f64\[3\]"):
        tn.make_program(tn.lax.add, VECTOR, tn.TensorSpec((3,)))


def test_a_size_that_does_not_divide_is_a_violation() -> None:
    program = tn.make_program(lambda x: x.reshape(-1, 2), VECTOR)
    assert NUMPY.run(program, {"x": np.arange(4.0)})[0].shape == (2, 2)
    with pytest.raises(GuardViolationError, match=r"assumed n == 2\*floordiv\(n, 2\), but 5 != 4"):
        NUMPY.run(program, {"x": np.arange(5.0)})


def test_specialised_programs_check_their_guards() -> None:
    x, y = tn.TracedTensor.input(("n",)), tn.TracedTensor.input(("m",), name="y")
    compiler = tn.GraphCompiler()
    specs = {x: tn.TensorSpec((2,)), y: tn.TensorSpec((3,))}
    with pytest.raises(GuardViolationError, match="assumed n == m, but 2 != 3"):
        compiler.compile([x + y], input_specs=specs)


def test_a_guard_is_kept_once() -> None:
    program = tn.make_program(lambda x, y: (x + y, x * y, y - x), VECTOR, tn.TensorSpec(("m",)))
    assert len(program.guards) == 1
    assert isinstance(program.guards[0], Guard)


def test_functions_of_whole_axes_take_a_size_that_data_decide() -> None:
    def functions(x: Any) -> tuple[Any, ...]:
        first = tn.dynamic_truncate(x, tn.sum(x > 0))
        return (
            tn.softmax(first), tn.log_softmax(first), tn.logsumexp(first), tn.cumsum(first),
            tn.argmax(first), tn.outer(first, x), tn.take(first, tn.asarray([0])), tn.ravel(first),
            tn.array_equal(first, first + 0),
        )  # fmt: skip

    x = np.array([1.0, 2.0, -1.0, 3.0])
    want = functions(tn.asarray(x))
    for found in (tn.make_program(functions, tn.TensorSpec((4,)))(x), tn.jit(functions)(x)):
        for one, other in zip(found, want, strict=True):
            np.testing.assert_allclose(one, other)
