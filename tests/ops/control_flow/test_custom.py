"""The op `Custom`: what it computes, what rules see of it, and where it is no more."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tenferro.compiler import compile_std_to_exec, parse, without_rules
from tenferro.core import (
    FragmentBuilder,
    GlobalValKey,
    JvpSite,
    ResolvedView,
    batch,
    compile_graph,
    materialize_merge,
    op_key,
    push_forward,
    resolve_keys,
)
from tenferro.errors import ControlFlowError, FileError
from tenferro.ir import ExecProgram, evaluate
from tenferro.ops import MUL, SIN, full_like, shape_context
from tenferro.ops.control_flow import VOCABULARY, Custom, CustomRule, Scan, program_of
from tenferro.serialization import dumps
from tenferro.shape import TensorMeta, fresh_input

BODY = parse(
    """exec_program(%0: f64[2], %1: f64[2]) {
      %2: f64[2] = sine %1!
      %3: f64[2] = multiply %0!, %2!
      return %3
    }"""
)
F64_2 = TensorMeta.of("f64", (2,))


class Tenfold(CustomRule):
    """Ten times the tangent of the second operand."""

    def __init__(self, token: bytes = b"tenfold") -> None:
        self._token = token

    @property
    def token(self) -> bytes:
        return self._token

    def __str__(self) -> str:
        return "custom_jvp tenfold"

    def linearize(self, op: Any, at: JvpSite[Any]) -> Any:
        (tangent,) = at.tangent[1:]
        return (at.emit(MUL, full_like(at.emitter, 10, tangent), tangent),)


OP = Custom(BODY, Tenfold(), consts=1)


def inputs(*metas: TensorMeta) -> list[GlobalValKey]:
    return [fresh_input(meta, f"x{place}") for place, meta in enumerate(metas)]


def lowered(outputs: Sequence[GlobalValKey], given: Sequence[Any]) -> ExecProgram:
    graph = materialize_merge(resolve_keys(), outputs, given)
    program = compile_graph(graph)
    return compile_std_to_exec(program, [key.key.meta for key in graph.inputs], keep_rules=True)


def names_in(program: ExecProgram) -> set[str]:
    return {op.name for each in program.walk() for op in each.ops()}


def test_it_computes_its_body() -> None:
    x = np.array([0.5, 1.0])
    np.testing.assert_array_equal(OP.evaluate([x, x])[0], x * np.sin(x))
    with pytest.raises(ControlFlowError, match=r"custom: takes 2 operands, got 1"):
        OP.infer_all([F64_2])
    with pytest.raises(ControlFlowError, match=r"operand 1 \(of custom_jvp tenfold\) is f32\[\]"):
        OP.infer_all([F64_2, TensorMeta.of("f32", ())])


def test_equal_bodies_and_rules_are_one_op_and_other_rules_are_not() -> None:
    assert Custom(BODY, Tenfold(), consts=1) == OP
    assert Custom(BODY, Tenfold(b"other"), consts=1) != OP


def test_lowering_writes_the_body_in_its_place_also_inside_loops() -> None:
    w, x = inputs(F64_2, F64_2)
    whole = lowered(op_key(OP, (w, x)).outputs, [w, x])
    assert [step.op.name for step in whole.instructions] == ["custom"]
    assert names_in(without_rules(whole)) == {"sine", "multiply"}
    body = program_of([w, x], op_key(OP, (w, x)).outputs)
    loop = op_key(Scan(body, consts=1, carry=1, length=3), (w, x))
    assert names_in(without_rules(lowered(loop.outputs, [w, x]))) == {"scan", "sine", "multiply"}


def test_a_program_without_it_stays_the_same_object() -> None:
    assert without_rules(BODY) is BODY


def test_its_tangent_is_that_of_the_rule() -> None:
    w, x, dx = inputs(F64_2, F64_2, F64_2)
    view: ResolvedView[Any] = resolve_keys()
    (found,) = push_forward(view, op_key(OP, (w, x)).outputs, [x], [dx], ctx=shape_context())
    assert found is not None
    program = without_rules(lowered([found], [w, x, dx]))
    one = np.ones(2)
    np.testing.assert_array_equal(evaluate(program, [one, one, 2 * one])[0], 20 * one)


@pytest.mark.parametrize("mask", [(True, True), (False, True), (True, False)])
def test_a_batch_of_it_has_the_rule_for_all_entries(mask: tuple[bool, bool]) -> None:
    wide = TensorMeta.of("f64", (3, 2))
    w, x = inputs(F64_2, F64_2)
    whole = inputs(*(wide if on else F64_2 for on in mask))
    batched = {key: other for key, other, on in zip((w, x), whole, mask, strict=True) if on}
    same = {key: other for key, other, on in zip((w, x), whole, mask, strict=True) if not on}
    view: ResolvedView[Any] = resolve_keys()
    ctx = shape_context()
    ((value, is_batched),) = batch(
        view, op_key(OP, (w, x)).outputs, batched, 3, ctx=ctx, replaced=same
    )
    assert is_batched
    tangent = fresh_input(wide if mask[1] else F64_2, "dx")
    (found,) = push_forward(view, [value], [whole[1]], [tangent], ctx=ctx)
    assert found is not None
    program = without_rules(lowered([found], [tangent]))
    dx = np.arange(6.0).reshape(3, 2) if mask[1] else np.arange(2.0)
    expected = np.broadcast_to(10 * dx, (3, 2))
    np.testing.assert_array_equal(evaluate(program, [dx])[0], expected)


def test_a_file_of_a_fragment_that_holds_it_is_refused_by_name() -> None:
    builder: FragmentBuilder[Any] = FragmentBuilder()
    w = builder.input(fresh_input(F64_2, "w").key)
    (value,) = builder.add(OP, (w, w))
    with pytest.raises(FileError, match=r"custom_jvp tenfold is a Python function, which files"):
        dumps(builder.build([value]))
    assert OP.name not in VOCABULARY
    assert SIN.name in VOCABULARY
