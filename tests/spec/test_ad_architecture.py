"""The statements of the AD architecture, on toy ops. Sections IV, V and IX: `tests/golden`."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import grimp
import pytest

from tenferro.core import (
    External,
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    Linear,
    LinearFragment,
    Local,
    MaterializedGraph,
    Primal,
    PrimitiveOp,
    Tangent,
    check_closure,
    compile_graph,
    differentiate,
    evaluate,
    input_key,
    materialize_merge,
    op_key,
    resolve,
    transpose,
)
from tenferro.errors import ADRuleError, UnresolvedValueError
from tests.toy import ADD, CONJ, CTX, EXP, MUL, NEG, SUM, Broadcast, Toy, cplx, real, vector
from tests.toy_graphs import one_output, run

X, A = real("x"), real("a")
KX, KA = input_key(X), input_key(A)


def exp_ax() -> Fragment[Toy]:
    return one_output(lambda b, x, a: b.add(EXP, b.add(MUL, [x, a]))[0], X, A)


def linear(fragment: Fragment[Toy], *wrt: Any) -> LinearFragment[Any]:
    outputs = [fragment.key(local) for local in fragment.outputs]
    return differentiate(resolve([fragment]), outputs, list(wrt), ctx=CTX)


def first_order() -> tuple[Fragment[Toy], LinearFragment[Any], GlobalValKey]:
    """The fragment of exp(ax), its linear fragment, and the key of its result."""
    fragment = exp_ax()
    return fragment, linear(fragment, X), fragment.key(fragment.outputs[0])


# ---------------------------------------------------------------------------------- I. Vision


def test_i_differentiate_is_the_only_transform_that_takes_derivatives() -> None:
    class Watched(Toy):
        """Counts how often it is linearized."""

        linearized = 0

        def evaluate(self, inputs: Any) -> Any:
            return (-inputs[0],)

        def linearize(self, at: Any) -> Any:
            type(self).linearized += 1
            return NEG.linearize(at)

    fragment = one_output(lambda b, x: b.add(Watched("watched"), [x])[0], X)
    made = linear(fragment, X)
    assert Watched.linearized == 1
    transpose(made, ctx=CTX)
    assert Watched.linearized == 1


def test_i_transforms_operate_on_fragments_and_merge_nothing() -> None:
    fragment, made, _ = first_order()
    reverse = transpose(made, ctx=CTX)
    for part in (made.fragment, reverse.fragment):
        assert isinstance(part, Fragment)
        assert EXP not in [node.primitive for node in part.nodes]
    assert fragment in resolve([fragment, reverse.fragment]).roots


def test_i_higher_order_needs_resolve_and_no_physical_merge() -> None:
    fragment, made, _ = first_order()
    (dy,) = made.output_keys
    assert dy is not None
    again = differentiate(resolve([fragment, made.fragment]), [dy], [X], ctx=CTX)
    assert again.output_keys[0] is not None
    orphan = Fragment(made.fragment.keys, made.fragment.nodes, made.fragment.inputs, (dy,), ())
    with pytest.raises(UnresolvedValueError):
        differentiate(resolve([orphan]), [dy], [X], ctx=CTX)


def test_i_evaluation_is_forward_on_a_materialized_graph() -> None:
    fragment, made, y = first_order()
    view = resolve([fragment, made.fragment])
    program = compile_graph(materialize_merge(view, [y]))
    written: set[int] = set(program.input_slots)
    for step in program.instructions:
        assert written.issuperset(step.inputs)
        written.update(step.outputs)


@pytest.mark.parametrize(
    ("layer", "above"),
    [
        (["keys", "fragment", "graph", "program"], ["emitters", "autodiff", "tape", "batching"]),
        (["emitters"], ["autodiff", "tape", "batching"]),
    ],
)
def test_i_layers_of_the_core_are_strict(layer: list[str], above: list[str]) -> None:
    graph = grimp.build_graph("tenferro", cache_dir=None)
    assert not [
        (lower, upper)
        for lower in layer
        for upper in above
        if graph.chain_exists(importer=f"tenferro.core.{lower}", imported=f"tenferro.core.{upper}")
    ]


def test_i_the_core_knows_no_tensors() -> None:
    code = (
        "import sys, tenferro.core\n"
        "known = [n for n in ('numpy', 'tenferro.ops', 'tenferro.ir') if n in sys.modules]\n"
        "print(known)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_i_computegraph_is_usable_without_derivatives() -> None:
    @dataclasses.dataclass(frozen=True)
    class Contract:
        """Has no rule at all."""

        identity = "contract"
        n_inputs = 2
        n_outputs = 1

        def evaluate(self, inputs: Any) -> Any:
            return (inputs[0] * inputs[1],)

    builder: FragmentBuilder[Any] = FragmentBuilder()
    x, a = builder.input(X), builder.input(A)
    fragment = builder.build(builder.add(Contract(), [x, a]))
    graph = materialize_merge(resolve([fragment]), [fragment.key(fragment.outputs[0])])
    assert evaluate(compile_graph(graph), [3.0, 4.0]) == [12.0]


# ------------------------------------------------------------------------------ II. Core model


def test_ii_a_fragment_owns_only_its_local_nodes() -> None:
    _, made, y = first_order()
    externals = [
        ref.key for op in made.fragment.ops for ref in op.inputs if isinstance(ref, External)
    ]
    assert externals == [KA, y]
    assert not {*made.fragment.keys} & {KX, KA, y}


def test_ii_a_fragment_is_valid_as_long_as_external_references_resolve() -> None:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    outside = op_key(EXP, (KX,)).output(0)
    fragment = builder.build(builder.add(NEG, [outside]))
    with pytest.raises(UnresolvedValueError, match="exp"):
        materialize_merge(resolve([fragment]), [fragment.key(fragment.outputs[0])])


def test_ii_local_ids_are_local_only() -> None:
    one = one_output(lambda b, x: b.add(NEG, [x])[0], X)
    other = one_output(lambda b, x: b.add(EXP, [x])[0], X)
    assert one.outputs == other.outputs
    assert one.key(one.outputs[0]) is not other.key(other.outputs[0])


def test_ii_identity_is_structural_across_fragments() -> None:
    one, other = exp_ax(), exp_ax()
    assert one.key(one.outputs[0]) is other.key(other.outputs[0])
    view = resolve([one, other])
    graph = materialize_merge(view, [part.key(part.outputs[0]) for part in (one, other)])
    assert len(graph.ops) == 2


def test_ii_the_active_mask_is_part_of_identity() -> None:
    keys = {
        op_key(MUL, (KA, KX), mode)
        for mode in (Primal(), Linear((False, True)), Linear((True, False)), Linear((True, True)))
    }
    assert len(keys) == 4


def test_ii_a_val_ref_is_local_or_external() -> None:
    _, made, _ = first_order()
    refs = [ref for op in made.fragment.ops for ref in op.inputs]
    assert {type(ref) for ref in refs} == {Local, External}


def test_ii_parents_are_a_lookup_base_and_not_copied() -> None:
    fragment, made, _ = first_order()
    assert fragment in made.fragment.parents
    assert len(made.fragment.nodes) == 2


def test_ii_resolve_copies_no_node_and_runs_no_cse() -> None:
    fragment, made, _ = first_order()
    before = [(part.keys, part.nodes) for part in (fragment, made.fragment)]
    view = resolve([fragment, made.fragment])
    assert [(part.keys, part.nodes) for part in view.roots] == before


def test_ii_traversal_is_keyed_by_global_identity_through_any_number_of_fragments() -> None:
    fragment, made, _ = first_order()
    view, outputs = resolve([fragment, made.fragment]), made.output_keys
    for _ in range(3):
        made = differentiate(view, [key for key in outputs if key is not None], [X], ctx=CTX)
        view, outputs = resolve([*view.roots, made.fragment]), made.output_keys
    ops, _ = view.topo_order([key for key in outputs if key is not None])
    assert len(ops) == len(set(ops))
    value = run(view, outputs, {X: 0.5, A: 2.0})
    assert value == [pytest.approx(2.0**4 * 2.718281828459045)]


def test_ii_compile_consumes_the_materialized_graph() -> None:
    fragment, _, y = first_order()
    graph = materialize_merge(resolve([fragment]), [y])
    assert (list(graph.outputs), set(graph.inputs)) == ([y], {KX, KA})
    assert isinstance(graph, MaterializedGraph)
    assert len(compile_graph(graph).instructions) == len(graph.ops)


# ------------------------------------------------------------------------ III. Transformations


def test_iii_build_makes_primal_nodes() -> None:
    assert {type(op.mode) for op in exp_ax().ops} == {Primal}


def test_iii_tangent_inputs_are_fresh_and_returned() -> None:
    fragment = exp_ax()
    one, other = linear(fragment, X), linear(fragment, X)
    assert one.tangent_inputs[0][0] != other.tangent_inputs[0][0]
    key, local = one.tangent_inputs[0]
    assert isinstance(key, Tangent)
    assert key.of is KX or key.of == X
    assert one.fragment.key(local) is one.input_keys[0]


def test_iii_callers_say_by_which_inputs_they_differentiate() -> None:
    fragment = exp_ax()
    assert len(linear(fragment, X).tangent_inputs) == 1
    assert len(linear(fragment, A, X).tangent_inputs) == 2


def test_iii_primal_values_are_referenced_and_not_copied() -> None:
    _, made, _ = first_order()
    assert {type(op.mode) for op in made.fragment.ops} == {Linear}


def test_iii_what_no_tangent_reaches_is_skipped() -> None:
    made = linear(exp_ax(), real("unrelated"))
    assert made.tangent_outputs == (None,)
    assert made.fragment.nodes == ()


def test_iii_linear_nodes_use_the_primal_primitives() -> None:
    _, made, _ = first_order()
    assert {node.primitive for node in made.fragment.nodes} == {MUL}


def test_iii_an_op_on_fixed_operands_stays_primal() -> None:
    fragment, made, y = first_order()
    (dy,) = made.output_keys
    assert dy is not None
    again = differentiate(resolve([fragment, made.fragment]), [dy], [X], ctx=CTX)
    for op in again.fragment.ops:
        assert isinstance(op.mode, Primal) or any(op.mode.active_mask)
    assert isinstance(y.op.mode, Primal)  # type: ignore[attr-defined]


def test_iii_transpose_gives_a_linear_fragment_with_the_active_flow_reversed() -> None:
    _, made, _ = first_order()
    reverse = transpose(made, ctx=CTX)
    assert isinstance(reverse, LinearFragment)
    assert len(reverse.tangent_inputs) == len(made.tangent_outputs)
    assert len(reverse.tangent_outputs) == len(made.tangent_inputs)
    assert {op.mode.active_mask for op in reverse.fragment.ops} == {(False, True)}


def test_iii_transposed_contributions_are_bucketed_by_global_identity() -> None:
    def function(b: Any, x: Any) -> Any:
        (y,) = b.add(NEG, [x])
        (z,) = b.add(NEG, [x])  # another local node of one global identity
        return b.add(ADD, [*b.add(MUL, [y, z]), *b.add(EXP, [y])])

    fragment = one_output(lambda b, x: function(b, x)[0], X)
    reverse = transpose(linear(fragment, X), ctx=CTX)
    view = resolve([fragment, reverse.fragment])
    assert run(view, reverse.output_keys, {X: 0.0}) == [pytest.approx(-1.0)]


def test_iii_materialize_merge_collects_what_is_reachable_once_and_in_order() -> None:
    fragment, made, y = first_order()
    (dy,) = made.output_keys
    assert dy is not None
    graph = materialize_merge(resolve([fragment, made.fragment]), [y, dy])
    assert [str(op.primitive) for op in graph.ops].count("exp") == 1
    assert len(graph.ops) == 4
    assert len(materialize_merge(resolve([fragment, made.fragment]), [y]).ops) == 2


# --------------------------------------------------------------- VI. Primitive set and traits


def test_vi_a_primitive_extends_a_graph_op_with_add_linearize_and_transpose_rule() -> None:
    for name in ("identity", "n_inputs", "n_outputs", "evaluate", "linearize"):
        assert hasattr(ADD, name)
    assert "transpose_rule" in dir(PrimitiveOp)
    assert CTX.adder is ADD  # an op set adds by an op of it, which the context names


def test_vi_linearize_is_linear_in_the_tangents() -> None:
    fragment, made, _ = first_order()
    view = resolve([fragment, made.fragment])
    ((key, _),) = made.tangent_inputs
    at = [run(view, made.output_keys, {X: 0.5, A: 2.0, key: dx})[0] for dx in (1.0, 2.0, 3.0)]
    assert at[2] == pytest.approx(at[0] + at[1])


def test_vi_conj_is_emitted_only_where_transposition_asks_for_it() -> None:
    z, c = cplx("z"), cplx("c")
    made = linear(one_output(lambda b, z, c: b.add(MUL, [c, z])[0], z, c), z)
    assert CONJ not in [node.primitive for node in made.fragment.nodes]
    reverse = transpose(made, ctx=CTX)
    assert CONJ in [node.primitive for node in reverse.fragment.nodes]


def test_vi_fan_out_is_accumulated_with_the_op_sets_add_and_no_dup() -> None:
    fragment = one_output(lambda b, x: b.add(MUL, [x, x])[0], X)
    reverse = transpose(linear(fragment, X), ctx=CTX)
    assert {str(node.primitive) for node in reverse.fragment.nodes} == {"mul", "add"}


def test_vi_the_rules_of_the_op_set_are_closed() -> None:
    x, v, z = real("x"), vector("v"), cplx("z")
    graphs = [
        one_output(lambda b, x: b.add(EXP, b.add(NEG, [x]))[0], x),
        one_output(lambda b, v: b.add(SUM, b.add(MUL, [v, v]))[0], v),
        one_output(lambda b, z: b.add(MUL, [z, *b.add(CONJ, [z])])[0], z),
    ]
    for fragment in graphs:
        made = linear(fragment, fragment.keys[0].key)  # type: ignore[attr-defined]
        reverse = transpose(made, ctx=CTX)
        for node in (*made.fragment.nodes, *reverse.fragment.nodes):
            assert isinstance(node.primitive, Toy)
    assert Broadcast(2).identity != Broadcast(3).identity
    assert callable(check_closure)


def test_vi_a_missing_rule_is_an_error_and_never_a_silent_zero() -> None:
    class Bare(Toy):
        """Has no rule."""

    fragment = one_output(lambda b, x: b.add(Bare("bare"), [x])[0], X)
    with pytest.raises(ADRuleError, match="bare: has no linearize rule"):
        linear(fragment, X)


# ---------------------------------------------------------------- VII. Compilation and execution


def test_vii_each_slot_is_written_exactly_once() -> None:
    fragment, made, y = first_order()
    (dy,) = made.output_keys
    assert dy is not None
    program = compile_graph(materialize_merge(resolve([fragment, made.fragment]), [y, dy]))
    written = [
        *program.input_slots,
        *(slot for step in program.instructions for slot in step.outputs),
    ]
    assert len(written) == len(set(written)) == program.n_slots


def test_vii_a_program_is_compiled_once_and_evaluated_many_times() -> None:
    fragment, _, y = first_order()
    program = compile_graph(materialize_merge(resolve([fragment]), [y], [KX, KA]))
    assert evaluate(program, [0.0, 5.0]) == [1.0]
    assert evaluate(program, [1.0, 0.0]) == [1.0]


def test_vii_an_instruction_is_an_op_and_slots() -> None:
    fragment, _, y = first_order()
    program = compile_graph(materialize_merge(resolve([fragment]), [y]))
    names = {field.name for field in dataclasses.fields(type(program.instructions[0]))}
    assert {"op", "inputs", "outputs"} <= names
