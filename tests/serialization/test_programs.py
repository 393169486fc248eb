"""Programs survive a file with all that they are; what is not a program's file is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro.errors import FileError, MemoryLimitError
from tenferro.ir import ExecBuilder, ExecOp, payload, verify
from tenferro.ops import ALL_OPS, COLLECTIVES
from tenferro.ops.control_flow import CONTROL_OPS, VOCABULARY
from tenferro.runtime import GraphProgram
from tenferro.serialization import dumps, loads
from tenferro.shape import Guard, TensorMeta, dim
from tests.graphs import metas_of
from tests.ops.cases import CASES
from tests.ops.rows import Case, row_id
from tests.random_programs import random_program
from tests.serialization.headers import changed, header_of
from tests.serialization.samples import bits, described, of_exec, program, samples

SAMPLES = samples()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_loaded_program_is_the_saved_one(name: str) -> None:
    loaded = loads(dumps(SAMPLES[name]))
    assert described(loaded) == described(SAMPLES[name])


@pytest.mark.parametrize("name", SAMPLES)
def test_a_loaded_program_is_saved_with_the_same_bytes(name: str) -> None:
    data = dumps(SAMPLES[name])
    assert dumps(loads(data)) == data


@pytest.mark.parametrize(("case", "dtype"), [(case, case.dtypes[0]) for case in CASES], ids=row_id)
def test_every_op_survives_a_file(case: Case, dtype: str) -> None:
    op = case.op_for(dtype)
    builder = ExecBuilder()
    operands = [builder.input(meta) for meta in metas_of(case.arrays(dtype))]
    saved = of_exec(builder.build(builder.add(op, operands)))
    loaded = loads(dumps(saved)).exec_program.instructions[0].op
    assert type(loaded) is type(op)
    assert loaded == op
    assert all(
        type(getattr(loaded, name)) is type(getattr(op, name)) for name in op.payload_fields()
    )


def test_every_op_of_the_vocabulary_is_known_by_its_name() -> None:
    assert list(VOCABULARY.values()) == [*ALL_OPS, *CONTROL_OPS, *COLLECTIVES]


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_survive_a_file(seed: int) -> None:
    saved = of_exec(random_program(seed))
    loaded = loads(dumps(saved))
    assert loaded.digest == saved.digest
    verify(loaded.exec_program)


def test_equal_constants_share_one_blob() -> None:
    header = header_of(dumps(SAMPLES["literals"]))
    assert len(header["nodes"]) == 10
    assert len(header["blobs"]) == 9


def test_a_default_need_not_be_given_after_loading() -> None:
    loaded = loads(dumps(SAMPLES["layer"]))
    x = np.ones((2, 3))
    run = tn.GraphExecutor(tn.NumpyBackend()).run
    expected = run(SAMPLES["layer"], {"x": x})
    assert [bits(each) for each in run(loaded, {"x": x})] == [bits(each) for each in expected]


def test_guards_are_checked_after_loading() -> None:
    text = "exec_program(%0: f64[n], %1: f64[m]) {\n %2: f64[n] = negate %0\n return %2\n}"
    guards = SAMPLES["sizes"].guards[:1]
    loaded = loads(dumps(program(text, "x y", guards=guards)))
    with pytest.raises(tn.TenferroError, match="add: x, y: assumed n == 2"):
        tn.GraphExecutor(tn.NumpyBackend()).run(loaded, {"x": np.ones(2), "y": np.ones(2)})


def test_inputs_of_loaded_programs_are_inputs_of_their_own() -> None:
    data = dumps(SAMPLES["choice"])
    first, second = loads(data), loads(data)
    assert all(a.key is not b.key for a, b in zip(first.inputs, second.inputs, strict=True))


def test_slots_out_of_order_are_refused() -> None:
    text = "exec_program(%1: f64[2]) {\n %0: f64[2] = negate %1\n return %0\n}"
    with pytest.raises(FileError, match=r"file: the slots .* not numbered in order; renumber it"):
        dumps(of_exec(parse(text)))


def refuses(name: str, path: str, value: Any, match: str) -> None:
    """Loading the file of a sample with one value of its header replaced fails with that text."""
    with pytest.raises(FileError, match=match):
        loads(changed(dumps(SAMPLES[name]), path, value))


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("kind", "model", "file: 'model' is not a kind of file"),
        ("digest", "0" * 64, "file: the written digest is not the digest of the program"),
        ("identity", "0" * 64, "file: its content is not in canonical form"),
        ("outputs/0", 99, "file: an output must be an integer from 0 to 7"),
        ("outputs/0", True, "file: an output must be an integer"),
        ("outputs", {}, "file: an output must be a list"),
        ("inputs/0/name", "w", "file: inputs: program: two inputs are named 'w'"),
        ("inputs/0/type", "f64[n,4]", "file: node 0: dot_general: dot_general: lhs axis 1"),
        ("inputs/0/type", "f65[n]", r"file: 'f65\[n\]' is not a type"),
        (
            "inputs/1/type",
            "f64[4,3]",
            r"file: input 1 is f64\[4,3\], but its default is f64\[3,4\]",
        ),
        ("inputs/1/default", 7, "file: the default of input 1 must be an integer from 0 to 1"),
        ("nodes/0/op", "eval", "file: node 0: there is no op 'eval'"),
        ("nodes/0/op", 3, "file: the op of node 0 must be a text"),
        ("nodes/0/payload", [], "file: the payload of node 0 must be an object"),
        ("nodes/0/payload/axis", 0, "file: DotGeneral has no field 'axis'"),
        ("nodes/0/payload/lhs_contract", [True], r"lhs_contract of DotGeneral cannot be \(True,\)"),
        ("nodes/0/payload", {}, "file: node 0: dot_general: TypeError: .*missing 2 required"),
        ("nodes/0/in/0", 3, "file: an operand of node 0 must be an integer from 0 to 2"),
        ("nodes/0/in", [0], "file: node 0: dot_general: .*takes 2 operands, got 1"),
        ("nodes/0/types/0", "f32[n,4]", r"node 0: dot_general: the file says f32\[n,4\], but the"),
        ("nodes/0/types", [], "node 0: dot_general: the file says , but the op infers"),
        ("nodes/0/site", 3, "file: the site of node 0 must be a text"),
        ("nodes/1/payload/shape/0", {"size": "k"}, r"node 1: .*file says f64\[n,4\], .*f64\[k,4\]"),
        ("guards", [{"left": "n"}], "file: a guard must be an object of left, reason, right"),
        ("memory_limit", 0, "file: the memory limit must be at least 1 byte"),
        ("memory_limit", None, "file: the memory limit must be an integer from 0 to"),
        ("extra", 1, "file: the header of a program must be an object of"),
    ],
)
def test_a_header_that_is_not_sound_is_refused(path: str, value: Any, match: str) -> None:
    refuses("layer", path, value, match)


def test_a_size_that_no_input_has_is_refused() -> None:
    text = """exec_program(%0: f64[]) {
      %1: f64[k] = broadcast_in_dim[shape=(k,), dims=()] %0
      return %1
    }"""
    with pytest.raises(FileError, match="file: node 0 needs the size k, which no input has"):
        loads(dumps(program(text)))


@pytest.mark.parametrize(
    ("guard", "match"),
    [
        (Guard(dim("k"), dim("m"), "x"), "file: guard 0 needs the size k, which no input has"),
        (Guard(dim("n"), dim("n") + 1, "x"), r"file: guard 0 says that n is n \+ 1, which never"),
    ],
)
def test_a_guard_is_about_sizes_of_the_program_and_may_hold(guard: Guard, match: str) -> None:
    held = program("exec_program(%0: f64[n]) {\n return %0\n}", "x", guards=(guard,))
    with pytest.raises(FileError, match=match):
        loads(dumps(held))


def test_a_program_keeps_its_memory_limit_in_a_file() -> None:
    def f(x: Any) -> Any:
        for _ in range(16):
            x = tn.tanh(x @ x)
        return tn.sum(x)

    x = np.eye(8)
    limit = 9 * x.nbytes
    saved = tn.jit(tn.grad(f), executor="numpy", memory_limit=limit).program(x)
    data = dumps(saved)
    loaded = loads(data)
    assert (dumps(loaded), header_of(data)["memory_limit"]) == (data, limit)
    assert loaded.options.memory_limit == saved.options.memory_limit
    assert loaded.memory(executor="numpy").peak <= limit
    assert tn.jit(loaded, executor="numpy").memory(x).peak <= limit
    np.testing.assert_allclose(np.asarray(loaded(x)), np.asarray(tn.grad(f)(x)))
    tight = loads(dumps(tn.jit(tn.grad(f), memory_limit=99).program(x)))
    with pytest.raises(MemoryLimitError, match=r"load: needs .* the limit is 99 bytes"):
        tight(x)
    assert "memory_limit" not in header_of(dumps(tn.jit(f).program(x)))


def many(letter: str) -> str:
    """A size that is a sum of 33 names."""
    return " + ".join(f"{letter}{i:02}" for i in range(33))


def test_sizes_whose_product_is_a_long_sum_are_neither_saved_nor_loaded() -> None:
    text = f"exec_program(%0: f64[{many('a')},{many('b')}]) {{\n return %0\n}}"
    match = "the product of its sizes has 1089 terms, more than 1024; give its sizes simpler names"
    with pytest.raises(FileError, match=f"file: input 'x0': {match}"):
        dumps(program(text))
    data = changed(dumps(SAMPLES["nothing"]), "inputs/0/type", f"f64[{many('a')},{many('b')}]")
    with pytest.raises(FileError, match=f"file: input 0: {match}"):
        loads(data)
    target = [{"size": many("a")}, {"size": many("b")}]
    with pytest.raises(FileError, match=f"file: node 1: {match}"):
        loads(changed(dumps(SAMPLES["layer"]), "nodes/1/payload/shape", target))


@payload
class Homemade(ExecOp, name="homemade"):
    """An op that is in no vocabulary."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        return x


def test_an_op_of_no_vocabulary_cannot_be_saved() -> None:
    builder = ExecBuilder()
    x = builder.input(TensorMeta.of("f64", (2,)))
    with pytest.raises(FileError, match="file: homemade is not a standard op; pass a package"):
        dumps(of_exec(builder.build(builder.add(Homemade(), [x]))))


def test_what_is_no_program_cannot_be_saved() -> None:
    not_a_program: Any = 3
    with pytest.raises(
        FileError, match="file: an int cannot be saved; save a program or a fragment"
    ):
        dumps(not_a_program)


def test_the_loaded_value_is_a_program() -> None:
    assert isinstance(loads(dumps(SAMPLES["nothing"])), GraphProgram)
