"""The statements of the note on dynamic and symbolic shapes that hold without dynamic ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import optimize
from tenferro.core import differentiate, resolve_keys, transpose
from tenferro.errors import (
    GuardViolationError,
    UnsupportedDynamicShapeError,
)
from tenferro.ir import ExecBuilder, ExecOp, with_last_use
from tenferro.ops import (
    EXP,
    BroadcastInDim,
    DotGeneral,
    ReduceSum,
    Reshape,
    Transpose,
    shape_context,
)
from tenferro.shape import FLOAT64, Exact, TensorMeta, Unknown, UpperBound, dim, fresh_input

N = dim("n")
BOUND = TensorMeta(FLOAT64, [UpperBound(N), Exact(3)])
UNKNOWN = TensorMeta(FLOAT64, [Unknown(), Exact(3)])
SYMBOLIC = TensorMeta(FLOAT64, [Exact(N), Exact(3)])
STATIC = TensorMeta.of("float64", (2, 3))


def traced(meta: TensorMeta, name: str = "x") -> tn.TracedTensor:
    return tn.TracedTensor(fresh_input(meta, name))


# ------------------------------------------------------------------------------- Design goals


def test_design_goals_the_static_path_is_exact_constants() -> None:
    assert STATIC.static_shape == (2, 3)
    assert STATIC.exact_shape() == STATIC.bound_shape() == (2, 3)


@pytest.mark.parametrize("meta", [STATIC, SYMBOLIC, BOUND, UNKNOWN], ids=str)
def test_design_goals_rank_is_exact_even_when_extents_are_not(meta: TensorMeta) -> None:
    assert meta.rank == 2
    assert traced(meta).ndim == 2


def test_design_goals_exact_bounded_and_unknown_extents_are_told_apart() -> None:
    extents = {Exact(N), UpperBound(N), Unknown(), Exact(4), UpperBound(4)}
    assert len(extents) == 5


def test_design_goals_kernels_get_resolved_sizes() -> None:
    seen: list[str] = []

    class Watching(tn.NumpyBackend):
        """Looks at the payloads that reach it."""

        def execute(self, op: Any, inputs: Any) -> Any:
            assert not op.symbols()
            seen.append(str(op))
            return super().execute(op, inputs)

    program = tn.make_program(
        lambda x: tn.broadcast_to(x[1:, None], (x.shape[0] - 1, 2)) * 2, tn.TensorSpec(("n",))
    )
    assert program.exec_program.symbols()
    tn.GraphExecutor(Watching()).run(program, {"x": np.ones(4)})
    assert any("shape=(3, 2)" in text for text in seen)


def test_design_goals_symbolic_sizes_are_carried_until_execution() -> None:
    program = tn.make_program(lambda x: x.reshape(-1), tn.TensorSpec(("n", 3)))
    assert "reshape[shape=(3*n,)]" in str(program)


# ------------------------------------------------------------------------ Recommended approach


def test_exact_does_not_mean_constant() -> None:
    assert SYMBOLIC.exact_shape() == (N, 3)
    assert SYMBOLIC.static_shape is None
    assert Reshape((dim("3*n"),)).infer(SYMBOLIC).exact_shape() == (dim("3*n"),)


def test_upper_bound_must_not_be_used_as_the_true_shape() -> None:
    with pytest.raises(UnsupportedDynamicShapeError):
        BOUND.exact_shape()
    assert BOUND.bound_shape() == (N, 3)


def test_unknown_gives_a_structured_error() -> None:
    for query in (UNKNOWN.exact_shape, UNKNOWN.bound_shape):
        with pytest.raises(UnsupportedDynamicShapeError, match="must be exact, but is unknown"):
            query("op", "operand")


# -------------------------------------------------------------- Value-side metadata boundary


def test_metadata_belongs_to_values_and_not_to_payloads() -> None:
    assert EXP.payload_fields() == ()
    assert ReduceSum((0,)).payload_fields() == ("axes",)
    dot = DotGeneral((1,), (0,))
    assert not [name for name in dot.payload_fields() if "shape" in name]


def test_required_shapes_are_payload_as_exact_expressions() -> None:
    assert Reshape((N, 3)).symbols() == N.leaves()  # type: ignore[union-attr]
    assert BroadcastInDim((N, 3), (1,)).bind(dict.fromkeys(N.leaves(), 2)).shape == (2, 3)  # type: ignore[union-attr]


def test_shape_guard_context_is_the_metadata_surface_and_records_guards() -> None:
    context = shape_context()
    x = traced(SYMBOLIC)
    assert context.meta(x.key) == SYMBOLIC
    context.require_equal(N, 3, "add")
    (guard,) = context.guards
    guard.check(dict.fromkeys(N.leaves(), 3))  # type: ignore[union-attr]
    with pytest.raises(GuardViolationError, match="add: assumed n == 3, but 4 != 3"):
        guard.check(dict.fromkeys(N.leaves(), 4))  # type: ignore[union-attr]
    with pytest.raises(GuardViolationError):
        context.require_equal(2, 3, "add")


# ------------------------------------------------------------------------ Compiler pass contract


@pytest.mark.parametrize("meta", [STATIC, SYMBOLIC, BOUND, UNKNOWN], ids=str)
def test_pass_contract_transpose_permutes_extents_without_changing_guarantees(
    meta: TensorMeta,
) -> None:
    assert Transpose((1, 0)).infer(meta).extents == meta.extents[::-1]


@pytest.mark.parametrize("meta", [BOUND, UNKNOWN], ids=str)
@pytest.mark.parametrize(
    "op", [Reshape((dim("3*n"),)), BroadcastInDim((2, N, 3), (1, 2))], ids=lambda op: op.name
)
def test_pass_contract_reshape_and_broadcast_need_exact_extents(
    op: ExecOp, meta: TensorMeta
) -> None:
    with pytest.raises(UnsupportedDynamicShapeError, match=f"{op.name}: .* must be exact, but is"):
        op.infer(meta)


def contraction(lhs: TensorMeta, rhs: TensorMeta) -> Any:
    builder = ExecBuilder()
    slots = [builder.input(lhs), builder.input(rhs)]
    return with_last_use(builder.build(builder.add(DotGeneral((1,), (0,)), slots)))


@pytest.mark.parametrize("extent", [Exact(N), UpperBound(N), Unknown()], ids=str)
def test_pass_contract_contractions_propagate_metadata_without_upgrading_it(extent: Any) -> None:
    lhs = TensorMeta(FLOAT64, [extent, Exact(3)])
    program = optimize(contraction(lhs, TensorMeta.of("float64", (3, 4))))
    assert program.output_metas[0].extents == (extent, Exact(4))


@pytest.mark.parametrize("meta", [BOUND, UNKNOWN], ids=str)
def test_pass_contract_no_pass_takes_a_bound_for_exact(meta: TensorMeta) -> None:
    program = contraction(meta, TensorMeta.of("float64", (3, 2, 5)))
    before = program.output_metas
    after = optimize(program)
    assert after.output_metas == before
    for step in after.instructions:
        for output in step.output_metas:
            assert all(
                not isinstance(extent, Exact) or extent.dim != N for extent in output.extents
            )


@pytest.mark.parametrize("meta", [BOUND, UNKNOWN], ids=str)
def test_pass_contract_dce_and_last_use_need_no_extents(meta: TensorMeta) -> None:
    builder = ExecBuilder()
    x = builder.input(meta)
    (kept,) = builder.add(EXP, [x])
    builder.add(EXP, [kept])
    program = optimize(builder.build([kept]))
    assert len(program.instructions) == 1
    assert program.instructions[0].last_use == (True,)


def test_pass_contract_diagnostics_print_what_is_known() -> None:
    assert [str(meta) for meta in (STATIC, SYMBOLIC, BOUND, UNKNOWN)] == [
        "f64[2,3]",
        "f64[n,3]",
        "f64[<=n,3]",
        "f64[?,3]",
    ]


# ---------------------------------------------------------------------------------- AD contract

FUNCTIONS: dict[str, Any] = {
    "sum": lambda x: tn.sum(tn.exp(x)),
    "mean": lambda x: tn.sum(tn.mean(x, axis=0)),
    "max": lambda x: tn.sum(tn.max(x * x, axis=1)),
    "prod": lambda x: tn.sum(tn.prod(x, axis=1)),
    "broadcast": lambda x: tn.sum(x * tn.broadcast_to(tn.sum(x, axis=0), x.shape)),
    "reshape": lambda x: tn.sum(tn.sin(x.reshape(-1)) * x.ravel()),
    "matmul": lambda x: tn.sum(tn.tanh(x @ x.T)),
    "slice": lambda x: tn.sum(x[1:] * x[:-1]),
    "pad": lambda x: tn.sum(tn.pad(x, 1) ** 2),
    "concat": lambda x: tn.sum(tn.concat([x, x * x]) ** 2),
    "reverse": lambda x: tn.sum(x * tn.flip(x)),
    "tril": lambda x: tn.sum(tn.tril(x) * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ad_contract_rules_emit_symbolic_metadata_for_symbolic_shapes(name: str) -> None:
    function = FUNCTIONS[name]
    program = tn.make_program(tn.grad(function), tn.TensorSpec(("n", 3)))
    executor = tn.GraphExecutor(tn.NumpyBackend())
    for n in (1, 2, 5):
        x = np.sin(np.arange(3.0 * n)).reshape(n, 3)
        (symbolic,) = executor.run(program, {"x": x})
        np.testing.assert_allclose(np.asarray(symbolic), np.asarray(tn.grad(function)(x)))


def test_ad_contract_rank_is_enough_where_only_axes_are_checked() -> None:
    x = traced(BOUND)
    (key,) = (tn.permute_dims(tn.exp(x)).key,)
    context = shape_context()
    linear = differentiate(resolve_keys(), [key], [x.key], ctx=context)
    reverse = transpose(linear, ctx=context)
    assert reverse.output_keys[0] is not None
    assert context.meta(reverse.output_keys[0]) == BOUND


def test_ad_contract_what_cannot_be_a_graph_is_an_error_and_no_panic() -> None:
    x = traced(BOUND)
    with pytest.raises(UnsupportedDynamicShapeError, match=r"reshape: operand\[0\]"):
        x.reshape(-1, 2)


def test_ad_contract_the_error_names_the_primitive_the_field_and_what_was_found() -> None:
    with pytest.raises(UnsupportedDynamicShapeError) as caught:
        Reshape((dim("3*n"),)).infer(BOUND)
    assert caught.value.primitive == "reshape"
    assert caught.value.field.endswith("[0]")
    assert caught.value.observed == "at most n (upper bound)"
    assert str(caught.value).startswith("UnsupportedDynamicShape: reshape: ")


def test_symbolic_programs_keep_their_extents_from_graph_to_instructions() -> None:
    x = traced(SYMBOLIC)
    y = tn.sum(tn.exp(x), axis=1)
    program = tn.GraphCompiler().compile([y]).exec_program
    assert [step.output_extents for step in program.instructions] == [
        (SYMBOLIC.extents,),
        ((Exact(N),),),
    ]
