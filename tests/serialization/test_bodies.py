"""Programs inside ops survive a file, each written once; what is not sound is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.core import Fragment, FragmentBuilder, LinearFragment
from tenferro.errors import FileError, UnsupportedExtensionError
from tenferro.ir import ExecBuilder, ExecOp, ExecProgram, evaluate
from tenferro.ops import ADD, NEG, StdTensorOp
from tenferro.ops.control_flow import Scan
from tenferro.ops.extension import Extension, Package, family_id
from tenferro.serialization import PayloadCodecs, dumps, loads, written_digest
from tenferro.shape import TensorInput, TensorMeta
from tests.serialization.families import SameShape, Scale
from tests.serialization.headers import changed, header_of
from tests.serialization.samples import described, of_exec, samples
from tests.serialization.test_mutations import allowed_calls
from tests.serialization.work import at_most

LOOP = samples()["loop"]
VECTOR = TensorMeta.of("f64", (2,))
CODECS = PayloadCodecs().register(Scale)


def body_of(*ops: ExecOp, site: str | None = None) -> ExecProgram:
    """A program that applies ops to a vector, one after the other."""
    builder = ExecBuilder()
    value = builder.input(VECTOR)
    for op in ops:
        (value,) = builder.add(op, [value] * (op.n_inputs or 1), site)
    return builder.build([value])


def repeated(body: ExecProgram, length: int = 2) -> Scan:
    """A loop that carries one vector through `body`."""
    return Scan(body, consts=0, carry=1, length=length)


def nested(depth: int) -> Scan:
    """A loop of loops, with one addition at the innermost place."""
    loop = repeated(body_of(ADD))
    for _ in range(depth - 1):
        loop = repeated(body_of(loop))
    return loop


def test_a_body_is_read_as_it_was_written() -> None:
    loaded = loads(dumps(LOOP))
    assert described(loaded) == described(LOOP)
    xs, start = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]]), np.array([1.0, -1.0])
    carry = start
    for row in xs:
        carry = carry * row + 3 * row  # the inner loop adds the row three times
    results = [tn.call(program, xs, start) for program in (LOOP, loaded)]
    for again, last in results:
        np.testing.assert_allclose(last.numpy(), carry)
        np.testing.assert_allclose(again.numpy(), carry + 2 * start)


def test_a_body_that_several_ops_hold_is_written_once() -> None:
    header = header_of(dumps(LOOP))
    assert [len(body["nodes"]) for body in header["bodies"]] == [1, 2]
    inner, outer = ({"program": number} for number in (0, 1))
    assert [node["payload"]["body"] for node in header["nodes"]] == [outer, inner]
    assert header["bodies"][1]["nodes"][1]["payload"]["body"] == inner


def test_equal_bodies_built_apart_are_written_once() -> None:
    program = of_exec(body_of(repeated(body_of(ADD), 2), repeated(body_of(ADD), 3)))
    data = dumps(program)
    assert len(header_of(data)["bodies"]) == 1
    assert dumps(loads(data)) == data


def test_equal_bodies_from_other_lines_are_one_body() -> None:
    first, second = (repeated(body_of(ADD, site=f"a.py:{line}")) for line in (1, 2))
    data = dumps(of_exec(body_of(first, second)))
    (body,) = header_of(data)["bodies"]
    assert [node["site"] for node in body["nodes"]] == ["a.py:1"]
    assert dumps(loads(data)) == data


def test_a_program_without_bodies_has_no_table_of_them() -> None:
    assert "bodies" not in header_of(dumps(samples()["layer"]))
    data = changed(dumps(samples()["layer"]), "bodies", [])
    with pytest.raises(FileError, match="its content is not in canonical form"):
        loads(data)


def test_where_a_body_was_recorded_is_not_part_of_the_identity() -> None:
    one, other = (of_exec(body_of(repeated(body_of(ADD, site=site)))) for site in ("a", "b"))
    assert header_of(dumps(one))["identity"] == header_of(dumps(other))["identity"]
    assert dumps(one) != dumps(other)


def test_an_op_used_at_two_levels_is_inside_what_holds_it() -> None:
    loop = repeated(body_of(ADD))
    program = body_of(loop, repeated(body_of(loop, NEG), 3))
    order = [id(each) for each in program.walk()]
    inner, outer = loop.body, program.instructions[1].op.bodies["body"]
    assert order == [id(program), id(outer), id(inner)]
    assert len(program.map_bodies(lambda body: body).bodies()) == 2
    assert dumps(loads(dumps(of_exec(program)))) == dumps(of_exec(program))


def fragment(op: StdTensorOp) -> Fragment[StdTensorOp]:
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    x = builder.input(TensorInput("x", VECTOR))
    return builder.build(builder.add(op, [x]))


def test_a_fragment_holds_bodies_without_their_lines() -> None:
    data = dumps(fragment(repeated(body_of(ADD, site="a.py:1"), 5)))
    assert [node["site"] for node in header_of(data)["bodies"][0]["nodes"]] == [None]
    loaded = loads(data)
    assert not isinstance(loaded, LinearFragment)
    assert dumps(loaded) == data
    assert isinstance(loaded.nodes[0].primitive, Scan)


def test_a_family_inside_a_body_is_read_by_its_codec() -> None:
    saved = of_exec(body_of(repeated(body_of(Extension(Scale(2.0))))))
    data = dumps(saved)
    assert loads(data, codecs=CODECS).digest == saved.digest
    with pytest.raises(UnsupportedExtensionError, match=r"scale\.v2: not registered"):
        loads(data)


def test_a_placeholder_inside_a_body_is_written_as_what_it_stands_for() -> None:
    inner = repeated(body_of(Extension(Scale(2.0)), ADD))
    saved = of_exec(body_of(inner, repeated(body_of(inner))))
    data = dumps(saved)
    loaded = loads(data, skip_missing_extensions=True)
    assert loaded.digest != saved.digest
    assert written_digest(loaded.exec_program) == saved.digest
    assert dumps(loaded) == data
    with pytest.raises(UnsupportedExtensionError, match="load the file again with the package"):
        tn.call(loaded, np.ones(2))


@family_id(namespace="tenferro-tests", name="repeat", version=1)
@dataclass(frozen=True)
class Repeat(SameShape):
    """Applies each of some programs in turn."""

    programs: tuple[ExecProgram, ...]

    def eager_execute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        values = list(inputs)
        for program in self.programs:
            values = evaluate(program, values)
        return values


def test_the_payload_of_a_family_may_hold_programs() -> None:
    inner = body_of(repeated(body_of(ADD)))
    saved = of_exec(body_of(Extension(Repeat((inner, body_of(NEG), inner)))))
    data = dumps(saved)
    assert len(header_of(data)["bodies"]) == 3
    loaded = loads(data, packages=(Package("tests-repeat", ops=(Repeat,)),))
    assert loaded.digest == saved.digest
    op: Any = loaded.exec_program.instructions[0].op
    (result,) = op.evaluate([np.array([1.0, -0.5])])
    np.testing.assert_array_equal(result, [-16.0, 8.0])
    assert dumps(loads(data, skip_missing_extensions=True)) == data


def test_a_nest_as_deep_as_files_hold_is_read() -> None:
    data = dumps(of_exec(body_of(nested(32))))
    with at_most(allowed_calls(data)):
        loaded = loads(data)
    assert dumps(loaded) == data


def test_a_nest_deeper_than_that_is_neither_written_nor_read() -> None:
    text = "file: programs inside ops are nested more than 32 deep"
    with pytest.raises(FileError, match=text):
        dumps(of_exec(body_of(nested(33))))
    data = dumps(of_exec(body_of(nested(32))))
    bodies = header_of(data)["bodies"]
    deeper = body_of(nested(33)).bodies()[0]
    last = {**bodies[-1], "digest": deeper.digest, "nodes": [dict(bodies[-1]["nodes"][0])]}
    last["nodes"][0]["payload"] = {**last["nodes"][0]["payload"], "body": {"program": 31}}
    with pytest.raises(FileError, match=text):
        loads(changed(data, "bodies", [*bodies, last]))


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("bodies", {}, "file: bodies must be a list"),
        ("bodies/0", [], "file: body 0 must be an object of digest, inputs, nodes, outputs"),
        ("bodies/0/digest", "0" * 64, "the digest written for body 0 is not the digest of"),
        ("bodies/0/outputs", [3], "an output of body 0 must be an integer from 0 to 2"),
        ("bodies/0/inputs/0", "f64[3]", r"file: body 0: node 0: add: .*f64\[3\] .*f64\[2\]"),
        ("bodies/0/inputs/0", 3, "file: the type of body 0 must be a text"),
        ("bodies/0/nodes/0/in", [0, 9], "an operand of body 0: node 0 must be an integer"),
        ("bodies/0/nodes/0/op", "eval", "file: body 0: node 0: there is no op 'eval'"),
        ("bodies/0/nodes/0/types/0", "f32[2]", r"body 0: node 0: add: the file says f32\[2\]"),
        ("bodies/1/nodes/1/payload/body", {"program": 1}, "the number of a body must be an int"),
        ("nodes/0/payload/body", {"program": 2}, "number of a body must be an integer from 0 to 1"),
        ("nodes/0/payload/body", {"program": "1"}, "the number of a body must be an integer"),
        ("nodes/0/payload/body", 3, "file: body of Scan cannot be 3"),
        ("nodes/0/payload/body", {"program": 0}, "file: the written digest is not the digest of"),
        ("nodes/0/payload/length", 4, r"file: node 0: scan: scan: .*f64\[n,2\]"),
        ("nodes/0/payload/carry", 3, "file: node 0: scan: scan: 0 consts and 3 carried values"),
    ],
)
def test_a_table_of_bodies_that_is_not_sound_is_refused(path: str, value: Any, match: str) -> None:
    with pytest.raises(FileError, match=match):
        loads(changed(dumps(LOOP), path, value))


def test_a_body_that_is_not_numbered_in_order_is_refused() -> None:
    body = ExecProgram((), (1,), (VECTOR,), (1,), 2)
    with pytest.raises(FileError, match="the slots of the program are not numbered in order"):
        dumps(of_exec(body_of(repeated(body))))
